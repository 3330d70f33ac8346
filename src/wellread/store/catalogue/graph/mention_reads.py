"""Reading where documents name entities, for the graph, lists and trends.

A mention counts only when the scan that found it read the live version of its document; so spans
never point into a text that has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, func, select

from wellread.store.catalogue.documents.lookup import VALUES, facts
from wellread.store.schema.activity_tables import mention_scans, mentions
from wellread.store.schema.database import rows_in
from wellread.store.schema.document_tables import documents
from wellread.types import DocumentFacts, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A place of a document's live version that names an entity of its collection."""

    document_id: str
    version: str
    entity_id: str
    span: Span
    name: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentioningDocument:
    """A document that names an entity: how often, and where first."""

    document: DocumentFacts
    mentions: int
    first: Span
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionTotal:
    """How many documents name an entity, and how often altogether."""

    documents: int
    mentions: int


def mentions_of(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int
) -> list[Mention]:
    """Places that name the entity: the newest documents first, each in reading order."""
    columns = (*mentions.c, mention_scans.c.version, documents.c.published_at)
    statement = (
        _live(select(*columns), collections)
        .where(mentions.c.entity_id == entity_id)
        .order_by(
            documents.c.published_at.desc().nulls_last(),
            documents.c.id,
            mentions.c.ordinal,
        )
        .limit(limit)
    )
    return [_mention(row) for row in connection.execute(statement)]


def mentions_in(connection: Connection, document_id: str) -> list[Mention]:
    """Every place of the document that names an entity, in reading order."""
    columns = (*mentions.c, mention_scans.c.version, documents.c.published_at)
    statement = (
        _live(select(*columns), ())
        .where(mentions.c.document_id == document_id)
        .order_by(mentions.c.ordinal)
    )
    return [_mention(row) for row in connection.execute(statement)]


def totals(
    connection: Connection, collections: Sequence[str]
) -> dict[tuple[str, str], MentionTotal]:
    """(Collection, entity id) to how often it is named."""
    key = (documents.c.collection, mentions.c.entity_id)
    counts: tuple[Any, ...] = (func.count(mentions.c.document_id.distinct()), func.count())
    statement = _live(select(*key, *counts), collections).group_by(*key)
    return {
        (collection, known): MentionTotal(documents=inside, mentions=count)
        for collection, known, inside, count in connection.execute(statement)
    }


def total_of(connection: Connection, collections: Sequence[str], entity_id: str) -> MentionTotal:
    """How often one entity is named."""
    counts: tuple[Any, ...] = (func.count(mentions.c.document_id.distinct()), func.count())
    statement = _live(select(*counts), collections).where(mentions.c.entity_id == entity_id)
    inside, count = connection.execute(statement).one()
    return MentionTotal(documents=inside, mentions=count)


def documents_mentioning(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int
) -> list[MentioningDocument]:
    """Documents that name the entity most often, newer ones first among equals."""
    count = func.count().label("count")
    statement = (
        _live(select(documents.c.id, count, func.min(mentions.c.ordinal)), collections)
        .where(mentions.c.entity_id == entity_id)
        .group_by(documents.c.id, documents.c.published_at)
        .order_by(count.desc(), documents.c.published_at.desc().nulls_last(), documents.c.id)
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    known = facts(connection, [row[0] for row in rows])
    first = _firsts(connection, entity_id, [row[0] for row in rows])
    return [
        MentioningDocument(
            document=known[document_id],
            mentions=many,
            first=Span(start=first[document_id].start, end=first[document_id].end),
            name=first[document_id].name,
        )
        for document_id, many, _ in rows
    ]


def _live(statement: Select[Any], collections: Sequence[str]) -> Select[Any]:
    """``statement`` over mentions in live versions, of some collections or of all."""
    joined = statement.select_from(
        mentions.join(documents, documents.c.id == mentions.c.document_id).join(
            mention_scans,
            and_(
                mention_scans.c.document_id == documents.c.id,
                mention_scans.c.version == documents.c.version,
            ),
        )
    )
    return joined.where(documents.c.collection.in_(collections)) if collections else joined


def _firsts(connection: Connection, entity_id: str, ids: Iterable[str]) -> dict[str, Any]:
    """Document id to the row of the first mention of the entity in it."""
    statement = (
        select(mentions)
        .where(mentions.c.entity_id == entity_id, mentions.c.document_id.in_(VALUES))
        .order_by(mentions.c.document_id, mentions.c.ordinal.desc())
    )
    return {row.document_id: row for row in rows_in(connection, statement, ids)}


def _mention(row: Any) -> Mention:
    return Mention(
        document_id=row.document_id,
        version=row.version,
        entity_id=row.entity_id,
        span=Span(start=row.start, end=row.end),
        name=row.name,
        published_at=row.published_at,
    )
