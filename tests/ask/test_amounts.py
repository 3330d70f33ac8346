"""Which sentence gives the amount that is asked for."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.answer_kind import fits_of, lacking
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.write.extract import extract
from wellread.ask.write.passage_reading import Chooser
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder


@pytest.mark.parametrize(
    ("question", "fitting", "other"),
    [
        ("How long does it take?", "It takes 28 minutes.", "The 28 boats."),
        ("How long does it take?", "About six hours.", "At 08:00."),
        ("How far is it?", "It is 12 km away.", "It takes 12 minutes."),
        ("How fast is she?", "At 18 knots.", "18 miles on."),
        ("How old is it?", "It is 40 years old.", "It cost 40 euros."),
        ("How much does it cost?", "It costs £4.", "It weighs 4 tonnes."),
        ("What is the price?", "4.20 euros a ticket.", "4 people came."),
        ("What share of homes has one?", "58 per cent have.", "58 homes have."),
        ("How warm was it?", "It was 12 degrees.", "It was 12 euros."),
        ("How heavy is it?", "80 kilos at most.", "80 people."),
        ("How much power does it draw?", "It draws 3 kW.", "It draws 3 metres."),
        ("How much electricity is made?", "About 2 gigawatt-hours.", "For 2,000 euros."),
        ("How much money is left?", "There are 30 euros.", "There are 30 boats."),
    ],
)
def test_the_unit_tells(question: str, fitting: str, other: str) -> None:
    fits = fits_of(question)
    assert (fits(fitting), fits(other)) == (1, -1)


def test_what_is_counted_stands_beside_its_number() -> None:
    fits = fits_of("How many homes lost power?")
    assert fits("Some 310 homes were dark.") == 1
    assert fits("Seventeen old stone homes were dark.") == 1
    assert fits("In 1998 a relay broke.") == -1
    assert fits("Of lost power, homes = 310M (all).") == 1


def test_money_is_no_amount_of_a_thing() -> None:
    fits = fits_of("How much hay did the barn hold?")
    assert [fits(one) for one in ("It held 40 tonnes.", "It cost 40 euros.", "It held much.")] == [
        0,
        -1,
        0,
    ]


def test_other_questions_ask_for_no_amount() -> None:
    assert fits_of("How much is it?")("12 euros") == 0
    assert fits_of("Who sails it?")("12 minutes") == 0


def test_minutes_answer_how_long() -> None:
    question = "How long does the crossing from Port Merrow to Skerrick take?"
    analysis = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    evidence = evidence_of(
        "Port Merrow to Skerrick, valid from 27 October\n\n"
        "The first boat leaves Port Merrow for Skerrick at 06:40. The crossing takes 28 minutes."
    )
    found = extract(analysis, evidence, Chooser(sentences=LexicalReader(ReadableEmbedder)), most=3)
    assert [claim.text for claim in found.claims] == ["The crossing takes 28 minutes."]


def test_another_amount_is_no_second_answer() -> None:
    question = "How long does the crossing take?"
    analysis = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    gale = "The crossing in a gale takes 28 minutes."
    evidence = evidence_of(f"{gale} The crossing takes 190 barrels.")
    found = extract(analysis, evidence, Chooser(sentences=LexicalReader(ReadableEmbedder)), most=3)
    assert [claim.text for claim in found.claims] == [gale]


@pytest.mark.parametrize(
    ("sentence", "gives"),
    [
        ("It takes 28 minutes.", True),
        ("Six hours later it was back.", True),
        ("A ticket is £4.20.", True),
        ("Both of them went.", True),
        ("It went up in 2021, see #63.", False),
        ("There were 2000 guests.", True),
        ("It takes several years.", True),
        ("BIP118 is the one that matters.", False),
        ("Many came at 08:30am.", True),
    ],
)
def test_a_sentence_that_gives_a_number(sentence: str, gives: bool) -> None:
    said = lacking("What number is that?", ["It is known.", sentence])
    assert said == (None if gives else "number")


def test_an_answer_without_the_number_that_is_asked_for_is_not_sure(tmp_path: Path) -> None:
    question = Question(text="How many homes like the village shop?")
    page = tmp_path / "shop.md"
    page.write_text("# Village shop\n\nMany homes like the village shop, homes say.\n")
    low: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.3}}
    with open_kb(tmp_path / "home", overrides=low, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(page)])
        found = asyncio.run(final(answer(kb, question)))
        assert 0.3 <= found.confidence.score <= 0.45
        assert found.confidence.band == "low"
        assert "no sentence surely gives the kind" in found.confidence.reasoning
        page.write_text("# Village shop\n\nThe 212 homes like the village shop, homes say.\n")
        add(kb, [str(page)])
        assert asyncio.run(final(answer(kb, question))).confidence.score > 0.5
    high: dict[str, dict[str, object]] = {"qa": {"confidence_threshold": 0.5}}
    page.write_text("# Village shop\n\nMany homes like the village shop, homes say.\n")
    with open_kb(tmp_path / "home", overrides=high, embedder=ReadableEmbedder()) as kb:
        add(kb, [str(page)])
        declined = asyncio.run(final(answer(kb, question)))
        assert (declined.answered_by, declined.confidence.band) == ("none", "none")


def test_so_many_times_more_is_no_count() -> None:
    fits = fits_of("How many samples are in the set?")
    assert fits("It has 10 times more samples than the other.") == -1
    assert fits("Of all, 40% samples were kept.") == -1
    assert fits("It has 400 samples.") == 1
    assert fits_of("How many times did it fail?")("It failed 3 times.") == 1
