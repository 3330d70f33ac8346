"""Reading stories and their news items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, Exists, exists, func, select

from wellread.headlines import HEAD, headline
from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.stories.story_rows import (
    ItemPlace,
    ItemRecord,
    Story,
    StoryItem,
    item_of,
    place_of,
    story_of,
)
from wellread.store.schema.database import rows_in
from wellread.store.schema.tables import stories, story_items
from wellread.types import Span

BY_DATE = (
    story_items.c.published_at.asc().nulls_last(),
    story_items.c.document_id,
    story_items.c.start,
)


def latest(
    connection: Connection,
    collections: Sequence[str],
    since: datetime | None,
    until: datetime | None,
    limit: int | None,
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
        statement = statement.where(has_items(since, until))
    order = (stories.c.last_at.desc().nulls_last(), stories.c["items"].desc(), stories.c.id)
    found = connection.execute(statement.order_by(*order).limit(limit))
    return [story_of(row) for row in found]


def named(connection: Connection, prefix: str, collections: Sequence[str]) -> list[Story]:
    """Stories whose id is or begins with ``prefix``, at most two."""
    begins = stories.c.id.startswith(prefix, autoescape=True)
    statement = select(stories).where(stories.c.title != "", begins)
    if collections:
        statement = statement.where(stories.c.collection.in_(collections))
    found = connection.execute(statement.order_by(stories.c.id).limit(2))
    return [story_of(row) for row in found]


def told(connection: Connection, story_ids: Sequence[str]) -> list[Story]:
    """Those of the stories that have their text, in no particular order."""
    statement = select(stories).where(stories.c.title != "", stories.c.id.in_(lookup.VALUES))
    return [story_of(row) for row in rows_in(connection, statement, story_ids)]


def items(connection: Connection, story_id: str) -> list[ItemRecord]:
    """The items of a story, by date."""
    statement = select(story_items).where(story_items.c.story_id == story_id).order_by(*BY_DATE)
    return [item_of(row) for row in connection.execute(statement)]


def shown(connection: Connection, records: Sequence[ItemRecord]) -> list[StoryItem]:
    """Items with their documents and headlines."""
    facts = lookup.facts(connection, {item.document_id for item in records})
    heads = lookup.span_texts(
        connection, [(item.document_id, _head(item.span)) for item in records]
    )
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
        for item, head in zip(records, heads, strict=True)
    ]


def places(connection: Connection, document_ids: Iterable[str]) -> dict[str, list[ItemPlace]]:
    """Document id to the items of it that are in stories, in reading order."""
    columns = ("document_id", "start", "end", "version", "story_id", "repeats")
    statement = (
        select(*(story_items.c[name] for name in columns))
        .where(story_items.c.document_id.in_(lookup.VALUES), story_items.c.story_id.is_not(None))
        .order_by(story_items.c.document_id, story_items.c.start)
    )
    found: dict[str, list[ItemPlace]] = {}
    for row in rows_in(connection, statement, document_ids):
        found.setdefault(row.document_id, []).append(place_of(row))
    return found


def dates(connection: Connection, story_ids: Sequence[str]) -> dict[str, list[datetime]]:
    """Story id to the dates of its items, ascending; items without a date are left out."""
    statement = (
        select(story_items.c.story_id, story_items.c.published_at)
        .where(story_items.c.story_id.in_(lookup.VALUES), story_items.c.published_at.is_not(None))
        .order_by(story_items.c.published_at)
    )
    found: dict[str, list[datetime]] = {known: [] for known in story_ids}
    for row in rows_in(connection, statement, story_ids):
        found[row.story_id].append(row.published_at)
    return found


def count(connection: Connection, collection: str) -> tuple[int, int]:
    """How many stories the collection has, and how many items are in them."""
    statement = (
        select(func.count(stories.c.id.distinct()), func.count())
        .join_from(stories, story_items, story_items.c.story_id == stories.c.id)
        .where(stories.c.collection == collection)
    )
    many, inside = connection.execute(statement).one()
    return int(many), int(inside)


def has_items(since: datetime | None = None, until: datetime | None = None) -> Exists:
    """Whether a story has items, of a time window where one is given."""
    which = [story_items.c.story_id == stories.c.id]
    if since:
        which.append(story_items.c.published_at >= since)
    if until:
        which.append(story_items.c.published_at <= until)
    return exists().where(*which)


def _head(span: Span) -> Span:
    return Span(start=span.start, end=min(span.end, span.start + HEAD))
