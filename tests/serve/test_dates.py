from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.errors import RequestError
from wellread.text.periods import first_moment, last_moment

INSTANT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("2025", (2025, 1, 1), (2026, 1, 1)),
        ("2025-12", (2025, 12, 1), (2026, 1, 1)),
        ("2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("2024-02-29", (2024, 2, 29), (2024, 3, 1)),
        (" 2025-1-5 ", (2025, 1, 5), (2025, 1, 6)),
    ],
)
def test_a_part_of_a_date_stands_for_its_whole_range(
    text: str, first: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    assert first_moment(text) == datetime(*first, tzinfo=UTC)
    assert last_moment(text) == datetime(*after, tzinfo=UTC) - INSTANT


def test_a_time_stands_for_itself_and_is_utc_unless_it_says_otherwise() -> None:
    assert first_moment("2025-10-14T09:00") == datetime(2025, 10, 14, 9, tzinfo=UTC)
    assert last_moment("2025-10-14T09:00+02:00") == datetime(2025, 10, 14, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "soon", "2025-13", "2025-02-30", "25-01-01", "0000", "2025-10-14x"]
)
def test_what_is_no_date_is_refused_with_examples(text: str) -> None:
    with pytest.raises(RequestError, match="is not a date") as caught:
        first_moment(text)
    assert "2025-10-14" in caught.value.hint


@given(st.dates(min_value=datetime(1, 1, 2).date(), max_value=datetime(9998, 1, 1).date()))
def test_a_day_lies_inside_its_month_and_its_year(day: datetime) -> None:
    texts = [day.isoformat(), day.isoformat()[:7], day.isoformat()[:4]]
    firsts, lasts = [first_moment(text) for text in texts], [last_moment(text) for text in texts]
    assert firsts == sorted(firsts, reverse=True)
    assert lasts == sorted(lasts)
    assert lasts[0] - firsts[0] == timedelta(days=1) - INSTANT
