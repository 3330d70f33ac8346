"""The time that metrics are about, and the parts that it is drawn in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from wellread.store.catalogue.learning.answer_figures import Unit, Within, moment_of
from wellread.store.schema.stored_values import (
    Counted,
)

PeriodName = Literal["day", "week", "month", "all"]
Part = Literal["hour", "day", "week", "month"]
# How long each period is, and what its first moment is rounded down to.
_LENGTHS: dict[PeriodName, timedelta] = {
    "day": timedelta(hours=23),
    "week": timedelta(days=6),
    "month": timedelta(days=29),
}
# The longest time that is drawn in each part; what is longer is drawn in months.
_LONGEST: tuple[tuple[Part, timedelta], ...] = (
    ("hour", timedelta(days=2)),
    ("day", timedelta(days=92)),
    ("week", timedelta(days=2 * 366)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From ``since`` on and before ``until``, drawn in parts of one ``part`` each.

    Attributes:
        since: None where there is no first answer either.
        before: the same length before it, to compare with; None where there is none.
        open: it ends now.
    """

    name: PeriodName | Literal["given"]
    since: datetime | None
    until: datetime
    part: Part
    before: Within | None
    open: bool

    @property
    def within(self) -> Within:
        """The time as the catalogue is asked for it: nothing was answered after now."""
        return Within(since=self.since, until=None if self.open else self.until)

    @property
    def unit(self) -> Unit:
        """What answers are counted by, to be put together to parts."""
        return "hour" if self.part == "hour" else "day"


def period_of(
    name: PeriodName,
    since: datetime | None,
    until: datetime | None,
    *,
    now: datetime,
    first: datetime | None,
) -> Period:
    """The period of this name, or the one from ``since`` to before ``until`` where one is given.

    ``day`` are the last 24 hours, ``week`` and ``month`` the last 7 and 30 days (UTC), each with
    the one that runs; ``all`` begins with ``first``, when the first answer was given.
    """
    end = until or now + timedelta(microseconds=1)
    named: PeriodName | Literal["given"]
    if since or until:
        begin, named = since or first, "given"
    elif name == "all":
        begin, named = first, name
    else:
        begin, named = _floor(now - _LENGTHS[name], "hour" if name == "day" else "day"), name
    length = max(end - begin, timedelta(0)) if begin else timedelta(0)
    part: Part = next((part for part, most in _LONGEST if length <= most), "month")
    compared = begin is not None and (since is not None or named not in ("all", "given"))
    before = None
    if compared and begin:
        # Whole minutes, so that the same is asked for again within one.
        start = (begin - length).replace(second=0, microsecond=0)
        before = Within(since=start, until=begin)
    return Period(
        name=named,
        since=begin,
        until=end,
        part=part,
        before=before,
        open=until is None,
    )


def in_parts(period: Period, counted: Sequence[Counted]) -> list[Counted]:
    """Every part of the period with what was counted in it, the oldest first; also empty ones."""
    if period.since is None:
        return []
    found = {start: _empty(start) for start in _starts(period)}
    for one in counted:
        start = _floor(moment_of(one.start), period.part)
        into = found.get(start)
        if into is not None:
            found[start] = _joined(into, one)
    return list(found.values())


def _starts(period: Period) -> Iterator[datetime]:
    if period.since is None:
        return
    start = _floor(period.since, period.part)
    while start < period.until:
        yield start
        start = _next(start, period.part)


def _empty(start: datetime) -> Counted:
    return Counted(start=start.isoformat(), asked=0, cited=0, unanswered=0, follow_ups=0, cost=0.0)


def _joined(one: Counted, other: Counted) -> Counted:
    return replace(
        one,
        asked=one.asked + other.asked,
        cited=one.cited + other.cited,
        unanswered=one.unanswered + other.unanswered,
        follow_ups=one.follow_ups + other.follow_ups,
        cost=one.cost + other.cost,
    )


def _floor(moment: datetime, part: Part) -> datetime:
    """When the hour, day, week (from Monday) or month of ``moment`` begins, in UTC."""
    moment = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if part == "hour":
        return moment
    moment = moment.replace(hour=0)
    if part == "week":
        return moment - timedelta(days=moment.weekday())
    return moment.replace(day=1) if part == "month" else moment


def _next(start: datetime, part: Part) -> datetime:
    if part == "month":
        return (start + timedelta(days=32)).replace(day=1)
    length = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
    return start + length[part]
