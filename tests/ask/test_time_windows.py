"""Which days the words of a question set as a window."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.followups.rewrite import Turn, standalone
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english import MONTHS
from wellread.text.periods import expressions_of

TODAY = date(2026, 1, 15)
FIRST, LAST = date(2019, 2, 1), date(2024, 12, 23)
ARCHIVE = Vocabulary(published=(FIRST, LAST))
DAYS = st.dates(FIRST, LAST)


def window(question: str, vocabulary: Vocabulary = ARCHIVE) -> tuple[date | None, date | None]:
    read = analyse(Question(text=question), vocabulary, TODAY)
    limits = [one.filters for one in read.constraints if one.kind == "time"]
    if not limits:
        return None, None
    (one,) = limits
    return (
        one.published_from.date() if one.published_from else None,
        one.published_to.date() if one.published_to else None,
    )


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("between 2024-10-14 and 2024-10-17", date(2024, 10, 14), date(2024, 10, 17)),
        ("in the first week of November 2024", date(2024, 11, 1), date(2024, 11, 7)),
        ("in the last week of February 2024", date(2024, 2, 23), date(2024, 2, 29)),
        ("in the week of 3 March 2023", date(2023, 2, 27), date(2023, 3, 5)),
        ("in the week of March 3, 2023", date(2023, 2, 27), date(2023, 3, 5)),
        ("in the week beginning 2023-03-06", date(2023, 3, 6), date(2023, 3, 12)),
        ("in mid-2023", date(2023, 5, 1), date(2023, 8, 31)),
        ("in Q2 2024", date(2024, 4, 1), date(2024, 6, 30)),
        ("since last summer", date(2025, 6, 1), None),
        ("in October", date(2024, 10, 1), date(2024, 10, 31)),
        ("in the second week of October", date(2024, 10, 8), date(2024, 10, 14)),
        ("last week", date(2026, 1, 5), date(2026, 1, 11)),
    ],
)
def test_windows(words: str, first: date | None, last: date | None) -> None:
    assert window(f"What was reported {words}?") == (first, last)


@given(DAYS, DAYS)
def test_two_days_are_a_window_of_both(one: date, other: date) -> None:
    first, last = min(one, other), max(one, other)
    expected = (None, None) if first == last else (first, last)
    found = window(f"What happened between {first} and {last}?")
    assert found == expected or (first == last and found == (first, last))


@given(DAYS)
def test_the_week_of_a_day_holds_it_and_begins_on_a_monday(day: date) -> None:
    (one,) = expressions_of(f"the week of {day.day} {MONTHS[day.month - 1]} {day.year}", TODAY)
    assert one.period.first.weekday() == 0
    assert one.period.last - one.period.first == timedelta(6)
    assert one.period.first <= day <= one.period.last


@given(st.sampled_from(MONTHS), st.dates(FIRST, TODAY))
def test_a_month_without_a_year_never_lies_ahead(month: str, today: date) -> None:
    (one,) = expressions_of(f"in {month}", today)
    assert one.period.first <= today
    assert today - one.period.first <= timedelta(366)


@pytest.mark.parametrize(
    ("before", "then", "alone"),
    [
        ("What was said about reefs in October 2023?", "and in November?", "in November 2023?"),
        ("What was said about reefs in Q1 2022?", "And in Q2?", "in Q2 2022?"),
        ("What was said about reefs in 2021?", "and in May?", "in May 2021?"),
        ("What was said about reefs in October 2023?", "and in May 2020?", "in May 2020?"),
    ],
)
def test_the_year_of_the_conversation_is_kept(before: str, then: str, alone: str) -> None:
    found = standalone(then, [Turn(question=before)], ARCHIVE, TODAY)
    assert found.text == f"What was said about reefs {alone}"
