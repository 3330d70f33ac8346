"""Lays a chart out that has a bar for each day; the template draws it as SVG.

There are no words in the drawing: on a narrow screen it shrinks, and they would not be readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

WIDTH = 720
HEIGHT = 160
FILLED = 0.8  # share of a day's width that its bar takes
LEAST = 1.5  # height of a bar that is more than nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class DayBar:
    """One day: its value, and where its bar stands."""

    day: date
    value: float
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DayChart:
    """All days from the first to the last, oldest first; ``highest`` is None when all are 0."""

    bars: tuple[DayBar, ...]
    highest: DayBar | None
    width: int = WIDTH
    height: int = HEIGHT


def day_chart(values: Mapping[date, float], first: date, days: int) -> DayChart:
    """The chart of ``days`` days from ``first`` on; a day that has no value has 0."""
    most = max(values.values(), default=0.0)
    wide = WIDTH / days
    bars = []
    for place in range(days):
        day = first + timedelta(days=place)
        value = values.get(day, 0.0)
        height = max(value / most * (HEIGHT - 4), LEAST) if value > 0 else 0.0
        bars.append(
            DayBar(
                day=day,
                value=value,
                x=round((place + (1 - FILLED) / 2) * wide, 2),
                y=round(HEIGHT - 1 - height, 2),
                width=round(wide * FILLED, 2),
                height=round(height, 2),
            )
        )
    highest = max(bars, key=lambda one: one.value, default=None)
    return DayChart(bars=tuple(bars), highest=highest if most > 0 else None)
