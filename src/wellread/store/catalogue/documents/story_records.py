"""Stories and their news items: written at ingest, read by everything that shows or asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Exists,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from wellread.store.catalogue.documents import lookup
from wellread.store.schema.database import AT_ONCE, CataloguePart, chunks, made_of, reading, writing
from wellread.store.schema.tables import documents, properties, stories, story_items
from wellread.text.sentences import HEAD, headline
from wellread.types import DocumentFacts, Span

ItemKey = tuple[str, int]  # (document id, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDocument:
    """A document whose live version was not cut into news items yet."""

    document_id: str
    version: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlace:
    """Where a news item stands - the part ``span`` of a version of a document -, and its story."""

    document_id: str
    version: str
    span: Span
    story_id: str
    repeats: ItemKey | None = None

    @property
    def key(self) -> ItemKey:
        """Names the item in its collection."""
        return self.document_id, self.span.start


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord(ItemPlace):
    """A news item as it is kept."""

    published_at: datetime | None
    vector: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySentence:
    """A sentence of a story's summary, and where it stands: ``text`` is verbatim."""

    document_id: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryText:
    """What is told of a story, made of its items.

    Attributes:
        terms: the words that set it apart, heaviest first, as they are written.
        centre: what the items have in common, as ``ingest/joining/story_clusters.py`` packs it.
        scheme: the rules by which the centre was made.
        sources: independent ones: web hosts, or documents that have none; copies not counted.
        novelty: 0-1, how little the newest item repeats what came before.
    """

    title: str
    summary: tuple[SummarySentence, ...]
    terms: tuple[str, ...]
    centre: bytes
    scheme: str
    sources: int
    novelty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story without its items.

    Attributes:
        dirty: something that it was made of changed or went; its text is made anew by the next
            run. Until then title, summary and terms may be empty.
        centre, scheme: as in ``StoryText``; empty until it is told.
    """

    id: str
    collection: str
    title: str
    summary: tuple[SummarySentence, ...]
    terms: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    items: int
    sources: int
    novelty: float
    dirty: bool
    centre: bytes
    scheme: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryItem:
    """A news item as it is shown."""

    document: DocumentFacts
    span: Span
    title: str
    published_at: datetime | None
    repeats: ItemKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a story's text is made of."""

    items: Sequence[ItemRecord]
    chosen: Sequence[ItemRecord]
    texts: Sequence[str]
    documents: dict[str, DocumentFacts]


# Two columns are called otherwise than what they hold now.
_RENAMED = {"centroid": "centre", "embedder": "scheme"}
_STORIES = select(*(one.label(_RENAMED.get(one.name, one.name)) for one in stories.c)).where(
    stories.c.title != ""
)
BY_DATE = (
    story_items.c.published_at.asc().nulls_last(),
    story_items.c.document_id,
    story_items.c.start,
)
Item = TypeVar("Item", bound=ItemPlace)


def item_row(item: ItemRecord) -> dict[str, Any]:
    """The row of an item."""
    named = ("document_id", "version", "story_id", "published_at", "vector", "fingerprint")
    return {name: getattr(item, name) for name in named} | {
        "start": item.span.start,
        "end": item.span.end,
        "repeats": item_name(item.repeats) if item.repeats else "",
    }


def item_of(row: Any, kind: type[Item]) -> Item:
    """The item, or its place, of a row."""
    plain = dict(row._mapping)
    span = Span(start=plain.pop("start"), end=plain.pop("end"))
    return kind(**plain | {"span": span, "repeats": key_of(plain["repeats"])})


def item_name(key: ItemKey) -> str:
    """``document_id:start``."""
    return f"{key[0]}:{key[1]}"


def key_of(name: str) -> ItemKey | None:
    """The key that ``item_name`` wrote; None for an empty name."""
    document_id, _, start = name.rpartition(":")
    return (document_id, int(start)) if document_id else None


def _story_of(row: Any) -> Story:
    summary = tuple(
        SummarySentence(document_id=known, span=Span(start=start, end=end), text=text)
        for known, start, end, text in json.loads(row.summary)
    )
    return Story(**{**row._mapping, "summary": summary, "terms": tuple(row.terms)})


def told_row(items: Sequence[ItemRecord], text: StoryText) -> dict[str, Any]:
    """The columns of a story that is told of these items."""
    dates = [item.published_at for item in items if item.published_at]
    lines = [[one.document_id, one.span.start, one.span.end, one.text] for one in text.summary]
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


