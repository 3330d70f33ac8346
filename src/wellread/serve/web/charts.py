"""Bar charts: counts over time as places and sizes, which a template draws as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.store.schema.stored_values import Counted, Latency

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


WIDTH = 720
HEIGHT = 160
FILLED = 0.8  # share of its place that a stack takes
LEAST = 1.5  # height of a piece that is more than nothing
LONG = 160.0  # the longest bar of seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a stack: how many, and where it stands."""

    name: str
    count: float
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The bar of one part of the time, its pieces from the bottom to the top."""

    label: str
    total: float
    x: float
    width: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChart:
    """All parts, oldest first; ``highest`` is None when there is nothing in any."""

    stacks: tuple[Stack, ...]
    highest: Stack | None
    width: int = WIDTH
    height: int = HEIGHT


def stack_chart(parts: Sequence[tuple[str, Mapping[str, float]]]) -> StackChart:
    """The chart of labels with what makes up each, from the bottom to the top."""
    most = max((sum(counts.values()) for _, counts in parts), default=0.0)
    wide = WIDTH / max(1, len(parts))
    stacks = [
        Stack(
            label=label,
            total=sum(counts.values()),
            x=round((place + (1 - FILLED) / 2) * wide, 2),
            width=round(wide * FILLED, 2),
            pieces=tuple(_pieces(counts, most)),
        )
        for place, (label, counts) in enumerate(parts)
    ]
    highest = max(stacks, key=lambda one: one.total) if most > 0 else None
    return StackChart(stacks=tuple(stacks), highest=highest)


def trend_chart(trend: Sequence[Counted], part: str) -> StackChart | None:
    """Questions of each part of the time by what came of them; None when nothing was asked."""
    chart = stack_chart(
        [
            (
                part_label(one, part),
                {
                    "cited": one.cited,
                    "other": one.asked - one.cited - one.unanswered,
                    "unanswered": one.unanswered,
                },
            )
            for one in trend
        ]
    )
    return chart if chart.highest else None


def part_label(one: Counted, part: str) -> str:
    """The name of a part of the time: an hour, a day, a week by its first day, a month."""
    shapes = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
    return datetime.fromisoformat(one.start).strftime(shapes[part])


def seconds_bars(latencies: Sequence[Latency]) -> dict[str, dict[str, float]]:
    """How long the bars of each step are, in one scale: half of the answers, and 95 of 100."""
    most = max((one.percentiles[2] for one in latencies), default=0.0) or 1.0
    return {
        one.name: {
            "half": round(one.percentiles[0] / most * LONG, 2),
            "most": round(one.percentiles[2] / most * LONG, 2),
        }
        for one in latencies
    }


def _pieces(counts: Mapping[str, float], most: float) -> list[Piece]:
    pieces, base = [], HEIGHT - 1.0
    for name, count in counts.items():
        if count <= 0:
            continue
        height = max(count / most * (HEIGHT - 6), LEAST)
        base -= height
        pieces.append(Piece(name=name, count=count, y=round(base, 2), height=round(height, 2)))
    return pieces
