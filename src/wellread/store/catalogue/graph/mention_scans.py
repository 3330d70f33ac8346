"""Writing where documents name entities, and which documents were searched for which names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, insert, or_, select

from wellread.store.catalogue.documents.lookup import VALUES, live_versions
from wellread.store.schema.activity_tables import mention_scans, mentions
from wellread.store.schema.catalogue_values import VersionKey
from wellread.store.schema.database import Database, chunks, rows_in
from wellread.store.schema.document_tables import documents, entities, texts
from wellread.types import Span


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
class Unscanned:
    """A document that is to be searched for names."""

    document_id: str
    version: str
    characters: int


class MentionScans:
    """The stored side of the link pass. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def named_entities(self, collection: str) -> list[NamedEntity]:
        """The entities of the collection, by id."""
        with self._database.read() as connection:
            return named_entities(connection, collection)

    def unscanned(self, collection: str, names: str, after: str, limit: int) -> list[Unscanned]:
        """Documents whose live version was not searched with ``names``, by id, after an id."""
        with self._database.read() as connection:
            return unscanned(connection, collection, names, after, limit)

    def texts(self, document_ids: Iterable[str]) -> dict[str, str]:
        """Document id to the whole text of its live version; unknown ones are left out."""
        with self._database.read() as connection:
            return whole_texts(connection, document_ids)

    def keep(self, names: str, found: Mapping[VersionKey, Sequence[FoundName]]) -> int:
        """Put what was found in place of what was known; how many mentions. One transaction."""
        with self._database.write() as connection:
            return keep(connection, names, found)

    def forget(self, collection: str) -> bool:
        """Drop all mentions and scans of the collection; whether there were any."""
        with self._database.read() as connection:
            there = has_scans(connection, collection)
        if there:
            with self._database.write() as connection:
                forget_collection(connection, collection)
        return there


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


def has_scans(connection: Connection, collection: str) -> bool:
    """Whether anything is left of earlier scans of the collection."""
    inside = documents.c.collection == collection
    scanned = exists().where(mention_scans.c.document_id == documents.c.id)
    named = exists().where(mentions.c.document_id == documents.c.id)
    statement = select(documents.c.id).where(inside, or_(scanned, named)).limit(1)
    return connection.execute(statement).first() is not None
