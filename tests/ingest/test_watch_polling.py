"""When watched feeds and pages are looked at again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.watch import LONGEST_PAUSE, Polls, pause

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


def polls(*uris: str) -> Polls:
    made = Polls(HALF_HOUR, chance=lambda: 0.5)
    made.keep(uris, NOW)
    return made


def test_a_source_is_due_at_once_and_then_after_the_interval() -> None:
    made = polls("a", "b")
    assert made.due(NOW) == {"a", "b"}
    made.looked("a", NOW, failed=False)
    assert made.due(NOW) == {"b"}
    assert made.due(NOW + HALF_HOUR) == {"a", "b"}
    assert made.due(NOW + HALF_HOUR - timedelta(seconds=1)) == {"b"}


def test_a_server_may_ask_for_more_time_and_not_for_less() -> None:
    made = polls("a", "b")
    made.looked("a", NOW, failed=False, poll_after=NOW + timedelta(hours=5))
    made.looked("b", NOW, failed=False, poll_after=NOW + timedelta(minutes=1))
    assert made.due(NOW + timedelta(minutes=29)) == set()
    assert made.due(NOW + timedelta(hours=4)) == {"b"}
    assert made.due(NOW + timedelta(hours=5)) == {"a", "b"}


def test_failures_are_further_and_further_apart_until_one_succeeds() -> None:
    made, now, pauses = polls("a"), NOW, []
    for _ in range(9):
        made.looked("a", now, failed=True)
        before = now
        while not made.due(now):
            now += timedelta(minutes=1)
        pauses.append((now - before) // timedelta(hours=1))
    assert pauses == [1, 2, 4, 8, 16, 24, 24, 24, 24]
    made.looked("a", now, failed=False)
    assert made.due(now + HALF_HOUR) == {"a"}


def test_the_list_may_change() -> None:
    made = polls("a", "b")
    made.looked("a", NOW, failed=False)
    made.keep(["a", "c"], NOW)
    assert made.due(NOW) == {"c"}
    made.looked("b", NOW, failed=False)  # of what is not kept nothing is remembered
    made.postpone("b", NOW)
    made.postpone("c", NOW + HALF_HOUR)
    assert made.due(NOW) == set()


@given(
    st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=30)),
    st.integers(0, 10_000),
    st.floats(0, 1),
)
def test_every_pause_is_within_a_tenth_of_its_length(
    interval: timedelta, failures: int, chance: float
) -> None:
    made = pause(interval, failures, chance)
    assert made >= interval * 0.899
    assert made <= max(interval, LONGEST_PAUSE) * 1.101
