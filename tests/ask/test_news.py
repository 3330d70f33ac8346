"""News is told from stories, within all limits; looking beyond the last days is told."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, jsonl

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.direct import news
from wellread.ask.retrieve.ranking import Found
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Answer, Question
from wellread.values.question import Analysis, Constraint

TODAY = datetime.now(UTC)
NEWS = Filters(collections=("news",))
OSPREY = "What is the latest news about the ferry Osprey?"
ITEMS = (
    ("Ferry Osprey is full", 3, "Ada Moss", "The ferry Osprey was full, as never before."),
    ("Ferry Osprey is back", 9, "Bo Reed", "The ferry Osprey is back with a new engine."),
    ("Ferry Osprey breaks down", 500, "Ada Moss", "The ferry Osprey broke down at the pier."),
    ("Rye bread wins prize", 400, "Bo Reed", "The bakery won a prize for rye bread, caraway."),
    ("Night tram starts", 5, "Ada Moss", "The night tram started, without the mayor."),
)


def day(ago: int) -> str:
    return f"{TODAY - timedelta(days=ago):%Y-%m-%d}"


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    lines = [
        {"title": title, "published_at": day(ago), "author": author, "text": text,
         "url": f"https://a.example/{number}"}
        for number, (title, ago, author, text) in enumerate(ITEMS)
    ]  # fmt: skip
    secret = {**lines[0], "title": "Secret Osprey", "url": "https://b.example/1"}
    return make_home(news={"news.jsonl": jsonl(lines)}, club={"club.jsonl": jsonl([secret])})


def asking(
    text: str, *constraints: Constraint, filters: Filters = NEWS, subject: str = "", most: int = 9
) -> Analysis:
    return Analysis(
        question=text,
        type="factual",
        terms=(),
        names=(),
        filters=filters,
        constraints=constraints,
        subject=subject or "ferry Osprey",
        max_clusters=most,
    )


def days(first: int, last: int) -> Filters:
    """From so many days ago to so many."""
    return Filters(
        published_from=TODAY - timedelta(days=first), published_to=TODAY - timedelta(days=last)
    )


def titles(found: Found | None) -> list[str]:
    assert found is not None
    return [hit.document.title for hit in found.hits]


def test_stories_of_the_last_days_come_first(kb: KnowledgeBase) -> None:
    found = news(kb, asking(OSPREY))
    assert set(titles(found)[:2]) == {"Ferry Osprey is full", "Ferry Osprey is back"}
    assert found is not None
    assert found.notes == ()
    assert "Ferry Osprey" in found.strategy
    assert found.clusters >= 1
    assert "Secret Osprey" not in titles(found)


def test_where_the_last_days_tell_nothing_all_dates_are_searched_and_that_is_told(
    kb: KnowledgeBase,
) -> None:
    found = news(kb, asking("Any news about rye bread?", subject="rye bread prize"))
    assert titles(found)[0] == "Rye bread wins prize"
    assert found is not None
    assert found.notes == (
        "no story of the last 30 days is about this, so all dates were searched",
    )


def test_the_asker_s_own_window_is_never_left(kb: KnowledgeBase) -> None:
    window = days(600, 350)
    own = Filters(
        collections=("news",),
        published_from=window.published_from,
        published_to=window.published_to,
    )
    found = news(kb, asking(OSPREY, filters=own))
    if found is not None:
        assert set(titles(found)) <= {"Ferry Osprey breaks down", "Rye bread wins prize"}
    nothing = Filters(collections=("news",), published_to=TODAY - timedelta(days=9_000))
    assert news(kb, asking(OSPREY, filters=nothing)) is None


async def test_the_answer_counts_the_stories_it_is_told_from(kb: KnowledgeBase) -> None:
    given: Answer = await final(answer(kb, Question(text=OSPREY, filters=NEWS)))
    assert given.usage.clusters >= 1
    assert date.fromisoformat(day(3)) in {
        one.published_at.date() for one in given.citations if one.published_at
    }
