"""The seam to readers: who says how well texts fit a question, or answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Head = Literal["relevance", "answers"]
"""What a reader is wanted for: a ``Ranking``, or a ``PassageReader``."""
Scores = NDArray[np.float64]


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

    @property
    def identity(self) -> str:
        """Kind and model, as shown to the reader."""
        ...

    def read(self, question: str, texts: Sequence[Sequence[str]]) -> Sequence[Reading]:
        """What each text, given as its sentences, holds for ``question``, in order.

        Raises:
            ModelError: the model cannot be run.
        """
        ...


@runtime_checkable
class Ranking(Protocol):
    """Says how well texts fit a question.

    Every number hangs on the two alone, hardly on what else is asked. Long texts are cut, never
    refused, and a text without a word gets a number too. Calls may come from several threads; they
    are sync and may take as long as a model does, so async callers go through a worker thread.
    ``ModelTimeoutError`` is raised when the model takes longer than its time limit, and
    ``ModelError`` when it cannot be run or reached, or replies with nonsense.
    """

    @property
    def identity(self) -> str:
        """Kind and model, as shown to the reader ("trained:5ee00eb8")."""
        ...

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """One finite score for each text, in order; larger is better, on no fixed scale.

        No texts give shape ``(0,)``, and no model is asked.
        """
        ...


class Reader(Ranking, Protocol):
    """A ranking that says whether it knows more than a search, which has counted words already."""

    @property
    def reranks(self) -> bool:
        """Whether the best passages of a search are put in its order."""
        ...


def chance(odds: Scores) -> Scores:
    """Probabilities of log odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))
