from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update
from tests.store.made import kept

from wellread.identity import document_id, version_of
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.story_records import (
    ItemKey,
    ItemRecord,
    Stories,
    StoryText,
    SummarySentence,
    mark_dirty,
)
from wellread.store.schema.database import Database
from wellread.store.schema.tables import documents, stories
from wellread.types import Document, Span

NEWS = "news"
FIRST = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = "The ferry was sold. It leaves in May."
ALL = Span(start=0, end=len(TEXT))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    catalogue = Catalogue.open(tmp_path / "catalogue.db")
    for number in range(3):
        document = Document(
            collection=NEWS,
            uri=f"https://herald.example/{number}",
            kind="article",
            title=f"News {number}",
            text=TEXT,
            published_at=FIRST + timedelta(days=number),
        )
        catalogue.commit([kept(document)])
    catalogue.close()
    database = Database(tmp_path / "catalogue.db")
    yield database
    database.close()


@pytest.fixture
def stored(database: Database) -> Stories:
    return Stories(database)


def known(number: int) -> str:
    return document_id(NEWS, f"https://herald.example/{number}")


def item(number: int, story: str, repeats: ItemKey | None = None) -> ItemRecord:
    return ItemRecord(
        document_id=known(number),
        version=version_of(TEXT, ()),
        span=ALL,
        story_id=story,
        published_at=FIRST + timedelta(days=number),
        vector=b"123456",
        fingerprint=b"1234",
        repeats=repeats,
    )


def told(number: int) -> StoryText:
    sentence = Span(start=0, end=19)
    return StoryText(
        title="Ferry sold",
        summary=(SummarySentence(document_id=known(number), span=sentence, text=TEXT[:19]),),
        terms=("ferry", "sold"),
        centre=b"654321",
        scheme="words/1",
        sources=1,
        novelty=0.5,
    )


def tell(stored: Stories, story: str, items: Sequence[ItemRecord]) -> int:
    number = int(items[0].document_id == known(1))
    return stored.set_texts([(story, items, told(number))])


def test_documents_wait_until_their_items_are_kept(stored: Stories) -> None:
    waiting = stored.waiting(NEWS, ("article",))
    assert [one.document_id for one in waiting] == [known(0), known(1), known(2)]
    assert [one.published_at for one in waiting] == [FIRST + timedelta(days=n) for n in range(3)]
    stored.keep(NEWS, [item(1, "sty_a")])
    left = stored.waiting(NEWS, ("article",))
    assert [one.document_id for one in left] == [known(0), known(2)]
    assert stored.waiting(NEWS, ("page",)) == stored.waiting("other", ("article",)) == []


def test_a_document_of_another_date_waits_again(stored: Stories, database: Database) -> None:
    stored.keep(NEWS, [item(0, "sty_a"), item(1, "sty_a"), item(2, "sty_a")])
    for date in (FIRST + timedelta(days=9), None):
        with database.write() as connection:
            which = update(documents).where(documents.c.id == known(0))
            connection.execute(which.values(published_at=date))
        waiting = stored.waiting(NEWS, ("article",))
        assert [(one.document_id, one.published_at) for one in waiting] == [(known(0), date)]


def test_what_is_kept_comes_back_by_date(stored: Stories) -> None:
    items = [item(2, "sty_b"), item(0, "sty_a"), item(1, "sty_a", (known(0), 0))]
    stored.keep(NEWS, items)
    assert list(stored.placed(NEWS)) == [items[1], items[2], items[0]]
    assert list(stored.placed("other")) == []


def test_items_of_a_version_that_is_not_live_are_left_out(
    stored: Stories, database: Database
) -> None:
    with database.write() as connection:
        connection.execute(
            update(documents).where(documents.c.id == known(0)).values(version="ver_2")
        )
    stored.keep(NEWS, [item(0, "sty_a"), item(1, "sty_b")])
    assert [one.document_id for one in stored.placed(NEWS)] == [known(1)]
    assert stored.without_text(NEWS) == ["sty_b"]


def test_a_story_is_shown_when_it_is_told(stored: Stories) -> None:
    stored.keep(NEWS, [item(0, "sty_a"), item(1, "sty_a")])
    assert stored.latest() == []
    assert stored.without_text(NEWS) == ["sty_a"]
    material = stored.material("sty_a", lambda items: items[:1])
    assert [one.document_id for one in material.items] == [known(0), known(1)]
    assert list(material.texts) == [TEXT]
    assert {facts.title for facts in material.documents.values()} == {"News 0", "News 1"}
    assert tell(stored, "sty_a", material.items) == 1
    (story,) = stored.latest()
    text = told(0)
    assert (story.title, story.summary, story.terms) == (text.title, text.summary, text.terms)
    assert (story.centre, story.scheme) == (text.centre, text.scheme)
    assert (story.first_at, story.last_at) == (FIRST, FIRST + timedelta(days=1))
    assert (story.items, story.sources, story.novelty, story.dirty) == (2, 1, 0.5, False)
    assert stored.without_text(NEWS) == []
    assert stored.count(NEWS) == (1, 2)


