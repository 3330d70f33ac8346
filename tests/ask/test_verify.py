"""Verdicts: each step decides what it should, and says which one it was."""

import json
from dataclasses import replace

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Claim, Verdict, VerdictName
from wellread.ask.verify.check_claims import verify
from wellread.codec import from_plain, to_plain
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Span, Turn

LEXICAL = LexicalReader(ReadableEmbedder)
SOURCE = (
    "The outage of 14 October lasted nine hours. It cut the power of 310 homes in Oldwick. "
    "The council did not approve the third turbine."
)


def check(sentence: str, *keys: str, source: str = SOURCE) -> Verdict:
    claim = Claim(text=sentence, keys=keys or ("e1",))
    (verdict,) = verify([claim], evidence_of(source, "Tea is served at the pier."), LEXICAL)
    return verdict


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("It cut the  power of\n310 homes in Oldwick", "quoted"),
        ("**It cut the power** of 310 homes in Oldwick.", "quoted"),
        ("It cut the power of 310 homes", "quoted"),
        ("it cut the power of 310 homes in Oldwick.", "supported"),
        ("It cuts the power of 310 homes in Oldwick.", "supported"),
        ("Ana said it cut the power of 310 homes in Oldwick.", "supported"),
        ("It is not true that ferries run.", "quoted"),
        ("ferries run at night", "unsupported"),
    ],
)
def test_what_stands_word_for_word_is_quoted_and_nothing_else(sentence: str, name: str) -> None:
    claim = Claim(text=sentence, keys=("e1",))
    source = f"{SOURCE} It is not true that ferries run."
    turn = Turn(speaker="Ana", span=Span(start=0, end=len(source)))
    (piece,) = evidence_of(source)
    spoken = replace(piece, turns=(turn,))
    (found,) = verify([claim], [spoken if "Ana" in sentence else piece], LEXICAL)
    assert found.name == name


def test_a_quotation_is_known_and_its_span_found() -> None:
    verdict = check("It cut the power of 310 homes in Oldwick.")
    assert (verdict.name, verdict.method) == ("quoted", "verbatim")
    assert verdict.source is not None
    assert verdict.source.of(SOURCE) == "It cut the power of 310 homes in Oldwick."


def test_white_space_quotes_and_case_do_not_matter() -> None:
    verdict = check("it cut the  power of 310 homes in Oldwick")
    assert (verdict.name, verdict.method) == ("supported", "verbatim")


def test_nearly_word_for_word_is_supported() -> None:
    verdict = check("It cuts the power of 310 homes in Oldwick.")
    assert (verdict.name, verdict.method) == ("supported", "fuzzy")
    assert verdict.source is not None
    assert "310 homes" in verdict.source.of(SOURCE)


@pytest.mark.parametrize(
    "sentence",
    [
        "It cut the power of 240 homes in Oldwick.",
        "The outage of 14 October lasted six hours.",
        "It cut the power of 310 homes in Skerrick.",
        "The council did approve the third turbine.",
    ],
)
def test_a_wrong_number_name_or_negation_is_not_supported(sentence: str) -> None:
    verdict = check(sentence)
    assert not verdict.name.whole
    assert verdict.method == "facts"
    assert verdict.reason


def test_a_paraphrase_is_judged_by_words_and_meaning() -> None:
    verdict = check("In Oldwick, 310 homes had their power cut.")
    assert verdict.name in ("supported", "partial")
    assert verdict.method == "support"


def test_something_else_is_unsupported() -> None:
    assert check("Seagrass grows in shallow water.").name == "unsupported"


def test_a_claim_without_citation_gets_the_one_it_deserves() -> None:
    claim = Claim(text="Tea is served at the pier.", keys=())
    (verdict,) = verify([claim], evidence_of(SOURCE, "Tea is served at the pier."), LEXICAL)
    assert (verdict.name, verdict.key) == ("quoted", "e2")


def test_a_claim_without_citation_or_support_is_uncited() -> None:
    (verdict,) = verify(
        [Claim(text="The mayor likes jazz.", keys=())], evidence_of(SOURCE), LEXICAL
    )
    assert (verdict.name, verdict.key, verdict.source) == ("uncited", "", None)


def test_a_citation_that_bears_nothing_gives_way_to_one_that_does() -> None:
    verdict = check("It cut the power of 310 homes in Oldwick.", "e2")
    assert (verdict.name, verdict.key) == ("quoted", "e1")


def test_a_claim_that_nothing_bears_out_keeps_what_it_cites() -> None:
    verdict = check("Tea is never served at the harbour.", "e2")
    assert not verdict.name.whole
    assert verdict.key == "e2"


def test_an_extracted_sentence_is_quoted_from_where_it_stands() -> None:
    twice = f"{SOURCE} {SOURCE}"
    start = twice.rindex("It cut")
    end = twice.rindex(" The council")
    claim = Claim(text=twice[start:end], keys=("e1",), source=Span(start=start, end=end))
    moved = Claim(text=claim.text, keys=("e1",), source=Span(start=start + 3, end=end + 3))
    gone = Claim(text="It cut the water of 90 farms.", keys=("e1",), source=claim.source)
    right, wrong, invented = verify([claim, moved, gone], evidence_of(twice), LEXICAL)
    assert (right.method, right.source) == ("verbatim", claim.source)
    assert wrong.source == Span(start=SOURCE.index("It cut"), end=SOURCE.index(" The council"))
    assert invented.name == "unsupported"


def test_verdicts_have_one_order_and_are_stored_as_plain_words() -> None:
    ranked = sorted(VerdictName, key=lambda name: name.rank)
    assert ranked == ["quoted", "supported", "partial", "not_checked", "uncited", "unsupported"]
    assert [name for name in VerdictName if name.supports] == ranked[:3]
    assert [name for name in VerdictName if name.whole] == ranked[:2]
    assert len({(name.symbol, name.style) for name in VerdictName}) == len(VerdictName)
    stored = Verdict(name=VerdictName.UNCITED, method="support", score=0.0)
    again = from_plain(Verdict, json.loads(json.dumps(to_plain(stored))))
    assert again == stored
    assert again.name.label == "uncited"
