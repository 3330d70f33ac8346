"""When a judge is asked (``models/judge.py`` has the seam)."""

from __future__ import annotations

from wellread.ask.verify.support.support_score import Weights


def in_doubt(score: float, weights: Weights) -> bool:
    """Whether ``score`` lies between the thresholds, where a judge has most to add."""
    return weights.partial <= score < weights.supported
