"""Stores stories and their news items: ingest writes them, pages and questions read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Exists, Select, and_, delete, exists, func, select, update

from wellread.store.catalogue.documents import lookup
from wellread.store.schema.database import (
    AT_ONCE,
    CataloguePart,
    chunks,
    insert_rows,
    reading,
    rows_to_values,
    writing,
)
from wellread.store.schema.tables import documents, properties, stories, story_items
from wellread.text.sentences import HEAD_CHARS, part_title
from wellread.types import DocumentFacts, Span

ItemKey = tuple[str, int]  # (document id, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDocument:
    """A document whose live version is not yet split into news items."""

    document_id: str
    version: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlace:
    """The place of a news item (``span`` in one version of a document), and its story."""

    document_id: str
    version: str
    span: Span
    story_id: str
    repeats: ItemKey | None = None

    @property
    def key(self) -> ItemKey:
        """The key that identifies the item."""
        return self.document_id, self.span.start


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord(ItemPlace):
    """A news item as stored."""

    published_at: datetime | None
    vector: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySentence:
    """A verbatim sentence of a story's summary, with its place in a document."""

    document_id: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryText:
    """The title, summary and statistics of a story, generated from its items.

    ``centre`` is their cluster centre, computed with the version ``scheme`` of the rules;
    ``sources`` counts web hosts (or documents) without copies; ``novelty`` (0-1): the share that
    only the newest item has.
    """

    title: str
    summary: tuple[SummarySentence, ...]
    terms: tuple[str, ...]
    centre: bytes
    scheme: str
    sources: int
    novelty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(StoryText):
    """A story without its items; ``dirty``: the next run generates its text again."""

    id: str
    collection: str
    first_at: datetime | None
    last_at: datetime | None
    items: int
    dirty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryItem:
    """A news item with its document and headline, for display."""

    document: DocumentFacts
    span: Span
    title: str
    published_at: datetime | None
    repeats: ItemKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMaterial:
    """The items, texts and documents from which a story's text is generated."""

    items: Sequence[ItemRecord]
    chosen: Sequence[ItemRecord]
    texts: Sequence[str]
    documents: dict[str, DocumentFacts]


# Two columns have outdated names.
_COLUMN_NAMES = {"centroid": "centre", "embedder": "scheme"}
_STORIES = select(
    *(column.label(_COLUMN_NAMES.get(column.name, column.name)) for column in stories.c)
).where(stories.c.title != "")
BY_DATE = (
    story_items.c.published_at.asc().nulls_last(),
    story_items.c.document_id,
    story_items.c.start,
)
Item = TypeVar("Item", bound=ItemPlace)


def item_row(item: ItemRecord) -> dict[str, Any]:
    """The database row of an item."""
    copied = ("document_id", "version", "story_id", "published_at", "vector", "fingerprint")
    return {name: getattr(item, name) for name in copied} | {
        "start": item.span.start,
        "end": item.span.end,
        "repeats": item_name(item.repeats) if item.repeats else "",
    }


def item_of(row: Any, kind: type[Item]) -> Item:
    """The item, or only its place, from a row."""
    values = dict(row._mapping)
    span = Span(start=values.pop("start"), end=values.pop("end"))
    return kind(**values | {"span": span, "repeats": key_of(values["repeats"])})


def item_name(key: ItemKey) -> str:
    """The key in the form ``document_id:start``."""
    return f"{key[0]}:{key[1]}"


def key_of(name: str) -> ItemKey | None:
    """The key in a name written by ``item_name``; None for an empty name."""
    document_id, _, start = name.rpartition(":")
    return (document_id, int(start)) if document_id else None


def _story_of(row: Any) -> Story:
    summary = tuple(
        SummarySentence(document_id=document_id, span=Span(start=start, end=end), text=text)
        for document_id, start, end, text in json.loads(row.summary)
    )
    return Story(**{**row._mapping, "summary": summary, "terms": tuple(row.terms)})


