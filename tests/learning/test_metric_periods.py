"""The time that metrics are about, and its parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from wellread.learning.metric_report import Period, PeriodName, fill_parts, period_of
from wellread.store.schema.stored_values import AnswersPerPeriod

NOW = datetime(2026, 3, 18, 12, 30, tzinfo=UTC)  # a Wednesday
FIRST = datetime(2025, 1, 10, 8, tzinfo=UTC)


def period(name: PeriodName = "month", **given: datetime) -> Period:
    return period_of(name, given.get("since"), given.get("until"), now=NOW, first=FIRST)


def counted(start: str, asked: int) -> AnswersPerPeriod:
    return AnswersPerPeriod(start=start, asked=asked, cited=0, unanswered=1, follow_ups=0, cost=0.5)


@pytest.mark.parametrize(
    ("name", "since", "part", "parts"),
    [
        ("day", datetime(2026, 3, 17, 13, tzinfo=UTC), "hour", 24),
        ("week", datetime(2026, 3, 12, tzinfo=UTC), "day", 7),
        ("month", datetime(2026, 2, 17, tzinfo=UTC), "day", 30),
        ("all", FIRST, "week", 63),
    ],
)
def test_the_named_periods(name: PeriodName, since: datetime, part: str, parts: int) -> None:
    found = period(name)
    assert (found.since, found.part) == (since, part)
    assert found.until > NOW
    assert len(fill_parts(found, ())) == parts


def test_what_was_counted_goes_into_its_part() -> None:
    days = [counted("2025-01-10", 1), counted("2025-01-12", 2), counted("2026-03-18", 4)]
    weeks = fill_parts(period("all"), days)
    assert (weeks[0].start, weeks[0].asked, weeks[0].cost) == ("2025-01-06T00:00:00+00:00", 3, 1.0)
    assert (weeks[-1].start, weeks[-1].asked) == ("2026-03-16T00:00:00+00:00", 4)
    assert sum(one.unanswered for one in weeks) == 3
    hours = fill_parts(period("day"), [counted("2026-03-18 12", 7)])
    assert (hours[-1].asked, hours[0].asked) == (7, 0)


def test_a_time_is_compared_with_as_long_a_one_before_it() -> None:
    week = period("week")
    assert week.before is not None
    assert week.before.until == week.since
    assert week.since is not None
    as_long = week.since - (NOW - week.since)
    assert as_long - timedelta(minutes=1) <= (week.before.since or NOW) <= as_long
    assert period("all").before is None
