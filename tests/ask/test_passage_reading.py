"""How much of the evidence is read: more only while nothing surely answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from tests.doubles.evidence import evidence_of

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.ask.write.passage_reading import FIRST_READ, SURE_ODDS, read_evidence
from wellread.models.reader import Reading

ASKED = analyse(Question(text="Which mill has a wheel?"), Vocabulary(), date(2026, 1, 15))
TEXTS = [f"The mill of {name} has a wheel of its own." for name in "ABCDEFGHI"]


class Scripted:
    """A reader that finds each text to answer with the same odds, and notes what it read."""

    def __init__(self, odds: float) -> None:
        self.odds = odds
        self.texts: list[Sequence[str]] = []

    def read(self, _question: str, texts: Sequence[Sequence[str]]) -> Sequence[Reading]:
        self.texts += texts
        return [Reading(answers=self.odds, sentences=np.zeros(len(one))) for one in texts]


@pytest.mark.parametrize(
    ("odds", "count"), [(SURE_ODDS, FIRST_READ), (SURE_ODDS - 0.1, len(TEXTS))]
)
def test_nothing_more_is_read_once_something_surely_answers(odds: float, count: int) -> None:
    reader = Scripted(odds)
    evidence = evidence_of(*TEXTS)
    found = read_evidence(ASKED, evidence, reader)
    assert len(reader.texts) == len(found.sentences) == count
    assert found.best == odds