def text_columns(items: Sequence[ItemRecord], text: StoryText) -> dict[str, Any]:
    """The columns of a story with this text, generated from these items."""
    dates = [item.published_at for item in items if item.published_at]
    lines = [[part.document_id, part.span.start, part.span.end, part.text] for part in text.summary]
    return {
        "title": text.title,
        "summary": json.dumps(lines, ensure_ascii=False),
        "terms": list(text.terms),
        "centroid": text.centre,
        "embedder": text.scheme,
        "first_at": min(dates, default=None),
        "last_at": max(dates, default=None),
        "items": len(items),
        "sources": text.sources,
        "novelty": text.novelty,
        "dirty": False,
    }


def items_of(connection: Connection, story_id: str) -> list[ItemRecord]:
    """The items of a story, by date."""
    statement = select(story_items).where(story_items.c.story_id == story_id).order_by(*BY_DATE)
    return [item_of(row, ItemRecord) for row in connection.execute(statement)]


def _display_items(connection: Connection, story_id: str) -> list[StoryItem]:
    """The items of a story, by date, with their documents and headlines."""
    records = items_of(connection, story_id)
    facts = lookup.facts(connection, {item.document_id for item in records})
    heads = [
        (item.document_id, replace(item.span, end=min(item.span.end, item.span.start + HEAD_CHARS)))
        for item in records
    ]
    return [
        StoryItem(
            document=document,
            span=item.span,
            title=part_title(item.span, head, document.title, document.characters),
            published_at=item.published_at,
            repeats=item.repeats,
        )
        for item, head in zip(records, lookup.span_texts(connection, heads), strict=True)
        for document in [facts[item.document_id]]
    ]


def has_items(since: datetime | None = None, until: datetime | None = None) -> Exists:
    """The condition that a story has items, optionally within a time window."""
    conditions = [story_items.c.story_id == stories.c.id]
    if since:
        conditions.append(story_items.c.published_at >= since)
    if until:
        conditions.append(story_items.c.published_at <= until)
    return exists().where(*conditions)


def _within(statement: Select[Any], since: datetime | None, until: datetime | None) -> Select[Any]:
    """``statement`` limited to stories with items in the window."""
    if since:
        statement = statement.where(stories.c.last_at >= since)
    if until:
        statement = statement.where(stories.c.first_at <= until)
    return statement.where(has_items(since, until)) if since or until else statement


def _select(collections: Sequence[str]) -> Select[Any]:
    return _STORIES.where(stories.c.collection.in_(collections)) if collections else _STORIES


# Empty values for the columns of a story that contain words of its sources.
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
    """Delete the items of documents that are about to change, and the texts of their stories.

    A story's text may quote any of its items, so it is emptied until the next refresh. Stories
    left without items are deleted. Documents with items that repeat one of the deleted items lose
    all their items too; the next refresh creates those again, as originals.
    """
    queue = list(document_ids)
    processed: set[str] = set()
    while queue:
        ids = [document_id for document_id in queue[:AT_ONCE] if document_id not in processed]
        del queue[:AT_ONCE]
        processed.update(ids)
        in_documents = story_items.c.document_id.in_(ids)
        columns = (story_items.c.document_id, story_items.c.start, story_items.c.story_id)
        deleted = connection.execute(select(*columns).where(in_documents)).all()
        connection.execute(delete(story_items).where(in_documents))
        story_ids = sorted({row.story_id for row in deleted if row.story_id})
        for names in chunks(item_name((row.document_id, row.start)) for row in deleted):
            copies = select(story_items.c.document_id).where(story_items.c.repeats.in_(names))
            for batch in chunks(story_ids):
                in_stories = story_items.c.story_id.in_(batch)
                queue += connection.execute(copies.where(in_stories).distinct()).scalars()
        for batch in chunks(story_ids):
            in_batch = stories.c.id.in_(batch)
            connection.execute(delete(stories).where(in_batch, ~has_items()))
            connection.execute(update(stories).where(in_batch).values(**BLANK))


