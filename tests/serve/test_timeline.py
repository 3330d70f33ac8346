from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.serve.features.timelines_shown import Unit, periods

FIRST = datetime(2025, 12, 29, 9, 30, tzinfo=UTC)  # a Monday
moments = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("unit", "labels"),
    [
        ("day", ["2025-12-29", "2025-12-30", "2025-12-31", "2026-01-01"]),
        ("week", ["2025-12-29"]),
        ("month", ["2025-12", "2026-01"]),
        ("year", ["2025", "2026"]),
    ],
)
def test_periods_run_over_the_turn_of_the_year(unit: Unit, labels: list[str]) -> None:
    found = periods([FIRST, FIRST, FIRST + timedelta(days=3)], unit)
    assert [period.label for period in found] == labels
    assert found[0].count == (3 if unit == "week" else 2)


@given(st.lists(moments, min_size=1, max_size=30), st.sampled_from(["month", "year"]))
def test_every_date_is_in_one_period_and_periods_follow_each_other(
    dates: list[datetime], unit: Unit
) -> None:
    found = periods(dates, unit)
    assert sum(period.count for period in found) == len(dates)
    assert found[0].count > 0 < found[-1].count
    starts = [period.start for period in found]
    assert starts == sorted(set(starts))
