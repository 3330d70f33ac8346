"""Whether the calibration of confidence holds: AUROC, Brier, reliability, and its curve as SVG.

A judgement is a confidence (0-1) with what came true: whether the delivered answer was right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wellread.evaluation.bootstrap import Floats, Interval, bootstrap, interval

BINS = 10
LEAST_IN_BIN = 5


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


SIZE, LEFT, TOP, EDGE = 280, 56, 16, 48  # pixels: the square, and the room around it
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def curve(bins: Sequence[Bin]) -> str:
    """Each bin as a point with its interval; on the diagonal confidence means what it says."""
    width, height = LEFT + SIZE + TOP, TOP + SIZE + EDGE
    title = "Share of right answers by confidence"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="11" '
            f'role="img" aria-label="{title}">',
            f"<title>{title}</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *_axes(),
            f'<path d="M{_x(0):.1f} {_y(0):.1f}L{_x(1):.1f} {_y(1):.1f}" '
            'stroke="#999" stroke-dasharray="4 4"/>',
            *_points(bins),
            "</svg>\n",
        ]
    )


def _axes() -> Iterator[str]:
    for tick in TICKS:
        yield (
            f'<path d="M{_x(tick):.1f} {_y(0):.1f}V{_y(1):.1f}M{_x(0):.1f} {_y(tick):.1f}'
            f'H{_x(1):.1f}" stroke="#ddd"/>'
        )
        yield f'<text x="{_x(tick):.1f}" y="{_y(0) + 16:.1f}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{_x(0) - 8:.1f}" y="{_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield (f'<text x="{_x(0.5):.1f}" y="{_y(0) + 38:.1f}" text-anchor="middle">confidence</text>')
    middle = f"{_x(0) - 40:.1f} {_y(0.5):.1f}"
    yield (
        f'<text transform="translate({middle}) rotate(-90)" text-anchor="middle">'
        "share of right answers</text>"
    )


def _points(bins: Sequence[Bin]) -> Iterator[str]:
    if len(bins) > 1:
        line = "L".join(f"{_x(each.confidence):.1f} {_y(each.right.mean):.1f}" for each in bins)
        yield f'<path d="M{line}" fill="none" stroke="#1b6ca8" stroke-width="1.5"/>'
    for each in bins:
        x = f"{_x(each.confidence):.1f}"
        yield (
            f'<path d="M{x} {_y(each.right.low):.1f}V{_y(each.right.high):.1f}" '
            'stroke="#1b6ca8" opacity="0.5"/>'
        )
        yield (
            f'<circle cx="{x}" cy="{_y(each.right.mean):.1f}" r="4" fill="#1b6ca8">'
            f"<title>confidence {each.confidence:.2f}, right {each.right}, "
            f"n = {each.right.n}</title></circle>"
        )


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return TOP + SIZE * (1 - share)