def _create_stories(connection: Connection, collection: str, ids: set[str]) -> None:
    """Create the stories that do not exist, and mark the existing ones for a new text."""
    for batch in chunks(sorted(ids)):
        existing = set(
            connection.execute(select(stories.c.id).where(stories.c.id.in_(batch))).scalars()
        )
        connection.execute(update(stories).where(stories.c.id.in_(batch)).values(dirty=True))
        new_rows = (
            {"id": name, "collection": collection, "items": 0, "sources": 0, **BLANK}
            for name in batch
            if name not in existing
        )
        insert_rows(connection, stories, new_rows)


class Stories(CataloguePart):
    """Reads and writes stories."""

    items = reading(_display_items)

    def latest(
        self,
        collections: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Story]:
        """Stories with items in the window, of some collections or of all, latest first."""
        order = (stories.c.last_at.desc().nulls_last(), stories.c["items"].desc(), stories.c.id)
        statement = _within(_select(collections), since, until).order_by(*order)
        return list(map(_story_of, self._rows(statement.limit(limit).offset(offset))))

    def count_latest(
        self,
        collections: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """The number of stories that ``latest`` returns without a limit."""
        in_window = _within(_select(collections), since, until).subquery()
        return int(self._rows(select(func.count()).select_from(in_window))[0][0])

    def named(self, prefix: str, collections: Sequence[str] = ()) -> list[Story]:
        """At most two stories whose id starts with ``prefix``."""
        query = _select(collections).where(stories.c.id.startswith(prefix.lower(), autoescape=True))
        return list(map(_story_of, self._rows(query.order_by(stories.c.id).limit(2))))

    def with_text(self, story_ids: Sequence[str]) -> list[Story]:
        """The stories among ``story_ids`` that have a text, in no particular order."""
        statement = _STORIES.where(stories.c.id.in_(lookup.VALUES))
        return list(map(_story_of, self._rows_in(statement, story_ids)))

    def places(self, document_ids: Iterable[str]) -> dict[str, list[ItemPlace]]:
        """The items of each document that belong to stories, in reading order, by document id."""
        columns = ("document_id", "start", "end", "version", "story_id", "repeats")
        placed = (story_items.c.document_id.in_(lookup.VALUES), story_items.c.story_id.is_not(None))
        statement = select(*(story_items.c[name] for name in columns)).where(*placed)
        in_order = statement.order_by(story_items.c.document_id, story_items.c.start)
        places: dict[str, list[ItemPlace]] = {}
        for row in self._rows_in(in_order, document_ids):
            places.setdefault(row.document_id, []).append(item_of(row, ItemPlace))
        return places

    def dates(self, story_ids: Sequence[str]) -> dict[str, list[datetime]]:
        """The dates of each story's dated items, ascending, by story id."""
        when = story_items.c.published_at
        dated = (story_items.c.story_id.in_(lookup.VALUES), when.is_not(None))
        statement = select(story_items.c.story_id, when).where(*dated).order_by(when)
        moments: dict[str, list[datetime]] = {key: [] for key in story_ids}
        for story_id, moment in self._rows_in(statement, story_ids):
            moments[story_id].append(moment)
        return moments

    def count(self, collection: str) -> tuple[int, int]:
        """The number of stories in the collection, and of the items in them."""
        statement = (
            select(func.count(stories.c.id.distinct()), func.count())
            .join_from(stories, story_items, story_items.c.story_id == stories.c.id)
            .where(stories.c.collection == collection)
        )
        story_count, item_count = self._rows(statement)[0]
        return story_count, item_count

    # --- written by ingest ---

    def begin(self, collection: str, rules: str) -> bool:
        """Set the rules for the collection's stories; return whether older stories were deleted."""
        key = f"stories/{collection}"
        earlier_rules = self._values(select(properties.c.value).where(properties.c.key == key))
        if earlier_rules == [rules]:
            return False
        with self._database.write() as connection:
            ids = select(documents.c.id).where(documents.c.collection == collection)
            connection.execute(delete(story_items).where(story_items.c.document_id.in_(ids)))
            connection.execute(delete(stories).where(stories.c.collection == collection))
            lookup.put_properties(connection, {key: rules})
        return bool(earlier_rules)

    def drop_others(self, collection: str, kinds: Sequence[str]) -> None:
        """Delete the items of documents whose kind is not among ``kinds``."""
        statement = select(documents.c.id).where(
            documents.c.collection == collection,
            documents.c.kind.not_in(kinds),
            exists().where(story_items.c.document_id == documents.c.id),
        )
        if others := self._values(statement):
            self.forget(others)

    def waiting(self, collection: str, kinds: Sequence[str]) -> list[WaitingDocument]:
        """Documents, by date, whose live version has no items, or items with another date."""
        when = documents.c.published_at
        has_items = exists().where(
            story_items.c.document_id == documents.c.id,
            story_items.c.version == documents.c.version,
            story_items.c.published_at.is_not_distinct_from(when),
        )
        statement = (
            select(
                documents.c.id.label("document_id"), documents.c.version, documents.c.published_at
            )
            .where(documents.c.collection == collection, documents.c.kind.in_(kinds), ~has_items)
            .order_by(when.asc().nulls_last(), documents.c.id)
        )
        return rows_to_values(WaitingDocument, self._rows(statement))

    def placed(self, collection: str) -> Iterator[ItemRecord]:
        """All items of the collection that belong to stories, by date, streamed."""
        statement = (
            select(story_items)
            .join(stories, stories.c.id == story_items.c.story_id)
            .where(stories.c.collection == collection)
            .order_by(*BY_DATE)
        )
        return (item_of(row, ItemRecord) for row in self._stream(statement))

    def keep(self, collection: str, items: Sequence[ItemRecord]) -> None:
        """Store all items of some documents, and create their new stories, in one transaction.

        Items of a version that is no longer live are skipped. The stories concerned are marked for
        a new text.
        """
        with self._database.write() as connection:
            live = lookup.live_versions(connection, {item.document_id for item in items})
            current = [item for item in items if live.get(item.document_id) == item.version]
            mark_dirty(connection, {item.document_id for item in current})
            _create_stories(connection, collection, {item.story_id for item in current})
            insert_rows(connection, story_items, map(item_row, current))

    def without_text(self, collection: str) -> list[str]:
        """The ids of the stories that need a new text."""
        statement = (
            select(stories.c.id)
            .where(stories.c.collection == collection, stories.c.dirty.is_(True))
            .order_by(stories.c.id)
        )
        return self._values(statement)

    def material(self, story_id: str, choose: Choose) -> StoryMaterial:
        """The material for a story's text, from one snapshot; it may have no items."""
        with self._database.read() as connection:
            items = items_of(connection, story_id)
            chosen = list(choose(items))
            return StoryMaterial(
                items=items,
                chosen=chosen,
                texts=lookup.span_texts(
                    connection, [(item.document_id, item.span) for item in chosen]
                ),
                documents=lookup.facts(connection, {item.document_id for item in items}),
            )

    def set_texts(self, texts: Sequence[tuple[str, Sequence[ItemRecord], StoryText]]) -> int:
        """Store texts of stories (id, items, text made from them); return the number stored.

        A story whose items have changed since is skipped, and still needs a text.
        """
        stored = 0
        with self._database.write() as connection:
            for key, items, text in texts:
                current = {item.key: item.version for item in items_of(connection, key)}
                if current == {item.key: item.version for item in items}:
                    values = text_columns(items, text)
                    connection.execute(update(stories).where(stories.c.id == key).values(values))
                    stored += 1
        return stored

    def drop_empty(self, collection: str) -> int:
        """Delete the stories without items; return their number."""
        empty = and_(stories.c.collection == collection, ~has_items())
        with self._database.write() as connection:
            return connection.execute(delete(stories).where(empty)).rowcount

    forget = writing(mark_dirty)
