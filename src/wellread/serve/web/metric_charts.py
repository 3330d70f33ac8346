"""Lays the charts of metrics out; templates draw them as SVG.

The trend has no words in it: on a narrow screen it shrinks, and they would not be readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.serve.features.learning.metric_bodies import LatencyBody, TrendBody

WIDTH, HEIGHT = 720, 160
FILLED = 0.8  # share of a part's width that its bar takes
LEAST = 1.5  # height of a piece that is more than nothing
LONG = 160.0  # the longest bar of seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a bar: how many, and where it stands."""

    name: str
    count: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The bar of one part of the time, its pieces from the bottom to the top."""

    label: str
    asked: int
    x: float
    width: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendChart:
    """All parts, oldest first; ``highest`` is the one in which most was asked."""

    stacks: tuple[Stack, ...]
    highest: Stack
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondsBar:
    """How long the bars of a step are: half of the answers, and 95 of 100."""

    half: float
    most: float


def trend_chart(trend: Sequence[TrendBody], part: str) -> TrendChart | None:
    """Questions of each part of the time by what came of them; None when nothing was asked."""
    most = max((one.asked for one in trend), default=0)
    if not most:
        return None
    wide = WIDTH / len(trend)
    stacks = []
    for place, one in enumerate(trend):
        counts = {
            "cited": one.cited,
            "other": one.asked - one.cited - one.unanswered,
            "unanswered": one.unanswered,
        }
        stacks.append(
            Stack(
                label=part_label(one, part),
                asked=one.asked,
                x=round((place + (1 - FILLED) / 2) * wide, 2),
                width=round(wide * FILLED, 2),
                pieces=tuple(_pieces(counts, most)),
            )
        )
    return TrendChart(stacks=tuple(stacks), highest=max(stacks, key=lambda one: one.asked))


def part_label(one: TrendBody, part: str) -> str:
    """The name of a part of the time: an hour, a day, a week by its first day, a month."""
    shapes = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
    return one.start.strftime(shapes[part])


def seconds_bars(latencies: Sequence[LatencyBody]) -> dict[str, SecondsBar]:
    """For each step how long its bars are, in one scale."""
    most = max((one.p95 for one in latencies), default=0.0) or 1.0
    return {
        one.name: SecondsBar(
            half=round(one.p50 / most * LONG, 2), most=round(one.p95 / most * LONG, 2)
        )
        for one in latencies
    }


def _pieces(counts: dict[str, int], most: int) -> list[Piece]:
    pieces, base = [], HEIGHT - 1.0
    for name, count in counts.items():
        if count <= 0:
            continue
        height = max(count / most * (HEIGHT - 6), LEAST)
        base -= height
        pieces.append(Piece(name=name, count=count, y=round(base, 2), height=round(height, 2)))
    return pieces