def _shown(connection: Connection, story_id: str) -> list[StoryItem]:
    """The items of a story, by date, with their documents and headlines."""
    records = items_of(connection, story_id)
    facts = lookup.facts(connection, {item.document_id for item in records})
    heads = [
        (item.document_id, replace(item.span, end=min(item.span.end, item.span.start + HEAD)))
        for item in records
    ]
    return [
        StoryItem(
            document=document,
            span=item.span,
            title=headline(item.span, head, document.title, document.characters),
            published_at=item.published_at,
            repeats=item.repeats,
        )
        for item, head in zip(records, lookup.span_texts(connection, heads), strict=True)
        for document in [facts[item.document_id]]
    ]


def has_items(since: datetime | None = None, until: datetime | None = None) -> Exists:
    """Whether a story has items, of a time window where one is given."""
    which = [story_items.c.story_id == stories.c.id]
    if since:
        which.append(story_items.c.published_at >= since)
    if until:
        which.append(story_items.c.published_at <= until)
    return exists().where(*which)


class StoryReads(CataloguePart):
    """Stories as they are shown and asked for."""

    items = reading(_shown)

    def latest(
        self,
        collections: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Story]:
        """Stories with news in the window, of some collections or of all; the latest first."""
        order = (stories.c.last_at.desc().nulls_last(), stories.c["items"].desc(), stories.c.id)
        inside = _within(_of(collections), since, until).order_by(*order)
        return list(map(_story_of, self._rows(inside.limit(limit).offset(offset))))

    def many(
        self,
        collections: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """How many stories ``latest`` has without a limit."""
        inside = _within(_of(collections), since, until).subquery()
        return int(self._rows(select(func.count()).select_from(inside))[0][0])

    def named(self, prefix: str, collections: Sequence[str] = ()) -> list[Story]:
        """Stories whose id is or begins with ``prefix``, at most two."""
        statement = _of(collections).where(stories.c.id.startswith(prefix.lower(), autoescape=True))
        return list(map(_story_of, self._rows(statement.order_by(stories.c.id).limit(2))))

    def told(self, story_ids: Sequence[str]) -> list[Story]:
        """Those of the stories that have their text, in no particular order."""
        statement = _STORIES.where(stories.c.id.in_(lookup.VALUES))
        return list(map(_story_of, self._rows_in(statement, story_ids)))

    def places(self, document_ids: Iterable[str]) -> dict[str, list[ItemPlace]]:
        """Document id to the items of it that are in stories, in reading order."""
        columns = ("document_id", "start", "end", "version", "story_id", "repeats")
        inside = (story_items.c.document_id.in_(lookup.VALUES), story_items.c.story_id.is_not(None))
        statement = select(*(story_items.c[name] for name in columns)).where(*inside)
        in_order = statement.order_by(story_items.c.document_id, story_items.c.start)
        found: dict[str, list[ItemPlace]] = {}
        for row in self._rows_in(in_order, document_ids):
            found.setdefault(row.document_id, []).append(item_of(row, ItemPlace))
        return found

    def dates(self, story_ids: Sequence[str]) -> dict[str, list[datetime]]:
        """Story id to the dates of its items, ascending; items without a date are left out."""
        when = story_items.c.published_at
        dated = (story_items.c.story_id.in_(lookup.VALUES), when.is_not(None))
        statement = select(story_items.c.story_id, when).where(*dated).order_by(when)
        found: dict[str, list[datetime]] = {known: [] for known in story_ids}
        for story_id, moment in self._rows_in(statement, story_ids):
            found[story_id].append(moment)
        return found

    def count(self, collection: str) -> tuple[int, int]:
        """How many stories the collection has, and how many items are in them."""
        statement = (
            select(func.count(stories.c.id.distinct()), func.count())
            .join_from(stories, story_items, story_items.c.story_id == stories.c.id)
            .where(stories.c.collection == collection)
        )
        many, inside = self._rows(statement)[0]
        return many, inside


def _within(statement: Select[Any], since: datetime | None, until: datetime | None) -> Select[Any]:
    """Of the stories those with news in the window."""
    if since:
        statement = statement.where(stories.c.last_at >= since)
    if until:
        statement = statement.where(stories.c.first_at <= until)
    return statement.where(has_items(since, until)) if since or until else statement


def _of(collections: Sequence[str]) -> Select[Any]:
    return _STORIES.where(stories.c.collection.in_(collections)) if collections else _STORIES


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
        """What a story's text is made of, from one snapshot; it may have no items."""
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
