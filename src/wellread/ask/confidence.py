"""How sure an answer is, from what was found and what was borne out (SPEC 7).

A logistic sum of four readings; the weights are written down with their figures in
``docs/decisions``. The language model's own claim is recorded beside it, never mixed in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wellread.answers import Confidence, Verdict
from wellread.ask import words
from wellread.questions import Analysis
from wellread.types import Evidence

BIAS = -5.2
WEIGHT_SIMILARITY = 6.0
WEIGHT_COVERAGE = 4.5
WEIGHT_NAMES = 1.5
WEIGHT_SUPPORT = 0.8
HIGH, MEDIUM = 0.75, 0.5
RELAXED = 0.6  # at most, when a limit of the question was let go of

Band = Literal["high", "medium", "low", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What confidence is computed from, each 0-1.

    Attributes:
        similarity: cosine of the question and the nearest sentence or passage.
        coverage: share of the question's content words that the best passages hold.
        names: share of the question's names and numbers that they hold; 1 when it has none.
        support: share of the answer's sentences that are borne out, a partial one counting half.
    """

    similarity: float
    coverage: float
    names: float
    support: float


def read(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    verdicts: Sequence[Verdict],
    best_similarity: float,
    used: Sequence[str] = (),
) -> Readings:
    """Take the readings of one answer.

    Args:
        best_similarity: of the answer's best sentence to the question; 0 when not known.
        used: keys of the evidence that counts; that of the verdicts when empty.
    """
    used = used or [verdict.key for verdict in verdicts if verdict.key]
    used = used or [piece.key for piece in evidence[:3]]
    held = " ".join(
        f"{piece.hit.document.title} {' '.join(piece.locator.heading)} {piece.text}"
        for piece in evidence
        if piece.key in used
    )
    inside = frozenset(words.stems(held))
    asked = frozenset(words.stems(analysis.subject or analysis.question))
    named = [stem for name in analysis.names for stem in words.stems(name)]
    similarity = max(
        [best_similarity, *(piece.hit.similarity or 0.0 for piece in evidence)], default=0.0
    )
    return Readings(
        similarity=min(1.0, max(0.0, similarity)),
        coverage=len(asked & inside) / len(asked) if asked else 0.0,
        names=sum(stem in inside for stem in named) / len(named) if named else 1.0,
        support=_support(verdicts),
    )


def hopeful(analysis: Analysis, evidence: Sequence[Evidence], threshold: float) -> bool:
    """Whether an answer from ``evidence`` could reach ``threshold`` at all.

    When it could not, nothing is written: a model is never asked what the sources do not hold.
    """
    if not evidence:
        return False
    whole = read(analysis, evidence, (), 0.0, used=[piece.key for piece in evidence])
    return judge(replace(whole, support=1.0), threshold).band != "none"


def judge(readings: Readings, threshold: float, model_claim: float | None = None) -> Confidence:
    """The score with its band and its reason. Below ``threshold`` the band is ``none``."""
    logit = (
        BIAS
        + WEIGHT_SIMILARITY * readings.similarity
        + WEIGHT_COVERAGE * readings.coverage * readings.coverage
        + WEIGHT_NAMES * (readings.names - 1)
        + WEIGHT_SUPPORT * readings.support
    )
    score = round(1 / (1 + math.exp(-logit)), 3)
    return Confidence(
        score=score,
        band=_band(score, threshold),
        reasoning=_reason(readings),
        model_claim=model_claim,
    )


def without_a_limit(sure: Confidence) -> Confidence:
    """The same when the answer does not keep to a limit of the question: never highly sure."""
    if sure.score <= RELAXED:
        return sure
    reason = f"{sure.reasoning}; but a limit of the question had to be left out"
    return replace(sure, score=RELAXED, band="medium", reasoning=reason)


def _support(verdicts: Sequence[Verdict]) -> float:
    if not verdicts:
        return 0.0
    worth = {"supported": 1.0, "partial": 0.5}
    return sum(worth.get(verdict.name, 0.0) for verdict in verdicts) / len(verdicts)


def _band(score: float, threshold: float) -> Band:
    if score < threshold:
        return "none"
    if score >= HIGH:
        return "high"
    return "medium" if score >= MEDIUM else "low"


def _reason(readings: Readings) -> str:
    near = (
        "close to"
        if readings.similarity >= 0.6
        else "near"
        if readings.similarity >= 0.4
        else "far from"
    )
    reason = (
        f"the best passage is {near} the question ({readings.similarity:.2f}) and the sources "
        f"used hold {readings.coverage:.0%} of its words"
    )
    if readings.names < 1:
        held = f"only {readings.names:.0%}" if readings.names else "none"
        reason += f", but {held} of its names and numbers"
    if readings.support:
        reason += f"; {readings.support:.0%} of the sentences are borne out by what they cite"
    return reason
