"""Stories and their news items: written at ingest, read by everything that shows or asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from sqlalchemy import (
    Connection,
    and_,
    delete,
    exists,
    insert,
    select,
    update,
)

from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.stories import story_reads
from wellread.store.catalogue.stories.story_rows import (
    ItemPlace,
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
    told_row,
)
from wellread.store.schema.database import AT_ONCE, CataloguePart, chunks
from wellread.store.schema.tables import documents, properties, stories, story_items

STREAM_ROWS = 2_000
Choose = Callable[[Sequence[ItemRecord]], Sequence[ItemRecord]]


class Stories(CataloguePart):
    """The stored side of stories."""

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
            .order_by(*story_reads.BY_DATE)
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

    def untold(self, collection: str) -> list[str]:
        """Stories that wait for their text, by id."""
        statement = (
            select(stories.c.id)
            .where(stories.c.collection == collection, stories.c.dirty.is_(True))
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
            items = story_reads.items(connection, story_id)
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
                now = {item.key: item.version for item in story_reads.items(connection, known)}
                if now == {item.key: item.version for item in seen}:
                    values = told_row(seen, text)
                    connection.execute(update(stories).where(stories.c.id == known).values(values))
                    taken += 1
        return taken

    def drop_empty(self, collection: str) -> int:
        """Delete stories without items; how many."""
        empty = and_(stories.c.collection == collection, ~story_reads.has_items())
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
        with self._database.read() as connection:
            return story_reads.latest(connection, collections, since, until, limit)

    def named(self, prefix: str, collections: Sequence[str] = ()) -> list[Story]:
        """Stories whose id is or begins with ``prefix``, at most two."""
        with self._database.read() as connection:
            return story_reads.named(connection, prefix, collections)

    def told(self, story_ids: Sequence[str]) -> list[Story]:
        """Those of the stories that have their text, in no particular order."""
        with self._database.read() as connection:
            return story_reads.told(connection, story_ids)

    def items(self, story_id: str) -> list[StoryItem]:
        """The items of a story, by date."""
        with self._database.read() as connection:
            return story_reads.shown(connection, story_reads.items(connection, story_id))

    def places(self, document_ids: Iterable[str]) -> dict[str, list[ItemPlace]]:
        """Document id to the items of it that are in stories, in reading order."""
        with self._database.read() as connection:
            return story_reads.places(connection, document_ids)

    def dates(self, story_ids: Sequence[str]) -> dict[str, list[datetime]]:
        """Story id to the dates of its items, ascending; items without a date are left out."""
        with self._database.read() as connection:
            return story_reads.dates(connection, story_ids)

    def count(self, collection: str) -> tuple[int, int]:
        """How many stories the collection has, and how many items are in them."""
        with self._database.read() as connection:
            return story_reads.count(connection, collection)


def mark_dirty(connection: Connection, document_ids: Iterable[str]) -> None:
    """These documents are about to change or go: forget their items, and all that stories tell.

    What a story tells may be words of any of its items, so that it is emptied until the next
    refresh. Stories left without items are deleted. Items that repeat one of these documents' are
    forgotten with all of their own document, and made again by the next refresh, as originals.
    """
    waiting = list(document_ids)
    done: set[str] = set()
    while waiting:
        ids = [known for known in waiting[:AT_ONCE] if known not in done]
        del waiting[:AT_ONCE]
        done.update(ids)
        mine = story_items.c.document_id.in_(ids)
        columns = (story_items.c.document_id, story_items.c.start, story_items.c.story_id)
        gone = connection.execute(select(*columns).where(mine)).all()
        connection.execute(delete(story_items).where(mine))
        touched = sorted({row.story_id for row in gone if row.story_id})
        for names in chunks(item_name((row.document_id, row.start)) for row in gone):
            copies = select(story_items.c.document_id).where(story_items.c.repeats.in_(names))
            for part in chunks(touched):
                inside = story_items.c.story_id.in_(part)
                waiting += connection.execute(copies.where(inside).distinct()).scalars()
        for part in chunks(touched):
            these = stories.c.id.in_(part)
            connection.execute(delete(stories).where(these, ~story_reads.has_items()))
            connection.execute(update(stories).where(these).values(**blank()))


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