def test_a_text_of_other_items_than_the_story_has_is_not_taken(stored: Stories) -> None:
    stored.keep(NEWS, [item(0, "sty_a")])
    seen = stored.material("sty_a", lambda items: items).items
    stored.keep(NEWS, [item(1, "sty_a")])
    assert tell(stored, "sty_a", seen) == 0
    assert stored.without_text(NEWS) == ["sty_a"]


def test_what_is_about_to_go_leaves_no_word_in_a_story(stored: Stories, database: Database) -> None:
    stored.keep(NEWS, [item(0, "sty_a"), item(1, "sty_a"), item(2, "sty_b")])
    tell(stored, "sty_a", stored.material("sty_a", lambda items: items).items)
    tell(stored, "sty_b", stored.material("sty_b", lambda items: items).items)
    with database.write() as connection:
        mark_dirty(connection, [known(0), known(2), "doc_unknown"])
        row = connection.execute(select(stories).where(stories.c.id == "sty_a")).one()
        left = connection.execute(select(stories.c.id)).scalars().all()
    assert (row.title, row.summary, row.terms, row.centroid) == ("", "[]", [], b"")
    assert row.dirty is True
    assert left == ["sty_a"]  # the other one had no more items
    assert [one.document_id for one in stored.placed(NEWS)] == [known(1)]


def test_copies_of_what_goes_are_put_again(stored: Stories) -> None:
    stored.keep(NEWS, [item(0, "sty_a"), item(1, "sty_a", (known(0), 0)), item(2, "sty_a")])
    stored.forget([known(0)])
    assert [one.document_id for one in stored.placed(NEWS)] == [known(2)]
    waiting = stored.waiting(NEWS, ("article",))
    assert [one.document_id for one in waiting] == [known(0), known(1)]


def test_places_are_those_of_items_in_stories(stored: Stories) -> None:
    stored.keep(NEWS, [item(0, "sty_a"), item(1, "sty_a", (known(0), 0))])
    found = stored.places([known(0), known(1), known(2)])
    assert set(found) == {known(0), known(1)}
    (place,) = found[known(1)]
    assert (place.key, place.span, place.story_id) == ((known(1), 0), ALL, "sty_a")
    assert place.repeats == (known(0), 0)
    assert stored.with_text(["sty_a"]) == []
    tell(stored, "sty_a", stored.material("sty_a", lambda items: items).items)
    assert [story.id for story in stored.with_text(["sty_a", "sty_b"])] == ["sty_a"]


def test_other_rules_drop_the_stories_of_their_collection_alone(stored: Stories) -> None:
    assert stored.begin(NEWS, "one") is False
    stored.keep(NEWS, [item(0, "sty_a")])
    assert stored.begin(NEWS, "one") is False
    assert stored.begin("other", "two") is False
    assert stored.count(NEWS) == (1, 1)
    assert stored.begin(NEWS, "two") is True
    assert stored.count(NEWS) == (0, 0)


def test_stories_of_a_time_window_have_news_in_it(stored: Stories) -> None:
    stored.keep(NEWS, [item(0, "sty_a"), item(2, "sty_a"), item(1, "sty_b")])
    for name in ("sty_a", "sty_b"):
        tell(stored, name, stored.material(name, lambda items: items).items)
    day = timedelta(days=1)
    assert [story.id for story in stored.latest()] == ["sty_a", "sty_b"]
    assert [story.id for story in stored.latest(limit=1)] == ["sty_a"]
    # The long story goes over the second day, but had no news on it.
    assert [story.id for story in stored.latest((), FIRST + day, FIRST + day)] == ["sty_b"]
    assert [story.id for story in stored.latest((), FIRST + 2 * day)] == ["sty_a"]
    assert [story.id for story in stored.latest((), None, FIRST)] == ["sty_a"]
    assert stored.latest(("other",)) == []
    assert len(stored.latest((NEWS, "other"))) == 2


def test_items_are_shown_with_headline_date_and_original(stored: Stories) -> None:
    stored.keep(NEWS, [item(1, "sty_a", (known(0), 0)), item(0, "sty_a")])
    shown = stored.items("sty_a")
    assert [one.title for one in shown] == ["News 0", "News 1"]
    assert [one.repeats for one in shown] == [None, (known(0), 0)]
    assert [one.span for one in shown] == [ALL, ALL]
    dates = stored.dates(["sty_a", "sty_b"])
    assert dates == {"sty_a": [FIRST, FIRST + timedelta(days=1)], "sty_b": []}
