"""Sentence spans: exact for any text, and where a reader would put them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.text.sentences import MAX_LINE_CHARS, sentence_spans


def sentences(text: str) -> list[str]:
    return [span.of(text) for span in sentence_spans(text)]


@given(st.text(max_size=2000))
def test_spans_are_in_order_trimmed_and_lose_no_letter(text: str) -> None:
    spans = sentence_spans(text)
    for before, after in pairwise(spans):
        assert before.end <= after.start
    for span in spans:
        piece = span.of(text)
        assert piece.strip() == piece != ""
        assert "\n" not in piece
    letters = sum(map(str.isalpha, text))
    assert sum(map(str.isalpha, "".join(sentences(text)))) == letters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. We left.", ["It rained.", "We left."]),
        ("Dr. Roe et al. (2020) agree. So do we.", ["Dr. Roe et al. (2020) agree.", "So do we."]),
        ("It was in 2024. Dr. Roe doubts it.", ["It was in 2024.", "Dr. Roe doubts it."]),
        ("It costs $3.5 million, i.e. a lot.", ["It costs $3.5 million, i.e. a lot."]),
        ("- One thing. And more\n- Two things", ["One thing.", "And more", "Two things"]),
        ("2. Second step\n\nText", ["2. Second step", "Text"]),
        ("“Why?” she asked. Yes 😀. So.", ["“Why?” she asked.", "Yes 😀.", "So."]),
        ("Sie tagt am 5. März 2026. Es regnet.", ["Sie tagt am 5. März 2026.", "Es regnet."]),
        ("Oslo, 8. Mai. Die 2. Elf kam.", ["Oslo, 8. Mai.", "Die 2. Elf kam."]),
        ("Er kostet 3 Mio. Euro. Er sank.", ["Er kostet 3 Mio. Euro.", "Er sank."]),
        ("I am 12. My sister is 9. She sings.", ["I am 12.", "My sister is 9.", "She sings."]),
        ("Ask the SEC. They know.", ["Ask the SEC.", "They know."]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_where_a_reader_would_break(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["घाट लंबा है।", "क्रेन को अन्ना चलाती हैं॥", "लाल बोया कहाँ है?"],
        ["Ο μόλος είναι μακρύς.", "Πόσο μακρύς;", "Ενενήντα μέτρα."],
        ["Սա նավամատույց է։", "Այն երկար է։"],
        ["တံတားသည် ရှည်သည်။", "ကရိန်းကို မောင်းသည်။"],
        ["ይህ ወደብ ነው።", "ረጅም ነው፧", "ነው።"],
        ["ما طول الرصيف؟", "طول الرصيف تسعون مترا.", "نعم."],
        ["یہ گھاٹ ہے۔", "وہ لمبا ہے۔"],
        ["TGF-β; n = 5 (Greek: Μόλος; a pier).", "So it is."],  # English with Greek words
    ],
)
def test_stops_of_other_scripts(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected
    assert sentences("防波堤长九十米。谁操作起重机？何安娜！") == [
        "防波堤长九十米。",
        "谁操作起重机？",
        "何安娜！",
    ]


def test_an_endless_line_is_cut_at_spaces() -> None:
    text = "word " * MAX_LINE_CHARS
    pieces = sentences(text)
    assert len(pieces) > 1
    assert all(set(piece.split()) == {"word"} for piece in pieces)


def test_characters_that_no_encoding_has_do_not_shift_spans() -> None:
    text = "A\ud800b is odd. The next\x00 one."
    assert sentences(text) == ["A\ud800b is odd.", "The next\x00 one."]
