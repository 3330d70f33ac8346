"""Bar charts: counts over time as places and sizes, which a template draws as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SIDE = 40.0  # left and right of the bars, for the words under the outermost ones
TOP = 18.0
TALLEST = 120.0
BELOW = 22.0  # room for the words under the bars
USUAL = 640.0  # width of all bars together; fewer take less, many take more
NARROWEST, WIDEST = 3.0, 48.0
APART = 84.0  # between the middles of two words under the bars
FULL = 0.8  # of its slot that a bar takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar; ``shown``: its label stands under it."""

    label: str
    count: int
    left: float
    top: float
    width: float
    height: float
    middle: float
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """Bars from the left to the right on a line at ``base``.

    Attributes:
        most: the largest count, which reaches up to ``top``.
        peak: the label of the first bar that has it.
    """

    width: float
    height: float
    top: float
    base: float
    most: int
    peak: str
    bars: tuple[Bar, ...]


def bar_chart(counts: Sequence[tuple[str, int]]) -> BarChart | None:
    """The chart of labels with their counts; None when there is nothing to draw."""
    most = max((count for _, count in counts), default=0)
    if most <= 0:
        return None
    slot = min(WIDEST, max(NARROWEST, USUAL / len(counts)))
    step = math.ceil(APART / slot)
    base = TOP + TALLEST
    bars = []
    for place, (label, count) in enumerate(counts):
        height = round(max(0, count) / most * TALLEST, 2)
        bars.append(
            Bar(
                label=label,
                count=count,
                left=round(SIDE + place * slot + slot * (1 - FULL) / 2, 2),
                top=round(base - height, 2),
                width=round(slot * FULL, 2),
                height=height,
                middle=round(SIDE + (place + 0.5) * slot, 2),
                shown=place % step == 0,
            )
        )
    return BarChart(
        width=round(2 * SIDE + slot * len(counts), 2),
        height=base + BELOW,
        top=TOP,
        base=base,
        most=most,
        peak=next(label for label, count in counts if count == most),
        bars=tuple(bars),
    )
