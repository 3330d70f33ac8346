"""Where documents name entities, and which documents were searched for which names.

A mention counts only when the scan that found it read the live version of its document; so spans
never point into a text that has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, exists, func, insert, or_, select

from wellread.store.catalogue.documents.lookup import (
    LIVE_MENTIONS,
    VALUES,
    facts,
    live_versions,
    whole_texts,
)
from wellread.store.catalogue.graph.entity_nodes import load_nodes
from wellread.store.schema.catalogue_values import VersionKey
from wellread.store.schema.database import CataloguePart, chunks, made_of, reading, rows_in, writing
from wellread.store.schema.tables import documents, entities, mention_scans, mentions
from wellread.types import DocumentFacts, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """A place of a text that names an entity; ``name`` is what the entity calls itself there."""

    entity_id: str
    span: Span
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention(FoundName):
    """A place of a document's live version that names an entity of its collection."""

    document_id: str
    version: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscanned:
    """A document that is to be searched for names."""

    document_id: str
    version: str
    characters: int


_COUNTS: tuple[Any, ...] = (
    func.count(mentions.c.document_id.distinct()).label("documents"),
    func.count().label("mentions"),
)


def mentions_of(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int = 100
) -> list[Mention]:
    """Places that name the entity: the newest documents first, each in reading order."""
    newest = (documents.c.published_at.desc().nulls_last(), documents.c.id, mentions.c.ordinal)
    statement = _places(collections).where(mentions.c.entity_id == entity_id)
    return _mentions(connection, statement.order_by(*newest).limit(limit))


def mentions_in(connection: Connection, document_id: str) -> list[Mention]:
    """Every place of the document that names an entity, in reading order."""
    statement = _places(()).where(mentions.c.document_id == document_id)
    return _mentions(connection, statement.order_by(mentions.c.ordinal))


def totals(
    connection: Connection, collections: Sequence[str]
) -> dict[tuple[str, str], MentionTotal]:
    """(Collection, entity id) to how often it is named, for all that are."""
    key = (documents.c.collection, mentions.c.entity_id)
    statement = _live(select(*key, *_COUNTS), collections).group_by(*key)
    return {
        (collection, known): MentionTotal(documents=inside, mentions=count)
        for collection, known, inside, count in connection.execute(statement)
    }


def total_of(connection: Connection, collections: Sequence[str], entity_id: str) -> MentionTotal:
    """How many documents name the entity, and how often altogether."""
    statement = _live(select(*_COUNTS), collections).where(mentions.c.entity_id == entity_id)
    return made_of(MentionTotal, connection.execute(statement))[0]


def documents_mentioning(
    connection: Connection, collections: Sequence[str], entity_id: str, limit: int = 20
) -> list[MentioningDocument]:
    """Documents that name the entity most often, newer ones first among equals."""
    count = func.count()
    statement = (
        _live(select(documents.c.id, count), collections)
        .where(mentions.c.entity_id == entity_id)
        .group_by(documents.c.id, documents.c.published_at)
        .order_by(count.desc(), documents.c.published_at.desc().nulls_last(), documents.c.id)
        .limit(limit)
    )
    counts = {row[0]: row[1] for row in connection.execute(statement)}
    backwards = (
        select(mentions)
        .where(mentions.c.entity_id == entity_id, mentions.c.document_id.in_(VALUES))
        .order_by(mentions.c.document_id, mentions.c.ordinal.desc())
    )
    first = {row.document_id: row for row in rows_in(connection, backwards, counts)}
    held = facts(connection, counts)
    return [
        MentioningDocument(
            document=held[known],
            mentions=many,
            first=Span(start=first[known].start, end=first[known].end),
            name=first[known].name,
        )
        for known, many in counts.items()
    ]


def _live(statement: Select[Any], collections: Sequence[str]) -> Select[Any]:
    """``statement`` over mentions in live versions, of some collections or of all."""
    joined = statement.select_from(LIVE_MENTIONS)
    return joined.where(documents.c.collection.in_(collections)) if collections else joined


def _places(collections: Sequence[str]) -> Select[Any]:
    columns = (*mentions.c, mention_scans.c.version, documents.c.published_at)
    return _live(select(*columns), collections)


