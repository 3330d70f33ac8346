"""How well confidence orders and fits what came true: area under the curve, calibration error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.evaluation.scores import Floats, Interval, bin_count, interval


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> Interval:
    """Mean distance of confidence and share of right ones over the bins of ``reliability``.

    The expected calibration error of Naeini, Cooper and Hauskrecht (AAAI 2015) over bins of equal
    size.
    """
    sure = np.asarray(confidences, dtype=np.float64)
    true = np.asarray(right, dtype=np.float64)
    n = len(sure)
    sizes = [len(part) for part in np.array_split(np.arange(n), bin_count(n))]
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
