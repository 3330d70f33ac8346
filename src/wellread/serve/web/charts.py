"""Lays out bar charts of counts over time, which a template renders as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.store.schema.stored_values import AnswersPerPeriod

WIDTH = 720
HEIGHT = 160
BAR_SHARE = 0.8  # bar width as a share of its slot
MIN_HEIGHT = 1.5  # minimum height of a non-empty piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of a stacked bar, with its count and position."""

    name: str
    count: float
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The bar of one period, with its pieces from bottom to top."""

    label: str
    total: float
    x: float
    width: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChart:
    """The bars of all periods, oldest first; ``highest`` is None when all are empty."""

    stacks: tuple[Stack, ...]
    highest: Stack | None
    width: int = WIDTH
    height: int = HEIGHT


def stack_chart(parts: Sequence[tuple[str, Mapping[str, float]]]) -> StackChart:
    """A chart with one stacked bar per label; counts are listed from bottom to top."""
    highest_total = max((sum(counts.values()) for _, counts in parts), default=0.0)
    slot_width = WIDTH / max(1, len(parts))
    stacks = [
        Stack(
            label=label,
            total=sum(counts.values()),
            x=round((place + (1 - BAR_SHARE) / 2) * slot_width, 2),
            width=round(slot_width * BAR_SHARE, 2),
            pieces=tuple(_pieces(counts, highest_total)),
        )
        for place, (label, counts) in enumerate(parts)
    ]
    highest = max(stacks, key=lambda one: one.total) if highest_total > 0 else None
    return StackChart(stacks=tuple(stacks), highest=highest)


def bar_chart(counts: Sequence[tuple[str, float]]) -> StackChart | None:
    """A chart with one simple bar per label; None when all counts are zero."""
    chart = stack_chart([(label, {"bar": count}) for label, count in counts])
    return chart if chart.highest else None


def trend_chart(trend: Sequence[AnswersPerPeriod], part: str) -> StackChart | None:
    """Questions per period by outcome; None when there are no questions."""
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


def part_label(period: AnswersPerPeriod, part: str) -> str:
    """The label of a period: an hour, a day, the first day of a week, or a month."""
    shapes = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
    return datetime.fromisoformat(period.start).strftime(shapes[part])


def _pieces(counts: Mapping[str, float], highest_total: float) -> list[Piece]:
    pieces, base = [], HEIGHT - 1.0
    for name, count in counts.items():
        if count <= 0:
            continue
        height = max(count / highest_total * (HEIGHT - 6), MIN_HEIGHT)
        base -= height
        pieces.append(Piece(name=name, count=count, y=round(base, 2), height=round(height, 2)))
    return pieces
