"""When something happened, in as many periods as a line holds: by day, week, month or year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

Unit = Literal["day", "week", "month", "year"]

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
# The longest stretch that is shown by that unit, in days.
LONGEST: tuple[tuple[Unit, int], ...] = (("day", 31), ("week", 26 * 7), ("month", 3 * 366))


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A day, a week (from Monday), a month or a year, and how many dates are in it."""

    label: str
    start: date
    count: int


def unit_for(first: datetime, last: datetime) -> Unit:
    """The finest unit in which the stretch has a readable number of periods."""
    days = (last - first).days
    return next((unit for unit, longest in LONGEST if days <= longest), "year")


def periods(dates: Sequence[datetime], unit: Unit) -> list[Period]:
    """Every period from the first date to the last, those without a date too."""
    if not dates:
        return []
    starts = [_start(moment.date(), unit) for moment in dates]
    found: list[Period] = []
    current = min(starts)
    while current <= max(starts):
        found.append(
            Period(label=_label(current, unit), start=current, count=starts.count(current))
        )
        current = _next(current, unit)
    return found


def sparkline(counts: Sequence[int]) -> str:
    """One character for each count; a dot for none."""
    most = max(counts, default=0)
    return "".join(BARS[(count * len(BARS) - 1) // most] if count else NOTHING for count in counts)


def bucketed(dates: Sequence[datetime], first: datetime, last: datetime, width: int) -> list[int]:
    """How many of the dates are in each of ``width`` equal parts of the stretch."""
    counts = [0] * width
    length = max((last - first).total_seconds(), 1.0)
    for moment in dates:
        share = (moment - first).total_seconds() / length
        if 0 <= share <= 1:
            counts[min(int(share * width), width - 1)] += 1
    return counts


def _start(day: date, unit: Unit) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _next(start: date, unit: Unit) -> date:
    if unit == "year":
        return start.replace(year=start.year + 1)
    if unit == "month":
        return (start + timedelta(days=31)).replace(day=1)
    return start + timedelta(days=7 if unit == "week" else 1)


def _label(start: date, unit: Unit) -> str:
    return {"year": f"{start:%Y}", "month": f"{start:%Y-%m}"}.get(unit, f"{start:%Y-%m-%d}")
