"""How sure a figure is: percentile intervals over resampled cases.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13. The seed is fixed, so that
the same scores give the same interval on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_240_501
LEVEL = 0.95
DRAWN_AT_ONCE = 4_000_000  # case numbers held in memory at a time (32 MB)

Floats = NDArray[np.float64]
# One row of case numbers per resample to one figure per resample; NaN where there is none.
Statistic = Callable[[NDArray[np.int64]], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure over ``n`` cases with its bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean with the 95 % percentile interval of 2,000 resamples of the cases."""
    cases = np.asarray(values, dtype=np.float64)
    return interval(len(cases), lambda drawn: np.asarray(cases[drawn].mean(axis=1)))


def bootstrap_percentile(values: Sequence[float], share: float) -> Interval:
    """The value below which ``share`` (0-1) of ``values`` lie, with its interval."""
    cases = np.asarray(values, dtype=np.float64)
    return interval(len(cases), lambda drawn: np.quantile(cases[drawn], share, axis=1))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Mean of ``first - second`` case by case, with its interval.

    Raises:
        ValueError: the runs have different numbers of cases.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} cases cannot be paired")
    return bootstrap([one - other for one, other in zip(first, second, strict=True)])


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0-1) of ``values`` lie, interpolated; 0 for none."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0


def interval(n: int, statistic: Statistic) -> Interval:
    """``statistic`` of all ``n`` cases, with the interval of its value over resamples.

    Resamples for which it has no value (an AUROC over one class) are left out.
    """
    if not n:
        return Interval(mean=0.0, low=0.0, high=0.0, n=0)
    generator = np.random.default_rng(SEED)
    rows = max(1, DRAWN_AT_ONCE // n)
    figures: list[Floats] = []
    for start in range(0, RESAMPLES, rows):
        drawn = generator.integers(0, n, size=(min(rows, RESAMPLES - start), n))
        figures.append(statistic(drawn))
    found = np.concatenate(figures)
    whole = float(statistic(np.arange(n, dtype=np.int64)[np.newaxis])[0])
    low, high = np.quantile(found[~np.isnan(found)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=whole, low=float(low), high=float(high), n=n)