def _mentions(connection: Connection, statement: Select[Any]) -> list[Mention]:
    return [
        Mention(
            document_id=row.document_id,
            version=row.version,
            entity_id=row.entity_id,
            span=Span(start=row.start, end=row.end),
            name=row.name,
            published_at=row.published_at,
        )
        for row in connection.execute(statement)
    ]


def unscanned(
    connection: Connection, collection: str, names: str, after: str, limit: int
) -> list[Unscanned]:
    """Documents whose live version was not searched with ``names``, by id, beyond ``after``."""
    searched = and_(
        mention_scans.c.document_id == documents.c.id,
        mention_scans.c.version == documents.c.version,
        mention_scans.c.names == names,
    )
    columns = (documents.c.id.label("document_id"), documents.c.version, documents.c.characters)
    statement = (
        select(*columns)
        .outerjoin_from(documents, mention_scans, searched)
        .where(
            documents.c.collection == collection,
            documents.c.id > after,
            mention_scans.c.document_id.is_(None),
        )
        .order_by(documents.c.id)
        .limit(limit)
    )
    return made_of(Unscanned, connection.execute(statement))


def keep(
    connection: Connection, names: str, found: Mapping[VersionKey, Sequence[FoundName]]
) -> int:
    """Put what was found in place of what was known of these documents; how many mentions.

    A document whose version is not live any more is left for the next pass.
    """
    live = live_versions(connection, [known for known, _ in found])
    kept = {key: places for key, places in found.items() if live.get(key[0]) == key[1]}
    for ids in chunks(known for known, _ in kept):
        for table in (mentions, mention_scans):
            connection.execute(delete(table).where(table.c.document_id.in_(ids)))
    rows = [
        {
            "document_id": known,
            "ordinal": ordinal,
            "entity_id": place.entity_id,
            "start": place.span.start,
            "end": place.span.end,
            "name": place.name,
        }
        for (known, _), places in kept.items()
        for ordinal, place in enumerate(places)
    ]
    if rows:
        connection.execute(insert(mentions), rows)
    scans = [{"document_id": known, "version": version, "names": names} for known, version in kept]
    if scans:
        connection.execute(insert(mention_scans), scans)
    return len(rows)


def forget_entities(connection: Connection, collection: str, entity_ids: Iterable[str]) -> None:
    """Drop the mentions of these entities in the collection's documents."""
    inside = mentions.c.document_id.in_(_inside(collection))
    for ids in chunks(dict.fromkeys(entity_ids)):
        connection.execute(delete(mentions).where(mentions.c.entity_id.in_(ids), inside))


def forget_described(connection: Connection, document_ids: Iterable[str]) -> None:
    """Drop the mentions of entities that only these documents describe; call it before they go."""
    ids = set(document_ids)
    leaving: dict[str, dict[str, None]] = {}
    described = select(documents.c.collection, entities.c.entity_id, documents.c.id).join_from(
        entities, documents, documents.c.id == entities.c.document_id
    )
    for row in rows_in(connection, described.where(documents.c.id.in_(VALUES)), ids):
        leaving.setdefault(row.collection, {})[row.entity_id] = None
    by_name = described.where(entities.c.entity_id.in_(VALUES))
    for collection, known in leaving.items():
        here = by_name.where(documents.c.collection == collection)
        stays = {row.entity_id for row in rows_in(connection, here, known) if row.id not in ids}
        forget_entities(connection, collection, [one for one in known if one not in stays])


def _inside(collection: str) -> Select[Any]:
    return select(documents.c.id).where(documents.c.collection == collection)


class MentionScans(CataloguePart):
    """The stored side of the link pass."""

    named_entities = reading(load_nodes)
    unscanned = reading(unscanned)
    texts = reading(whole_texts)
    keep = writing(keep)

    def forget(self, collection: str) -> bool:
        """Drop all mentions and scans of the collection; whether there were any."""
        tables = (mention_scans, mentions)
        left = (exists().where(table.c.document_id == documents.c.id) for table in tables)
        there = bool(self._rows(_inside(collection).where(or_(*left)).limit(1)))
        if there:
            inside = _inside(collection)
            self._run(*(delete(one).where(one.c.document_id.in_(inside)) for one in tables))
        return there
