"""Measures of a ranked list, and how sure they are.

A ranking is a sequence of places, best first; each place holds the names of the targets that the
item there meets (a document meets itself; a passage meets every gold span that it overlaps).
A query without a result is an empty ranking and scores zero; it is never left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
SEED = 20_240_501
LEVEL = 0.95

Ranking = Sequence[frozenset[str]]
Grades = Mapping[str, float]
Measure = Callable[[Ranking, Grades], float]


def hit(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when one of the first ``depth`` places meets a target, else 0."""
    return float(any(place & grades.keys() for place in ranking[:depth]))


def recall(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Share of the targets that the first ``depth`` places meet; 0 when there is no target."""
    met = _met(ranking[:depth]) & grades.keys()
    return len(met) / len(grades) if grades else 0.0


def every(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when the first ``depth`` places meet all targets, else 0."""
    return float(bool(grades) and grades.keys() <= _met(ranking[:depth]))


def ndcg(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Normalised discounted cumulative gain, linear gain and log2 discount.

    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, as trec_eval and BEIR compute it. A target
    counts at the first place that meets it.
    """
    seen: set[str] = set()
    gained = 0.0
    for place, targets in enumerate(ranking[:depth]):
        fresh = targets - seen
        seen |= targets
        gained += sum(grades.get(target, 0.0) for target in fresh) / math.log2(place + 2)
    ideal = sum(
        grade / math.log2(place + 2)
        for place, grade in enumerate(sorted(grades.values(), reverse=True)[:depth])
    )
    return gained / ideal if ideal > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean over ``n`` cases with its bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean with the 95 % percentile interval of 2,000 resamples of the cases (fixed seed).

    Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    cases = np.asarray(values, dtype=np.float64)
    if not len(cases):
        return Interval(mean=0.0, low=0.0, high=0.0, n=0)
    low, high = np.quantile(_resampled_means(cases), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=float(cases.mean()), low=float(low), high=float(high), n=len(cases))


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


def _met(places: Ranking) -> set[str]:
    return set().union(*places)


def _resampled_means(cases: NDArray[np.float64]) -> NDArray[np.float64]:
    generator = np.random.default_rng(SEED)
    chosen = generator.integers(0, len(cases), size=(RESAMPLES, len(cases)))
    means: NDArray[np.float64] = cases[chosen].mean(axis=1)
    return means
