"""The reader that comes with the package: a small trained network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wellread.models.reader import Excerpt, Reading, Scores, chance
from wellread.models.readers.trained_model import NETWORK, TrainedModel
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans

WINDOW = 80  # words that are read at once, as in training
WINDOWS = 3  # of one text, read with one question: those that share most words with it


class TrainedReader:
    """Answers by the network.

    What it says of a passage's relevance serves to put the best hits in order once more.
    """

    def __init__(self, model: TrainedModel) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """Kind and the start of the network's SHA-256."""
        return f"trained:{NETWORK[:8]}"

    def prepare(self) -> None:
        """As ``Preparable``."""
        self._model.prepare()

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The probability that each of ``texts`` answers: that of its best run of sentences.

        Raises:
            ModelError: the network cannot be opened or run.
        """
        asked = parse(question).stem_set
        pairs = [
            (place, (question, [*([each.title] if each.title else []), *run]))
            for place, each in enumerate(texts)
            for run in _nearest(asked, windows(each.text) or [[""]])
        ]
        best = np.full(len(texts), -np.inf)
        read = self._model.read([pair for _, pair in pairs])
        for (place, _), one in zip(pairs, read, strict=True):
            best[place] = max(best[place], one.answers)
        return chance(best)

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> list[Reading]:
        """Whether each text, given as its sentences, answers ``question``, and which of them does.

        Raises:
            ModelError: the network cannot be opened or run.
        """
        found = self._model.read([(question, text) for text in texts])
        return [Reading(answers=each.answers, sentences=each.chosen) for each in found]


def _nearest(wanted: frozenset[str], found: Sequence[list[str]]) -> list[list[str]]:
    return sorted(found, key=lambda one: -len(wanted & parse(" ".join(one)).stem_set))[:WINDOWS]


def windows(text: str) -> list[list[str]]:
    """Runs of whole sentences of about ``WINDOW`` words."""
    found: list[list[str]] = []
    size = 0
    for span in sentence_spans(text):
        words = len(span.of(text).split())
        if not found or size + words > WINDOW:
            found.append([])
            size = 0
        found[-1].append(span.of(text))
        size += words
    return found
