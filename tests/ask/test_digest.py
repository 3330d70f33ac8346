"""What is new, with no subject: the newest stories or documents, told from the catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from wellread.ask.answer import answer, final
from wellread.ask.plan import catalogued
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
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


def articles(path: Path, items: tuple[tuple[str, int, str, str], ...]) -> Path:
    lines = [
        {"title": title, "published_at": day(ago), "text": text,
         "url": f"https://{host}.example/{number}"}
        for number, (title, ago, host, text) in enumerate(items)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("digest")
    whales = root / "whales"
    whales.mkdir()
    for number, word in enumerate(WHALES):
        head = f"---\ntitle: Bulletin {number}\ndate: {day(40 + number)}\n---\n\n"
        text = f"The whales and their {word} were seen again.\n"
        (whales / f"{number}.md").write_text(head + text, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(articles(root / "new.jsonl", LATELY))], collection="grey-isles")
        add(kb, [str(articles(root / "old.jsonl", LONG_AGO))], collection="old")
        add(kb, [str(whales)], collection="bulletins")
    return root / "home"


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


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
    assert given.table.columns == ("Title", "Date", "Sources", "Told")
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


@pytest.mark.parametrize(
    "question",
    [
        "What's new about the ferry?",
        "Any news from our town?",
        "What happened to the night tram?",
        "Who is new?",
        "How is the news written?",
    ],
)
def test_a_subject_is_left_to_the_search(kb: KnowledgeBase, question: str) -> None:
    limits = Filters(collections=("grey-isles",))
    known = vocabulary_of(kb, limits.collections)
    assert (
        catalogued(kb, analyse(Question(text=question, filters=limits), known, date.today()))
        is None
    )


async def test_after_an_earlier_question_the_subject_is_that_one_s(kb: KnowledgeBase) -> None:
    limits = Filters(collections=("grey-isles",))
    first = await final(answer(kb, Question(text="Why was the ferry full?", filters=limits)))
    leaning, alone = (
        Question(text=text, filters=limits, session_id=first.session_id)
        for text in ("Any updates?", "What's new?")
    )
    assert (await final(answer(kb, leaning))).answered_by != "catalogue"
    assert (await final(answer(kb, alone))).answered_by == "catalogue"


async def test_an_asked_time_is_kept_to_else_told(kb: KnowledgeBase) -> None:
    for ago in (200, 240):  # two items of one story
        given = await ask(kb, f"What happened in {TODAY - timedelta(days=ago):%B %Y}?")
        assert given.notes == ()
        assert given.table is not None
        ((_, date_of, sources, _),) = given.table.rows
        assert (date_of, sources) == (day(ago), "1 source")
        (cited,) = given.citations
        assert cited.published_at is not None
        assert f"{cited.published_at:%Y-%m-%d}" == day(ago)
    none = await ask(kb, "What happened in the last month?", "old")
    assert titles(none)[0] == "Market opens"
    assert none.relaxed


async def test_the_asker_s_limits_are_kept_to(kb: KnowledgeBase) -> None:
    until = TODAY - timedelta(days=100)
    limits = Filters(collections=("grey-isles",), published_to=until)
    given = await final(answer(kb, Question(text="What's new?", filters=limits, fresh=True)))
    assert given.table is not None
    assert [row[1:3] for row in given.table.rows] == [(day(200), "2 sources")]
    assert given.notes == ()
    none = replace_until(limits, TODAY - timedelta(days=9_000))
    empty = await final(answer(kb, Question(text="What's new?", filters=none, fresh=True)))
    assert empty.answered_by == "none"
    full = next(one for one in kb.catalogue.documents("grey-isles") if "again" in one.title)
    one = Filters(collections=("grey-isles",), document_ids=(full.id,))
    only = await final(answer(kb, Question(text="What's new?", filters=one, fresh=True)))
    assert only.table is not None
    assert only.table.documents == ((full.id,),)


def replace_until(limits: Filters, until: datetime) -> Filters:
    return Filters(collections=limits.collections, published_to=until)


async def test_documents_are_told_where_they_are_asked_for_or_no_story_is_there(
    kb: KnowledgeBase,
) -> None:
    given = await ask(kb, "What are the newest articles?")
    assert titles(given) == [
        "Ferry Osprey full again", "Ferry Osprey is full", "Night tram starts",
    ]  # fmt: skip
    assert given.usage.clusters == 0
    pages = await ask(kb, "What's new?", "bulletins")
    assert titles(pages) == [f"Bulletin {number}" for number in range(5)]
    assert pages.sentences[1].text.endswith(
        "page, markdown): The whales and their calves were seen again."
    )


async def test_no_more_are_told_than_asked_for(kb: KnowledgeBase) -> None:
    limits = Filters(collections=("grey-isles",))
    question = Question(text="What's new?", filters=limits, max_clusters=1, fresh=True)
    given = await final(answer(kb, question))
    assert titles(given) == NEWEST[:1]
    assert given.text.startswith(f"The newest story, of {day(2)}:")
