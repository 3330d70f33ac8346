"""Bar charts: counts over time as places and sizes, which a template draws as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.store.schema.stored_values import Counted

WIDTH = 720
HEIGHT = 160
FILLED = 0.8  # share of its place that a stack takes
LEAST = 1.5  # height of a piece that is more than nothing


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


def bar_chart(counts: Sequence[tuple[str, float]]) -> StackChart | None:
    """The chart of labels with one count each; None when there is nothing to draw."""
    chart = stack_chart([(label, {"bar": count}) for label, count in counts])
    return chart if chart.highest else None


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


def _pieces(counts: Mapping[str, float], most: float) -> list[Piece]:
    pieces, base = [], HEIGHT - 1.0
    for name, count in counts.items():
        if count <= 0:
            continue
        height = max(count / most * (HEIGHT - 6), LEAST)
        base -= height
        pieces.append(Piece(name=name, count=count, y=round(base, 2), height=round(height, 2)))
    return pieces
