"""Which sentence gives the amount that is asked for."""

from __future__ import annotations

from datetime import date

import pytest

from wellread.answers import Question
from wellread.ask.analysis.analyse import analyse
from wellread.ask.extract.amounts import fits_of
from wellread.ask.extract.run import extract
from wellread.ask.vocabulary import Vocabulary
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.evidence import evidence_of


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
    ],
)
def test_the_unit_tells(question: str, fitting: str, other: str) -> None:
    fits = fits_of(question)
    assert (fits(fitting), fits(other)) == (1, -1)


def test_what_is_counted_stands_beside_its_number() -> None:
    fits = fits_of("How many homes lost power?")
    assert fits("Some 310 homes were dark.") == 1
    assert fits("Seventeen old stone homes were dark.") == 1
    assert fits("In 1998 a relay broke.") == 0


def test_other_questions_ask_for_no_amount() -> None:
    assert fits_of("Who sails it?")("12 minutes") == 0


def test_minutes_answer_how_long() -> None:
    question = "How long does the crossing from Port Merrow to Skerrick take?"
    analysis = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    evidence = evidence_of(
        "Port Merrow to Skerrick, valid from 27 October\n\n"
        "The first boat leaves Port Merrow for Skerrick at 06:40. The crossing takes 28 minutes."
    )
    found = extract(analysis, evidence, ReadableEmbedder(), most=3)
    assert [claim.text for claim in found.claims] == ["The crossing takes 28 minutes."]
