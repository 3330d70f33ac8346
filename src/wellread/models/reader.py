"""The seam to readers: who says how well texts fit a question, or answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Head = Literal["relevance", "answers"]
Scores = NDArray[np.float64]

HEADS: tuple[Head, ...] = ("relevance", "answers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A text that is read, and what stands above it (title and headings)."""

    text: str
    title: str = ""

    @property
    def shown(self) -> str:
        """What a model is given to read."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def excerpts(*texts: str) -> tuple[Excerpt, ...]:
    """Texts that nothing stands above."""
    return tuple(Excerpt(text=text) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader found in one text for a question.

    Attributes:
        answers: log odds that the text answers it.
        sentences: log probability of each sentence to be the one that does, together 1; minus
            infinity for a sentence that was not read. Shape ``(sentences,)``.
    """

    answers: float
    sentences: Scores


@runtime_checkable
class PassageReader(Protocol):
    """Reads whole passages for a question, sentence by sentence in their context."""

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> Sequence[Reading]:
        """What each text, given as its sentences, holds for ``question``, in order.

        Raises:
            ModelError: the model cannot be run.
        """
        ...


@runtime_checkable
class Ranking(Protocol):
    """Reads a question together with texts.

    Every number hangs on the two alone, hardly on what else is asked. Long texts are cut, never
    refused, and a text without a word gets a number too. Calls may come from several threads; they
    are sync and may take as long as a model does, so async callers go through a worker thread.
    Each method raises ``ModelTimeoutError`` when the model takes longer than its time limit, and
    ``ModelError`` when it cannot be run or reached, or replies with nonsense.
    """

    @property
    def identity(self) -> str:
        """Kind, model and where it runs, as shown to the reader ("http:bge@localhost:8080")."""
        ...

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """One finite score for each text, in order; larger is better, on no fixed scale.

        No texts give shape ``(0,)``, and no model is asked.
        """
        ...

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """How far each sentence answers the question, -1 (a cosine) or 0 to 1, in order."""
        ...


class Reader(Ranking, Protocol):
    """Reads a question together with texts, in all that it can."""

    @property
    def heads(self) -> frozenset[Head]:
        """What it knows more about than words do; for the rest nobody waits for it."""
        ...


def chance(odds: Scores) -> Scores:
    """Probabilities of log odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))


def unit(scores: Scores) -> Scores:
    """``scores`` from 0 to 1: as they are where all are, else as log odds."""
    return chance(scores) if scores.size and (scores.min() < 0 or scores.max() > 1) else scores
