"""Stories and their news items: written at ingest, read by everything that shows or asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Exists,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from wellread.headlines import HEAD, headline
from wellread.store.catalogue import lookup
from wellread.store.catalogue.batches import chunks, rows_in
from wellread.store.catalogue.database import Database
from wellread.store.catalogue.schema import documents, properties
from wellread.store.catalogue.schema_graph import stories, story_items
from wellread.store.catalogue.story_rows import (
    ItemRecord,
    Material,
    Story,
    StoryItem,
    StoryText,
    WaitingDocument,
    blank,
    item_name,
    item_of,
    item_row,
    story_of,
    told_row,
)
from wellread.types import Span

STREAM_ROWS = 2_000
BY_DATE = (
    story_items.c.published_at.asc().nulls_last(),
    story_items.c.document_id,
    story_items.c.start,
)

Choose = Callable[[Sequence[ItemRecord]], Sequence[ItemRecord]]


class Stories:
    """The stored side of stories. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- making ---

    def begin(self, collection: str, rules: str) -> bool:
        """Stories of the collection are made by ``rules`` now; whether others were dropped."""
        key = f"stories/{collection}"
        with self._database.read() as connection:
            found = connection.execute(select(properties.c.value).where(properties.c.key == key))
            before = found.scalar()
        if before == rules:
            return False
        with self._database.write() as connection:
            inside = select(documents.c.id).where(documents.c.collection == collection)
            connection.execute(delete(story_items).where(story_items.c.document_id.in_(inside)))
            connection.execute(delete(stories).where(stories.c.collection == collection))
            connection.execute(delete(properties).where(properties.c.key == key))
            connection.execute(insert(properties), {"key": key, "value": rules})
        return before is not None

    def drop_others(self, collection: str, kinds: Sequence[str]) -> None:
        """Forget the items of documents that are of other kinds than stories are made of."""
        statement = select(documents.c.id).where(
            documents.c.collection == collection,
            documents.c.kind.not_in(kinds),
            exists().where(story_items.c.document_id == documents.c.id),
        )
        with self._database.read() as connection:
            others = list(connection.execute(statement).scalars())
        if others:
            self.forget(others)

    def waiting(self, collection: str, kinds: Sequence[str]) -> list[WaitingDocument]:
        """Documents whose live version has no items yet, or items of another date; by date."""
        done = exists().where(
            story_items.c.document_id == documents.c.id,
            story_items.c.version == documents.c.version,
            story_items.c.published_at.is_not_distinct_from(documents.c.published_at),
        )
        statement = (
            select(documents.c.id, documents.c.version, documents.c.published_at)
            .where(documents.c.collection == collection, documents.c.kind.in_(kinds), ~done)
            .order_by(documents.c.published_at.asc().nulls_last(), documents.c.id)
        )
        with self._database.read() as connection:
            return [
                WaitingDocument(
                    document_id=row.id, version=row.version, published_at=row.published_at
                )
                for row in connection.execute(statement)
            ]

    def placed(self, collection: str) -> Iterator[ItemRecord]:
        """Every item of the collection that is in a story, by date, streamed."""
        statement = (
            select(story_items)
            .join(stories, stories.c.id == story_items.c.story_id)
            .where(stories.c.collection == collection)
            .order_by(*BY_DATE)
        )
        with self._database.read() as connection:
            streamed = connection.execution_options(yield_per=STREAM_ROWS)
            for row in streamed.execute(statement):
                yield item_of(row)

    def keep(self, collection: str, items: Sequence[ItemRecord]) -> None:
        """Keep the items of whole documents, and the stories that they found. One transaction.

        Items of a version that is not live any more are left out. Stories that are touched wait
        for their text.
        """
        with self._database.write() as connection:
            live = lookup.live_versions(connection, {item.document_id for item in items})
            kept = [item for item in items if live.get(item.document_id) == item.version]
            mark_dirty(connection, {item.document_id for item in kept})
            _found(connection, collection, {item.story_id for item in kept})
            if kept:
                connection.execute(insert(story_items), [item_row(item) for item in kept])

    def untold(self, collection: str, embedder: str) -> list[str]:
        """Stories that wait for their text, or whose centroid is of another embedder; by id."""
        statement = (
            select(stories.c.id)
            .where(
                stories.c.collection == collection,
                or_(stories.c.dirty.is_(True), stories.c.embedder != embedder),
            )
            .order_by(stories.c.id)
        )
        with self._database.read() as connection:
            return list(connection.execute(statement).scalars())

    def material(self, story_id: str, choose: Choose) -> Material:
        """What a story's text is made of, from one snapshot; it may have no items.

        Args:
            choose: picks the items whose text is wanted.
        """
        with self._database.read() as connection:
            items = _items(connection, story_id)
            chosen = list(choose(items))
            return Material(
                items=items,
                chosen=chosen,
                texts=lookup.span_texts(
                    connection, [(item.document_id, item.span) for item in chosen]
                ),
                documents=lookup.facts(connection, {item.document_id for item in items}),
            )

    def tell(self, told: Sequence[tuple[str, Sequence[ItemRecord], StoryText]]) -> int:
        """Give stories their texts, in one transaction; how many took them.

        Args:
            told: id, the items of which the text was made, and the text. A story whose items are
                others by now is left out, and waits on.
        """
        taken = 0
        with self._database.write() as connection:
            for known, seen, text in told:
                now = {item.key: item.version for item in _items(connection, known)}
                if now == {item.key: item.version for item in seen}:
                    values = told_row(seen, text)
                    connection.execute(update(stories).where(stories.c.id == known).values(values))
                    taken += 1
        return taken

    def drop_empty(self, collection: str) -> int:
        """Delete stories without items; how many."""
        empty = and_(stories.c.collection == collection, ~_has_items())
        with self._database.write() as connection:
            return connection.execute(delete(stories).where(empty)).rowcount

    def forget(self, document_ids: Iterable[str]) -> None:
        """``mark_dirty`` in a transaction of its own."""
        with self._database.write() as connection:
            mark_dirty(connection, document_ids)

    # --- reading ---

    def latest(
        self,
        collections: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> list[Story]:
        """Stories with news in the window, of some collections or of all; the latest first."""
        statement = select(stories).where(stories.c.title != "")
        if collections:
            statement = statement.where(stories.c.collection.in_(collections))
        if since:
            statement = statement.where(stories.c.last_at >= since)
        if until:
            statement = statement.where(stories.c.first_at <= until)
        if since or until:
            statement = statement.where(_has_items(since, until))
        order = (stories.c.last_at.desc().nulls_last(), stories.c["items"].desc(), stories.c.id)
        with self._database.read() as connection:
            return _stories(connection, statement.order_by(*order).limit(limit))

    def named(self, prefix: str, collections: Sequence[str] = ()) -> list[Story]:
        """Stories whose id is or begins with ``prefix``, at most two."""
        begins = stories.c.id.startswith(prefix, autoescape=True)
        statement = select(stories).where(stories.c.title != "", begins)
        if collections:
            statement = statement.where(stories.c.collection.in_(collections))
        with self._database.read() as connection:
            return _stories(connection, statement.order_by(stories.c.id).limit(2))

    def items(self, story_id: str) -> list[StoryItem]:
        """The items of a story, by date."""
        with self._database.read() as connection:
            return _shown(connection, _items(connection, story_id))

    def dates(self, story_ids: Sequence[str]) -> dict[str, list[datetime]]:
        """Story id to the dates of its items, ascending; items without a date are left out."""
        statement = (
            select(story_items.c.story_id, story_items.c.published_at)
            .where(
                story_items.c.story_id.in_(lookup.VALUES),
                story_items.c.published_at.is_not(None),
            )
            .order_by(story_items.c.published_at)
        )
        found: dict[str, list[datetime]] = {known: [] for known in story_ids}
        with self._database.read() as connection:
            for row in rows_in(connection, statement, story_ids):
                found[row.story_id].append(row.published_at)
        return found

    def count(self, collection: str) -> tuple[int, int]:
        """How many stories the collection has, and how many items are in them."""
        statement = (
            select(func.count(stories.c.id.distinct()), func.count())
            .join_from(stories, story_items, story_items.c.story_id == stories.c.id)
            .where(stories.c.collection == collection)
        )
        with self._database.read() as connection:
            many, items = connection.execute(statement).one()
        return int(many), int(items)


def mark_dirty(connection: Connection, document_ids: Iterable[str]) -> None:
    """These documents are about to change or go: forget their items, and all that stories tell.

    What a story tells may be words of any of its items, so that it is emptied until the next
    refresh. Stories left without items are deleted. Call it while the documents are there.
    """
    for ids in chunks(document_ids):
        mine = story_items.c.document_id.in_(ids)
        keys = select(story_items.c.document_id, story_items.c.start, story_items.c.story_id)
        gone = connection.execute(keys.where(mine)).all()
        if not gone:
            continue
        connection.execute(delete(story_items).where(mine))
        touched = sorted({row.story_id for row in gone if row.story_id})
        for part in chunks(touched):
            inside = stories.c.id.in_(part)
            connection.execute(delete(stories).where(inside, ~_has_items()))
            connection.execute(update(stories).where(inside).values(**blank()))
        for names in chunks(item_name((row.document_id, row.start)) for row in gone):
            copies = and_(
                story_items.c.story_id.in_({row.story_id for row in gone if row.story_id}),
                story_items.c.repeats.in_(names),
            )
            connection.execute(update(story_items).where(copies).values(repeats=""))


def _found(connection: Connection, collection: str, ids: set[str]) -> None:
    """Make the stories that are not there yet; those that are wait for another text."""
    for part in chunks(sorted(ids)):
        known = set(
            connection.execute(select(stories.c.id).where(stories.c.id.in_(part))).scalars()
        )
        connection.execute(update(stories).where(stories.c.id.in_(part)).values(dirty=True))
        fresh = [
            {"id": name, "collection": collection, "items": 0, "sources": 0, **blank()}
            for name in part
            if name not in known
        ]
        if fresh:
            connection.execute(insert(stories), fresh)


def _has_items(since: datetime | None = None, until: datetime | None = None) -> Exists:
    which = [story_items.c.story_id == stories.c.id]
    if since:
        which.append(story_items.c.published_at >= since)
    if until:
        which.append(story_items.c.published_at <= until)
    return exists().where(*which)


def _items(connection: Connection, story_id: str) -> list[ItemRecord]:
    statement = select(story_items).where(story_items.c.story_id == story_id).order_by(*BY_DATE)
    return [item_of(row) for row in connection.execute(statement)]


def _shown(connection: Connection, items: Sequence[ItemRecord]) -> list[StoryItem]:
    facts = lookup.facts(connection, {item.document_id for item in items})
    heads = [
        (
            item.document_id,
            Span(start=item.span.start, end=min(item.span.end, item.span.start + HEAD)),
        )
        for item in items
    ]
    return [
        StoryItem(
            document=facts[item.document_id],
            span=item.span,
            title=headline(
                item.span, head, facts[item.document_id].title, facts[item.document_id].characters
            ),
            published_at=item.published_at,
            repeats=item.repeats,
        )
        for item, head in zip(items, lookup.span_texts(connection, heads), strict=True)
    ]


def _stories(connection: Connection, statement: Select[Any]) -> list[Story]:
    return [story_of(row) for row in connection.execute(statement)]
