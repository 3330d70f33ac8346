"""A monotone map of confidence: two numbers, fitted on the log odds (Platt, 1999).

Two numbers and not a staircase: isotonic regression follows single ratings where there are few
(Niculescu-Mizil and Caruana, ICML 2005, find it better from about a thousand on). They are held to
"no change" by a prior that weighs as much as ``PRIOR`` answers, so that a short or lopsided set of
ratings moves them little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.store.schema.calibration_values import inside

PRIOR = 10.0
STEPS = 50  # of Newton's method; it takes about six
CLOSE_ENOUGH = 1e-9

Floats = NDArray[np.float64]


def fit(shipped: Sequence[float], right: Sequence[bool]) -> tuple[float, float]:
    """Slope and intercept for the log odds of ``shipped``, by penalised maximum likelihood."""
    odds = log_odds(shipped)
    design = np.column_stack([odds, np.ones(len(odds))])
    true = np.asarray(right, dtype=np.float64)
    start = np.array([1.0, 0.0])
    found = start.copy()
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        slope = design.T @ (true - sure) - PRIOR * (found - start)
        bend = (design * (sure * (1 - sure))[:, np.newaxis]).T @ design + PRIOR * np.eye(2)
        step = np.linalg.solve(bend, slope)
        found = found + step
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return float(found[0]), float(found[1])


def mapped(shipped: Sequence[float], slope: float, intercept: float) -> Floats:
    """The confidence that the map gives for each."""
    return np.asarray(1 / (1 + np.exp(-(slope * log_odds(shipped) + intercept))))


def log_odds(scores: Sequence[float]) -> Floats:
    """The log odds of each score."""
    kept = np.asarray([inside(one) for one in scores], dtype=np.float64)
    return np.log(kept / (1 - kept))
