"""Days: "on Monday" in a dated source is told with its date, where a date is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellread.answers import Citation, VerdictName
from wellread.ask.deliver.told_days import told_day
from wellread.types import Locator, Span

THURSDAY = datetime(2025, 9, 25, 7, 30, tzinfo=UTC)
ASKED = "When did the weir reopen?"


def cited(quote: str, published: datetime | None = THURSDAY, number: int = 1) -> Citation:
    return Citation(
        id=number,
        document_id="doc_1",
        version="v",
        title="The weir",
        url="",
        link="",
        kind="article",
        source_type="",
        published_at=published,
        relevance=1.0,
        locator=Locator(label=""),
        quote=quote,
        answer_span=Span(start=0, end=1),
        source_span=Span(start=0, end=len(quote)),
        verdict=VerdictName.SUPPORTED,
    )


@pytest.mark.parametrize(
    ("quote", "said", "day"),
    [
        ("The weir reopened on Monday.", "Monday", "22 September 2025"),
        ("The weir reopened on Friday.", "Friday", "19 September 2025"),
        ("The weir reopened this morning, Thursday.", "Thursday", "25 September 2025"),
        ("The weir reopened last Thursday.", "last Thursday", "18 September 2025"),
        ("The weir will reopen on Monday.", "Monday", "29 September 2025"),
        ("The weir reopens next Thursday.", "next Thursday", "2 October 2025"),
        ("The weir reopened yesterday.", "yesterday", "24 September 2025"),
        ("The weir opens tomorrow.", "tomorrow", "26 September 2025"),
    ],
)
def test_the_day_follows_from_the_date_of_the_source(quote: str, said: str, day: str) -> None:
    assert told_day(ASKED, [cited(quote)]) == f" (“{said}” is {day}, by the date of [1].)"


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who reopened the weir?", "Ana Holm reopened the weir on Monday."),
        (ASKED, "The weir is open every Monday."),
        (ASKED, "The weir reopened on Monday, 22 September."),
        (ASKED, "The weir is open from Monday to Friday."),
        (ASKED, "The weir is open on Mondays."),
        (ASKED, "The weir reopens this Monday."),
        (ASKED, "The weir reopened in 2021."),
    ],
)
def test_where_no_date_is_asked_for_or_no_one_day_is_meant_nothing_is_added(
    question: str, quote: str
) -> None:
    assert told_day(question, [cited(quote)]) == ""


def test_a_source_without_a_date_tells_no_day() -> None:
    assert told_day(ASKED, [cited("The weir reopened on Monday.", None)]) == ""


def test_the_citation_that_tells_the_day_is_named() -> None:
    both = [cited("The weir is old.", number=1), cited("It reopened on Monday.", number=2)]
    assert told_day(ASKED, both).endswith("by the date of [2].)")


def test_where_no_time_is_told_the_date_of_the_source_is() -> None:
    told = told_day(ASKED, [cited("The weir is old.", None), cited("We reopen!", number=2)])
    assert told == " ([2] was published on 25 September 2025.)"
    assert told_day("Who reopened the weir?", [cited("We reopen!")]) == ""
