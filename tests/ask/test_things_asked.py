"""An answer is about the thing that is named and gives the kind that is asked for, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.ask.understand.answer_kind import defines, expected_of, fits_of, spells
from wellread.ask.write.asked_names import Thing, share_named
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder

LOW: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.1}}
YARD = """# The yard at Pell

The winch Marta was built in 1931 by Ida Foss. The winch lifts 40 tonnes.
"""


def said(tmp_path: Path, question: str, text: str = YARD) -> Answer:
    tmp_path.mkdir(exist_ok=True)
    page = tmp_path / "yard.md"
    page.write_text(text)
    with open_kb(tmp_path / "home", overrides=LOW, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(page)])
        return asyncio.run(final(answer(kb, Question(text=question))))


def test_an_answer_whose_sources_do_not_name_the_thing_is_not_sure(tmp_path: Path) -> None:
    right = said(tmp_path / "a", "When was the winch Marta built?")
    wrong = said(tmp_path / "b", "When was the winch Olga built?")
    assert "1931" in right.text
    assert wrong.confidence.score < min(0.46, right.confidence.score)


def test_an_answer_of_another_year_is_not_sure(tmp_path: Path) -> None:
    right = said(tmp_path / "a", "Who built the winch Marta in 1931?")
    wrong = said(tmp_path / "b", "Who built the winch Marta in 1958?")
    assert "Ida Foss" in right.text
    assert wrong.confidence.score < min(0.46, right.confidence.score)


def test_a_number_that_is_a_name_is_no_amount() -> None:
    asked = "What is the phone number of the yard?"
    assert fits_of(asked)("There are 12 berths.") == -1
    assert fits_of(asked)("You can phone the yard at 555 0172.") == 1


def test_what_was_told_is_not_told_again_to_the_next_question(tmp_path: Path) -> None:
    page = tmp_path / "yard.md"
    page.write_text(YARD)
    with open_kb(tmp_path / "home", overrides=LOW, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(page)])
        first = asyncio.run(final(answer(kb, Question(text="Who built the winch Marta?"))))
        assert "Ida Foss" in first.text
        asked = Question(text="And what does it lift?", session_id=first.session_id)
        assert "40 tonnes" in asyncio.run(final(answer(kb, asked))).text


def test_the_sentence_that_gives_what_is_asked_for_is_marked_and_opened(tmp_path: Path) -> None:
    answered = said(tmp_path, "When was the winch Marta built?")
    told = "The winch Marta was built in 1931 by Ida Foss."
    assert told in [one.span.of(answered.text) for one in answered.sentences if one.marked]
    assert told in answered.citations[0].quote


def test_a_thing_is_named_in_the_title_or_by_the_words_of_its_letters() -> None:
    (piece,) = evidence_of("It lifts 40 tonnes.")
    there, gone = Thing("Notes", frozenset({"note"})), Thing("Olga", frozenset({"olga"}))
    assert share_named([there, gone], piece, "It lifts 40 tonnes.") == 0.5
    assert share_named([Thing("RWT", frozenset({"rwt"}))], piece, "Ready-wound twine.") == 1.0


@pytest.mark.parametrize(
    ("short", "text", "told"),
    [
        ("P2B", "They pay to boats.", True),
        ("RWT", "It is called ready-wound twine.", True),
        ("RWT", "The twine is wound and ready.", False),
    ],
)
def test_the_words_that_letters_stand_for(short: str, text: str, told: bool) -> None:
    assert spells(short, text) == told
    assert defines(f"What does {short} stand for?", text) == told
    assert defines(f"What does the acronym {short} mean?", text) == told


def test_what_something_costs_is_an_amount_of_money() -> None:
    for question in ("What does a berth cost?", "What do visitors pay for a berth?"):
        assert expected_of(question) == "number"
        assert fits_of(question)("A berth costs 8 euros.") == 1


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Why should nobody say whom they prefer?", "reason"),
        ("How many came when it rained?", "number"),
        ("Where does the timber come from?", "other"),
        ("Where did the timber come ashore?", "place"),
    ],
)
def test_the_first_word_that_asks_says_what_is_asked_for(question: str, kind: str) -> None:
    assert expected_of(question) == kind
