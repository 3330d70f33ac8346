"""The values of calibration on a base's own ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass

CALIBRATION = "confidence_calibration"  # the property that they are kept under
_EDGE = 1e-6  # scores of 0 and 1 have no log odds


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Maps a shipped confidence: the log odds times ``slope`` plus ``intercept`` (Platt 1999).

    Attributes:
        lowest: the lowest shipped confidence that was rated. Below it nothing is known, and no
            score is raised there.
        fitted_at: when, as ISO 8601.
        answers, questions, raters: what it was fitted on.
        largest_share: of all ratings, that of the person who gave most.
        right: the share of the answers that were rated right.
        before, after: Brier scores of the shipped confidence and of this one on held-out answers.
        gain: by how much it is better; ``gain_low`` to ``gain_high`` with 95 %.
    """

    slope: float
    intercept: float
    lowest: float
    fitted_at: str
    answers: int
    questions: int
    raters: int
    largest_share: float
    right: float
    before: float
    after: float
    gain: float
    gain_low: float
    gain_high: float

    def of(self, shipped: float) -> float:
        """The confidence of this base for a shipped one; a greater one is never less."""
        odds = math.log(inside(shipped) / (1 - inside(shipped)))
        mapped = 1 / (1 + math.exp(-(self.slope * odds + self.intercept)))
        return round(min(mapped, shipped) if shipped < self.lowest else mapped, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """An answer that was rated.

    Attributes:
        question: its words in one form, by which the same question is known again.
        shipped: its confidence without any calibration; ``confidence``: as it was delivered.
        score: the mean of its ratings, 0-100.
        ratings: each rater with their score.
    """

    answer_id: str
    question: str
    shipped: float
    confidence: float
    score: float
    ratings: tuple[tuple[str, float], ...]


def inside(score: float) -> float:
    """``score`` where it has log odds."""
    return min(max(score, _EDGE), 1 - _EDGE)
