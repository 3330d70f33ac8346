"""The seam to readers: who says how well texts fit a question, answer it, or bear out a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.types import Span

Head = Literal["relevance", "answers", "entails"]
RulingName = Literal["supported", "partial", "unsupported", "undecided"]
Scores = NDArray[np.float64]

HEADS: tuple[Head, ...] = ("relevance", "answers", "entails")
NOWHERE = Span(start=0, end=0)
SUPPORTED, PARTIAL = 0.5, 0.25  # of a probability; fact-checking models are trained to decide at .5


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
class Case:
    """A claim and the passages that should bear it out together."""

    claim: str
    passages: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Probabilities from which a claim counts as borne out, and as borne out in part."""

    supported: float = SUPPORTED
    partial: float = PARTIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Entailment:
    """How far passages bear a claim out, speak against it, or leave it open; together 1.

    Attributes:
        reason: in words for a reader; of an undecided case, why.
        decided: whether the reader could say; if not, the numbers mean nothing.
        against: what speaks against the claim, in words; empty where nothing does.
        literal: one sentence holds every word of the claim, in its order.
        source: which passage holds the sentence that says most; None where that is not told, and
            of the lexical reader where no sentence shares a word with the claim.
        span: that sentence, in the passage's text.
        limits: what the reader's ``supports`` is worth.
    """

    supports: float = 0.0
    contradicts: float = 0.0
    neither: float = 0.0
    reason: str = ""
    decided: bool = True
    against: str = ""
    literal: bool = False
    source: int | None = None
    span: Span = NOWHERE
    limits: Limits = Limits()

    @property
    def name(self) -> RulingName:
        """The numbers as one word."""
        if not self.decided:
            return "undecided"
        if self.supports >= self.limits.supported:
            return "supported"
        return "partial" if self.supports >= self.limits.partial else "unsupported"


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


@runtime_checkable
class Checking(Protocol):
    """Reads claims together with what should bear them out; what holds of ``Ranking`` holds here.

    Claims come together, so that a model can read them in one batch or side by side.
    """

    @property
    def identity(self) -> str:
        """Kind, model and where it runs."""
        ...

    def entails(self, cases: Sequence[Case]) -> Sequence[Entailment]:
        """How far each claim is borne out, in order; one that fails alone is not ``decided``."""
        ...


class Reader(Ranking, Checking, Protocol):
    """Reads two texts together and says how they lie to each other."""

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


def by_probability(supports: float, contradicts: float = 0.0) -> Entailment:
    """What a fact-checking model's probabilities say."""
    return Entailment(
        supports=supports,
        contradicts=contradicts,
        neither=max(0.0, 1 - supports - contradicts),
        reason=f"a fact-checking model gives it {supports:.0%}",
    )


def undecided(reason: object) -> Entailment:
    """Of a case on which the reader could not say anything."""
    return Entailment(reason=str(reason), decided=False)


def told_alone(outcomes: Sequence[Entailment | ModelError]) -> list[Entailment]:
    """What came of each of some claims; those that failed among others are not ``decided``.

    Raises:
        ModelError: the first failure, where every claim failed.
    """
    failures = [each for each in outcomes if isinstance(each, ModelError)]
    if failures and len(failures) == len(outcomes):
        raise failures[0]
    return [undecided(each) if isinstance(each, ModelError) else each for each in outcomes]
