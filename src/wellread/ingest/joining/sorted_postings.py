"""Counts and postings of millions of codes in sorted arrays, which take a tenth of what dicts take.

What comes waits in a dict, and is merged into the arrays when it is a sixteenth of what they hold:
a merge copies them, so that all merges together copy each code some sixteen times.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_MERGED = 20_000  # codes; fewer wait in any case
SHARE_MERGED = 16

Codes = NDArray[np.uint64]
Numbers = NDArray[np.uint32]
Weights = NDArray[np.float64]


class Tally:
    """How often each code was added."""

    def __init__(self) -> None:
        self._codes: Codes = np.empty(0, dtype=np.uint64)
        self._counts: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        self._pending: Counter[int] = Counter()

    def add(self, codes: Iterable[int]) -> None:
        """Each of these once more."""
        self._pending.update(iter(codes))  # a mapping's keys, not its values
        if _due(len(self._pending), len(self._codes)):
            self._merge()

    def of(self, codes: Sequence[int]) -> list[int]:
        """How often each of these was added, in their order."""
        places, known = _places(self._codes, np.array(codes, dtype=np.uint64))
        settled = np.zeros(len(codes), dtype=np.int64)
        settled[known] = self._counts[places[known]]
        return [
            count + self._pending[code] for count, code in zip(settled.tolist(), codes, strict=True)
        ]

    def _merge(self) -> None:
        codes = np.array(sorted(self._pending), dtype=np.uint64)
        counts = np.array([self._pending[code] for code in codes.tolist()], dtype=np.uint32)
        places, known = _places(self._codes, codes)
        self._counts[places[known]] += counts[known]
        self._codes = np.insert(self._codes, places[~known], codes[~known])
        self._counts = np.insert(self._counts, places[~known], counts[~known])
        self._pending = Counter()


class Postings:
    """Which numbers each code has, each with a weight, in the order in which they were added."""

    def __init__(self) -> None:
        self._codes: Codes = np.empty(0, dtype=np.uint64)
        self._numbers: Numbers = np.empty(0, dtype=np.uint32)
        self._weights: Weights = np.empty(0, dtype=np.float64)
        self._pending: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        self._waiting = 0

    def add(self, number: int, weights: Mapping[int, float]) -> None:
        """``number`` has these codes, with these weights."""
        for code, weight in weights.items():
            self._pending[code].append((number, weight))
        self._waiting += len(weights)

    @property
    def full(self) -> bool:
        """Whether so much waits that ``merge`` is due."""
        return _due(self._waiting, len(self._codes))

    def merge(self, alive: NDArray[np.bool_] | None = None) -> None:
        """Sort in what waits.

        Args:
            alive: for each number whether it is needed still; the others are dropped.
        """
        waiting = [
            (code, number, weight)
            for code, having in self._pending.items()
            for number, weight in having
        ]
        self._pending.clear()
        self._waiting = 0
        codes, numbers, weights = zip(*waiting, strict=True) if waiting else ((), (), ())
        new = np.array(codes, dtype=np.uint64)
        order = np.argsort(new, kind="stable")
        places = np.searchsorted(self._codes, new[order], side="right")
        self._codes = np.insert(self._codes, places, new[order])
        self._numbers = np.insert(self._numbers, places, np.array(numbers, np.uint32)[order])
        self._weights = np.insert(self._weights, places, np.array(weights, np.float64)[order])
        if alive is not None:
            kept = alive[self._numbers]
            self._codes, self._numbers = self._codes[kept], self._numbers[kept]
            self._weights = self._weights[kept]

    def products(self, weights: Mapping[int, float], least: float) -> list[tuple[int, float]]:
        """Each number with the sum of its weights times these, where that reaches ``least``.

        ``least`` is above zero: what has none of the codes is left out.
        """
        places, lengths = self._found(list(weights))
        factors = np.fromiter(weights.values(), dtype=np.float64, count=len(weights))
        products = self._weights[places] * np.repeat(factors, lengths)
        sums = np.asarray(np.bincount(self._numbers[places], products), dtype=np.float64)
        # A number is all in the arrays or all in the dict.
        waiting: defaultdict[int, float] = defaultdict(float)
        for code, factor in weights.items():
            for number, weight in self._pending.get(code, ()):
                waiting[number] += factor * weight
        reaching = np.flatnonzero(sums >= least)
        found = list(zip(reaching.tolist(), sums[reaching].tolist(), strict=True))
        return found + [(number, total) for number, total in waiting.items() if total >= least]

    def newest(self, codes: Sequence[int], most: int) -> list[int]:
        """The numbers that were added last for each code, at most so many, ascending."""
        waiting = [self._pending.get(code, [])[-most:] for code in codes]  # newer than the others
        places, _ = self._found(codes, [most - len(numbers) for numbers in waiting])
        found = {number for numbers in waiting for number, _ in numbers}
        return sorted(found.union(self._numbers[places].tolist()))

    def _found(
        self, codes: Sequence[int], most: Sequence[int] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the codes stand in the arrays, and in how many places each.

        Args:
            most: of each code, no more than the last so many.
        """
        wanted = np.array(codes, dtype=np.uint64)
        starts = np.searchsorted(self._codes, wanted, side="left")
        ends = np.searchsorted(self._codes, wanted, side="right")
        if most is not None:
            starts = np.maximum(starts, ends - np.array(most, dtype=np.int64))
        lengths = ends - starts
        before = np.cumsum(lengths) - lengths
        return np.repeat(starts - before, lengths) + np.arange(lengths.sum()), lengths


def _due(waiting: int, settled: int) -> bool:
    return waiting >= max(LEAST_MERGED, settled // SHARE_MERGED)


def _places(sorted_codes: Codes, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each of ``codes`` stands or would stand, and whether it does stand there."""
    places = np.searchsorted(sorted_codes, codes).astype(np.int64)
    known = places < len(sorted_codes)
    known[known] = sorted_codes[places[known]] == codes[known]
    return places, known
