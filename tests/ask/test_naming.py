"""A question's time, where a passage names it itself."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.retrieve.search import period_named, search_within
from wellread.kb import KnowledgeBase
from wellread.types import Filters, Span
from wellread.values.question import Analysis, Constraint

PAGES = {
    "bridge.md": "---\ntitle: Bridge\ndate: 2024-05-02\n---\n\nThe bridge opened.\n",
    "fund.md": "# Fund\n\nIn 2024 the fund paid for the tower that opened.\n",
    "later.md": "---\ntitle: Later\ndate: 2025-01-09\n---\n\nThe mill opened in May 2024.\n",
    "other.md": "---\ntitle: Other\ndate: 2025-02-01\n---\n\nThe market opened.\n",
    "report.md": "# Report\n\nThe lighthouse opened in July 2023.\n",
    "undated.md": "# Undated\n\nThe crane opened.\n",
}


def window(first: tuple[int, int, int], last: tuple[int, int, int]) -> Filters:
    return Filters(
        published_from=datetime(*first, tzinfo=UTC),
        published_to=datetime(*last, 23, 59, 59, tzinfo=UTC),
    )


YEAR = window((2024, 1, 1), (2024, 12, 31))


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(town=PAGES)


def found(
    kb: KnowledgeBase, question: str, filters: Filters
) -> tuple[set[str], tuple[Filters, ...]]:
    timed = Constraint(kind="time", span=Span(start=0, end=1), value="then", filters=filters)
    analysis = Analysis(
        question=question,
        type="factual",
        terms=("opened",),
        names=(),
        filters=Filters(collections=("town",)),
        constraints=(timed,),
    )
    made = search_within(kb, analysis, "opened", 10)
    return {hit.document.title for hit in made.hits}, tuple(one.filters for one in made.relaxed)


def test_what_names_the_time_is_found_beside_what_was_published_then(kb: KnowledgeBase) -> None:
    assert found(kb, "What opened in 2024?", YEAR) == ({"Bridge", "Fund", "Later"}, ())
    may = window((2024, 5, 1), (2024, 5, 31))
    assert found(kb, "What opened in May 2024?", may) == ({"Bridge", "Later"}, ())


def test_it_is_enough_where_nothing_was_published_then(kb: KnowledgeBase) -> None:
    july = window((2023, 7, 1), (2023, 7, 31))
    assert found(kb, "What opened in July 2023?", july) == ({"Report"}, ())
    june = window((2024, 6, 1), (2024, 6, 30))
    titles, relaxed = found(kb, "What opened in June 2024?", june)
    assert len(titles) == len(PAGES)  # nobody names it: the limit is let go of
    assert relaxed == (june,)


def test_what_was_said_then_was_published_then(kb: KnowledgeBase) -> None:
    assert found(kb, "Which articles say what opened in 2024?", YEAR)[0] == {"Bridge"}
    assert found(kb, "What was said to have opened in 2024?", YEAR)[0] == {"Bridge"}


@pytest.mark.parametrize(
    ("filters", "matching", "other"),
    [
        (YEAR, ["in 2024", "(2024)"], ["in 20245", "2023"]),
        (
            window((2024, 4, 1), (2024, 6, 30)),
            ["April 2024", "Jun 2024", "May, 2024", "2024-05-07"],
            ["July 2024", "2024", "2025-05"],
        ),
        (
            window((2023, 12, 1), (2024, 12, 31)),
            ["December 2023", "2024"],
            ["November 2023", "2023"],
        ),
        (
            window((2024, 5, 7), (2024, 5, 7)),
            ["7 May 2024", "May 7th, 2024", "2024-05-07", "7th of May 2024"],
            ["17 May 2024", "May 2024", "7 May 2023"],
        ),
    ],
)
def test_how_a_time_is_named(filters: Filters, matching: list[str], other: list[str]) -> None:
    named = period_named("What opened then?", filters)
    assert named is not None
    assert [text for text in matching if not named.search(text)] == []
    assert [text for text in other if named.search(text)] == []
