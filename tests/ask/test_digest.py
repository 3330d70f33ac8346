"""What is new, with no subject: the newest stories or documents, told from the catalogue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, jsonl

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Answer, Question

TODAY = datetime.now(UTC)
NOT_RECENT = "nothing is from the last 30 days, so the newest of all dates is listed"
# Title, how many days ago, web host, text.
LATELY = (
    ("Ferry Osprey is full", 3, "herald", "The ferry Osprey was full on Monday. Nobody knows why."),
    ("Ferry Osprey full again", 2, "current", "The ferry Osprey was full on Tuesday, too."),
    ("Night tram starts", 9, "herald", "The night tram started without the mayor. It rained."),
    ("Rye bread wins prize", 200, "herald", "The bakery won a prize for its rye bread."),
    ("Rye bread for a prize", 240, "current", "The bakery sent rye bread in for a prize."),
)
LONG_AGO = (
    ("Market opens", 400, "herald", "The market hall opened with a brass band."),
    ("Bridge painted", 500, "herald", "The old bridge was painted green by volunteers."),
)
WHALES = ("calves", "songs", "winter", "tags", "noise", "food", "ships", "maps") * 3


def day(ago: int) -> str:
    return f"{TODAY - timedelta(days=ago):%Y-%m-%d}"


def articles(items: tuple[tuple[str, int, str, str], ...]) -> dict[str, str]:
    lines = [
        {"title": title, "published_at": day(ago), "text": text,
         "url": f"https://{host}.example/{number}"}
        for number, (title, ago, host, text) in enumerate(items)
    ]  # fmt: skip
    return {"news.jsonl": jsonl(lines)}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    whales = {
        f"{number}.md": f"---\ntitle: Bulletin {number}\ndate: {day(40 + number)}\n---\n\n"
        f"The whales and their {word} were seen again.\n"
        for number, word in enumerate(WHALES)
    }
    news = {"grey-isles": articles(LATELY), "old": articles(LONG_AGO)}
    return make_home(**news, bulletins=whales)


async def ask(kb: KnowledgeBase, text: str, collection: str = "grey-isles") -> Answer:
    limits = Filters(collections=(collection,))
    return await final(answer(kb, Question(text=text, filters=limits, fresh=True)))


def titles(given: Answer) -> list[str]:
    assert given.answered_by == "catalogue", given.text
    assert given.table is not None
    return [row[0] for row in given.table.rows]


NEWEST = ["Ferry Osprey is full", "Night tram starts"]


@pytest.mark.parametrize(
    "question",
    [
        "What's new?",
        "What happened lately?",
        "Give me the headlines",
        "What did I miss?",
    ],
)
async def test_the_newest_stories_of_the_last_days_are_told(
    kb: KnowledgeBase, question: str
) -> None:
    given = await ask(kb, question)
    assert titles(given) == NEWEST
    assert given.notes == ()
    assert given.confidence.band == "high"
    assert given.usage.clusters == 2


async def test_a_story_has_its_date_its_sources_and_a_sentence_that_is_cited(
    kb: KnowledgeBase,
) -> None:
    given = await ask(kb, "What's new?")
    assert given.table is not None
    assert given.table.columns == ("Title", "Date", "Sources", "Summary")
    first, second = given.sentences[1:]
    told = given.table.rows[0][3]
    assert told in {text.partition(". ")[0].rstrip(".") + "." for *_, text in LATELY}
    assert first.text == f"Ferry Osprey is full ({day(2)}; 2 sources): {told}"
    assert second.text == (
        f"Night tram starts ({day(9)}; 1 source): The night tram started without the mayor."
    )
    quotes = {one.id: one.quote for one in given.citations}
    assert quotes[first.citations[0]] == told
    assert len(first.citations) == 2
    assert quotes[second.citations[0]] == "The night tram started without the mayor."


async def test_where_nothing_is_recent_all_dates_are_told_with_a_note(kb: KnowledgeBase) -> None:
    given = await ask(kb, "What's new?", "old")
    assert titles(given) == ["Market opens", "Bridge painted"]
    assert given.notes == (NOT_RECENT,)
    assert given.confidence.band == "medium"
