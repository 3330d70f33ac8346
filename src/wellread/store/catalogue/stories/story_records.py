"""Stories and their news items: written at ingest, read by everything that shows or asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sqlalchemy import Connection, and_, delete, exists, insert, select, update

from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.stories.story_rows import (
    BY_DATE,
    ItemRecord,
    Material,
    StoryReads,
    StoryText,
    WaitingDocument,
    has_items,
    item_name,
    item_of,
    item_row,
    items_of,
    told_row,
)
from wellread.store.schema.database import AT_ONCE, chunks, made_of, writing
from wellread.store.schema.tables import documents, properties, stories, story_items

# The columns of a story that hold words of its sources, emptied.
BLANK = {
    "title": "",
    "summary": "[]",
    "terms": [],
    "centroid": b"",
    "embedder": "",
    "novelty": 0.0,
    "dirty": True,
}
Choose = Callable[[Sequence[ItemRecord]], Sequence[ItemRecord]]


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
            connection.execute(delete(stories).where(these, ~has_items()))
            connection.execute(update(stories).where(these).values(**BLANK))


def _found(connection: Connection, collection: str, ids: set[str]) -> None:
    """Make the stories that are not there yet; those that are wait for another text."""
    for part in chunks(sorted(ids)):
        known = set(
            connection.execute(select(stories.c.id).where(stories.c.id.in_(part))).scalars()
        )
        connection.execute(update(stories).where(stories.c.id.in_(part)).values(dirty=True))
        fresh = [
            {"id": name, "collection": collection, "items": 0, "sources": 0, **BLANK}
            for name in part
            if name not in known
        ]
        if fresh:
            connection.execute(insert(stories), fresh)


class Stories(StoryReads):
    """The stored side of stories."""

    def begin(self, collection: str, rules: str) -> bool:
        """Stories of the collection are made by ``rules`` now; whether others were dropped."""
        key = f"stories/{collection}"
        known = self._values(select(properties.c.value).where(properties.c.key == key))
        if known == [rules]:
            return False
        with self._database.write() as connection:
            inside = select(documents.c.id).where(documents.c.collection == collection)
            connection.execute(delete(story_items).where(story_items.c.document_id.in_(inside)))
            connection.execute(delete(stories).where(stories.c.collection == collection))
            lookup.put_properties(connection, {key: rules})
        return bool(known)

    def drop_others(self, collection: str, kinds: Sequence[str]) -> None:
        """Forget the items of documents that are of other kinds than stories are made of."""
        statement = select(documents.c.id).where(
            documents.c.collection == collection,
            documents.c.kind.not_in(kinds),
            exists().where(story_items.c.document_id == documents.c.id),
        )
        if others := self._values(statement):
            self.forget(others)

    def waiting(self, collection: str, kinds: Sequence[str]) -> list[WaitingDocument]:
        """Documents whose live version has no items yet, or items of another date; by date."""
        when = documents.c.published_at
        done = exists().where(
            story_items.c.document_id == documents.c.id,
            story_items.c.version == documents.c.version,
            story_items.c.published_at.is_not_distinct_from(when),
        )
        statement = (
            select(
                documents.c.id.label("document_id"), documents.c.version, documents.c.published_at
            )
            .where(documents.c.collection == collection, documents.c.kind.in_(kinds), ~done)
            .order_by(when.asc().nulls_last(), documents.c.id)
        )
        return made_of(WaitingDocument, self._rows(statement))

    def placed(self, collection: str) -> Iterator[ItemRecord]:
        """Every item of the collection that is in a story, by date, streamed."""
        statement = (
            select(story_items)
            .join(stories, stories.c.id == story_items.c.story_id)
            .where(stories.c.collection == collection)
            .order_by(*BY_DATE)
        )
        return (item_of(row, ItemRecord) for row in self._stream(statement))

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
        return self._values(statement)

    def material(self, story_id: str, choose: Choose) -> Material:
        """What a story's text is made of, from one snapshot; it may have no items.

        Args:
            choose: picks the items whose text is wanted.
        """
        with self._database.read() as connection:
            items = items_of(connection, story_id)
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
                now = {item.key: item.version for item in items_of(connection, known)}
                if now == {item.key: item.version for item in seen}:
                    values = told_row(seen, text)
                    connection.execute(update(stories).where(stories.c.id == known).values(values))
                    taken += 1
        return taken

    def drop_empty(self, collection: str) -> int:
        """Delete stories without items; how many."""
        empty = and_(stories.c.collection == collection, ~has_items())
        with self._database.write() as connection:
            return connection.execute(delete(stories).where(empty)).rowcount

    forget = writing(mark_dirty)
