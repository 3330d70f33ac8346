"""Where documents name entities: written by the link pass, read for graph, lists and trends.

A mention counts only when the scan that found it read the live version of its document; so spans
never point into a text that has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
)

from wellread.store.catalogue.documents import chunks, rows_in
from wellread.store.catalogue.lookup import VALUES, facts, live_versions
from wellread.store.catalogue.schema import documents, entities, texts
from wellread.store.catalogue.schema_graph import mention_scans, mentions
from wellread.store.catalogue.values import VersionKey
from wellread.types import DocumentFacts, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity with what it is called, and the documents that describe it."""

    id: str
    title: str
    aliases: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """A place of a text that names an entity; ``name`` is what the entity calls itself there."""

    entity_id: str
    span: Span
    name: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unscanned:
    """A document that is to be searched for names."""

    document_id: str
    version: str
    characters: int


# --- writing ---------------------------------------------------------------------------------


def named_entities(connection: Connection, collection: str) -> list[NamedEntity]:
    """The entities of the collection, by id; of several documents with one id all names count."""
    statement = (
        select(entities.c.entity_id, entities.c.aliases, documents.c.title, documents.c.id)
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(documents.c.collection == collection)
        .order_by(entities.c.entity_id, documents.c.uri)
    )
    found: dict[str, list[Any]] = {}
    for row in connection.execute(statement):
        found.setdefault(row.entity_id, []).append(row)
    return [
        NamedEntity(
            id=known,
            title=rows[0].title,
            aliases=tuple(
                dict.fromkeys(
                    [
                        *(alias for row in rows for alias in row.aliases),
                        *(row.title for row in rows[1:]),
                    ]
                )
            ),
            documents=tuple(row.id for row in rows),
        )
        for known, rows in found.items()
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
    statement = (
        select(documents.c.id, documents.c.version, documents.c.characters)
        .outerjoin_from(documents, mention_scans, searched)
        .where(
            documents.c.collection == collection,
            documents.c.id > after,
            mention_scans.c.document_id.is_(None),
        )
        .order_by(documents.c.id)
        .limit(limit)
    )
    return [
        Unscanned(document_id=row.id, version=row.version, characters=row.characters)
        for row in connection.execute(statement)
    ]


def whole_texts(connection: Connection, ids: Iterable[str]) -> dict[str, str]:
    """Document id to its whole text."""
    statement = (
        select(texts.c.document_id, texts.c.text)
        .where(texts.c.document_id.in_(VALUES))
        .order_by(texts.c.document_id, texts.c.piece)
    )
    pieces: dict[str, list[str]] = {}
    for row in rows_in(connection, statement, ids):
        pieces.setdefault(row.document_id, []).append(row.text)
    return {known: "".join(found) for known, found in pieces.items()}


def keep(
    connection: Connection, names: str, found: Mapping[VersionKey, Sequence[FoundName]]
) -> int:
    """Put what was found in place of what was known of these documents; how many mentions.

    A document whose version is not live any more is left for the next pass.
    """
    live = live_versions(connection, [known for known, _ in found])
    kept = {key: places for key, places in found.items() if live.get(key[0]) == key[1]}
    for ids in chunks(known for known, _ in kept):
        connection.execute(delete(mentions).where(mentions.c.document_id.in_(ids)))
        connection.execute(delete(mention_scans).where(mention_scans.c.document_id.in_(ids)))
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


def forget_collection(connection: Connection, collection: str) -> None:
    """Drop every mention of the collection, and what is known of its scans."""
    inside = select(documents.c.id).where(documents.c.collection == collection)
    for table in (mentions, mention_scans):
        connection.execute(delete(table).where(table.c.document_id.in_(inside)))


def forget_entities(connection: Connection, collection: str, entity_ids: Iterable[str]) -> None:
    """Drop the mentions of these entities in the collection's documents."""
    inside = select(documents.c.id).where(documents.c.collection == collection)
    for ids in chunks(dict.fromkeys(entity_ids)):
        connection.execute(
            delete(mentions).where(
                mentions.c.entity_id.in_(ids), mentions.c.document_id.in_(inside)
            )
        )


def forget_described(connection: Connection, document_ids: Iterable[str]) -> None:
    """Drop the mentions of entities that only these documents describe; call it before they go."""
    ids = set(document_ids)
    leaving: dict[str, dict[str, None]] = {}
    statement = (
        select(documents.c.collection, entities.c.entity_id)
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(documents.c.id.in_(VALUES))
    )
    for row in rows_in(connection, statement, ids):
        leaving.setdefault(row.collection, {})[row.entity_id] = None
    for collection, known in leaving.items():
        described = (
            select(entities.c.entity_id, documents.c.id)
            .join_from(entities, documents, documents.c.id == entities.c.document_id)
            .where(entities.c.entity_id.in_(VALUES), documents.c.collection == collection)
        )
        stays = {
            row.entity_id for row in rows_in(connection, described, known) if row.id not in ids
        }
        forget_entities(connection, collection, [one for one in known if one not in stays])


def has_mentions(connection: Connection, collection: str) -> bool:
    """Whether anything is left of earlier scans of the collection."""
    inside = documents.c.collection == collection
    scanned = exists().where(mention_scans.c.document_id == documents.c.id)
    named = exists().where(mentions.c.document_id == documents.c.id)
    statement = select(documents.c.id).where(inside, or_(scanned, named)).limit(1)
    return connection.execute(statement).first() is not None


# --- reading ---------------------------------------------------------------------------------


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
    """Every place of the document that names an entity which is there, in reading order."""
    columns = (*mentions.c, mention_scans.c.version, documents.c.published_at)
    described = entities.join(documents.alias("d"), documents.alias("d").c.id == 1)
    _ = described
    statement = (
        _live(select(*columns, documents.c.collection), ())
        .where(mentions.c.document_id == document_id)
        .order_by(mentions.c.ordinal)
    )
    return [_mention(row) for row in connection.execute(statement)]


def totals(connection: Connection, collections: Sequence[str]) -> dict[tuple[str, str], MentionTotal]:
    """(Collection, entity id) to how often it is named."""
    key = (documents.c.collection, mentions.c.entity_id)
    counts = (func.count(mentions.c.document_id.distinct()), func.count())
    statement = _live(select(*key, *counts), collections).group_by(*key)
    return {
        (collection, known): MentionTotal(documents=inside, mentions=count)
        for collection, known, inside, count in connection.execute(statement)
    }


def total_of(connection: Connection, collections: Sequence[str], entity_id: str) -> MentionTotal:
    """How often one entity is named."""
    counts = (func.count(mentions.c.document_id.distinct()), func.count())
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


def dated_counts(
    connection: Connection, collections: Sequence[str], entity_id: str
) -> list[tuple[datetime, int]]:
    """The publication date of each document that names the entity and has one, and how often."""
    statement = (
        _live(select(documents.c.published_at, func.count()), collections)
        .where(mentions.c.entity_id == entity_id, documents.c.published_at.is_not(None))
        .group_by(documents.c.id, documents.c.published_at)
        .order_by(documents.c.published_at)
    )
    return [(moment, count) for moment, count in connection.execute(statement)]


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
