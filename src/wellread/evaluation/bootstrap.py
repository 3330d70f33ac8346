"""How sure a figure is: percentile intervals over resampled cases; and whether confidence holds.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13. The seed is fixed, so that
the same scores give the same interval on every machine. A judgement is a confidence (0-1) with what
came true: whether the delivered answer was right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_240_501
LEVEL = 0.95
BINS = 10
LEAST_IN_BIN = 5
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Judgements of similar confidence: its mean, and the share that came true."""

    confidence: float
    right: Interval


def brier(confidence: float, right: bool) -> float:
    """Squared error of one judgement (Brier, Monthly Weather Review 78, 1950); 0 is best."""
    return (confidence - right) ** 2


def reliability(confidences: Sequence[float], right: Sequence[bool]) -> list[Bin]:
    """The judgements by confidence, in up to ten bins of equal size, at least five in each."""
    if not confidences:
        return []
    order = np.argsort(np.asarray(confidences), kind="stable")
    found = []
    for part in np.array_split(order, bins_for(len(confidences))):
        mean = float(np.mean([confidences[place] for place in part]))
        share = bootstrap([float(right[place]) for place in part])
        found.append(Bin(confidence=mean, right=share))
    return found


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> Interval:
    """Mean distance of confidence and share of right ones over the bins of ``reliability``.

    The expected calibration error of Naeini, Cooper and Hauskrecht (AAAI 2015) over bins of equal
    size.
    """
    sure = np.asarray(confidences, dtype=np.float64)
    true = np.asarray(right, dtype=np.float64)
    n = len(sure)
    sizes = [len(part) for part in np.array_split(np.arange(n), bins_for(n))]
    starts = np.cumsum([0, *sizes[:-1]])

    def error(drawn: NDArray[np.int64]) -> Floats:
        order = np.argsort(sure[drawn], axis=1, kind="stable")
        sorted_cases = np.take_along_axis(drawn, order, axis=1)
        gaps = np.add.reduceat(sure[sorted_cases] - true[sorted_cases], starts, axis=1)
        return np.asarray(np.abs(gaps).sum(axis=1) / n)

    return interval(n, error)


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> Interval | None:
    """How often a positive case scores above a negative one, ties counting half.

    The area under the ROC curve (Hanley and McNeil, Radiology 143, 1982). None when all cases are
    of one class.
    """
    classes = np.asarray(positive, dtype=bool)
    if classes.all() or not classes.any():
        return None
    _, level = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    levels = int(level.max()) + 1

    def area(drawn: NDArray[np.int64]) -> Floats:
        # How many positives and negatives each resample has at each level of the score.
        rows = np.arange(len(drawn))[:, np.newaxis] * levels
        cells = (rows + level[drawn]).ravel()
        chosen = classes[drawn].ravel()
        size = len(drawn) * levels
        above = np.bincount(cells[chosen], minlength=size).reshape(-1, levels)
        below = np.bincount(cells[~chosen], minlength=size).reshape(-1, levels)
        beaten = np.cumsum(below, axis=1) - below / 2
        pairs = above.sum(axis=1) * below.sum(axis=1)
        won = (above * beaten).sum(axis=1)
        share = np.full(len(drawn), np.nan)
        np.divide(won, pairs, out=share, where=pairs > 0)
        return share

    return interval(len(classes), area)


def bins_for(n: int) -> int:
    """How many bins ``n`` judgements are put into."""
    return max(1, min(BINS, n // LEAST_IN_BIN))
