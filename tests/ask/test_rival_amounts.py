"""Amounts that the reader says answer one question, and that differ."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.verify.conflicts.disputes import with_disputes
from wellread.ask.write.drafting import by_extraction
from wellread.ask.write.passage_reading import Chooser, PassageReadings, SentenceReading
from wellread.models.readers.lexical import LexicalReader
from wellread.testing.embedding import ReadableEmbedder

NINE = "Some 310 homes in Oldwick were dark for nine hours, after a fault."
SIX = "They were back six hours later in Oldwick, the operator said."


def views(question: str, odds: Mapping[str, float]) -> list[str]:
    """The sentences that are told as differing, each the text of a document, read with its odds."""
    analysis = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15))
    evidence = evidence_of(*odds)
    sure = {
        (at, 0): SentenceReading(answers=8.0, chosen=-0.001 if one > 0 else one - 0.7)
        for at, one in enumerate(odds.values())
    }
    read = PassageReadings(sentences=sure, best=8.0)
    chooser = Chooser(sentences=LexicalReader(ReadableEmbedder), readings=read)
    written = by_extraction(analysis, evidence, chooser, 3)
    _, disputes = with_disputes(analysis, evidence, written, read)
    return [claim.text for dispute in disputes for claim in dispute.views]


def test_what_words_cannot_tell_the_reader_does() -> None:
    assert set(views("How long was Oldwick dark?", {NINE: 1.0, SIX: 1.0})) == {NINE, SIX}


@pytest.mark.parametrize(
    ("other", "odds"),
    [
        (SIX, -6.0),  # it does not answer
        ("In Oldwick they were back nine hours later, all said.", 1.0),  # it agrees
        ("Oldwick was without a doctor for ninety hours, all said.", 1.0),  # of another size
        ("In 1998 they were back six hours later in Oldwick.", 1.0),  # of another time
        ("They were back in Oldwick after six crossings, all said.", 1.0),  # of another unit
        ("They were back six hours later in Merrow, the operator said.", 1.0),  # somewhere else
        ("Oldwick was dark for six hours, or five hours by its clock.", 1.0),  # of two amounts
    ],
)
def test_other_amounts_are_no_rivals(other: str, odds: float) -> None:
    assert views("How long was Oldwick dark?", {NINE: 1.0, other: odds}) == []


def test_questions_for_no_amount_have_no_rival_amounts() -> None:
    assert views("Who was in Oldwick?", {NINE: 1.0, SIX: 1.0}) == []
