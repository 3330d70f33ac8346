"""The words that describe the documents of a collection: what questions may limit themselves by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Text, cast, func, select

from wellread.store.schema.tables import documents, entities, passages
from wellread.types import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionWords:
    """What the documents of one collection are described with.

    Attributes:
        stamp: another one means that the words may have changed.
        speakers, authors: name as written to how many passages or documents have it.
        sorts: pairs of a kind and a source type that a document has.
        taxonomy: dimension to its values, each with the number of its documents.
        dated: (title or alias of an entity, or title of a document) to its date of publication;
            left out where two documents disagree.
        numbered: title that holds a number to the ids of the documents that are called so.
        sites: host of an address to the ids of the documents that were published there.
        published: the first and the last day of publication; None when nothing is dated.
    """

    collection: str
    stamp: str
    kinds: Mapping[Kind, int]
    source_types: Mapping[str, int]
    sorts: frozenset[tuple[Kind, str]]
    languages: Mapping[str, int]
    authors: Mapping[str, int]
    speakers: Mapping[str, int]
    taxonomy: Mapping[str, Mapping[str, int]]
    entity_types: Mapping[str, int]
    dated: Mapping[str, date]
    numbered: Mapping[str, tuple[str, ...]]
    sites: Mapping[str, tuple[str, ...]]
    published: tuple[date, date] | None


def words_of(connection: Connection, collection: str, stamp: str) -> CollectionWords:
    """The words of one collection, read as a whole."""
    inside = documents.c.collection == collection

    def counted(column: Any) -> dict[Any, int]:
        statement = select(column, func.count()).where(inside).group_by(column).order_by(column)
        return {value: count for value, count in connection.execute(statement) if value}

    # As text, because PostgreSQL cannot compare JSON.
    spoken = cast(passages.c.speakers, Text)
    speakers = connection.execute(
        select(spoken, func.count())
        .join_from(passages, documents, documents.c.id == passages.c.document_id)
        .where(inside)
        .group_by(spoken)
    )
    types = connection.execute(
        select(entities.c.entity_type, func.count())
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(inside)
        .group_by(entities.c.entity_type)
        .order_by(entities.c.entity_type)
    )
    sorts = connection.execute(
        select(documents.c.kind, documents.c.source_type).where(inside).distinct()
    )
    return CollectionWords(
        collection=collection,
        stamp=stamp,
        kinds=counted(documents.c.kind),
        source_types=counted(documents.c.source_type),
        sorts=frozenset((kind, name) for kind, name in sorts),
        languages=counted(documents.c.language),
        authors=_unfolded(counted(cast(documents.c.authors, Text)).items()),
        speakers=_unfolded((names, count) for names, count in speakers),
        taxonomy=_taxonomy(counted(cast(documents.c.taxonomy, Text))),
        entity_types={name: count for name, count in types if name},
        dated=_dated(connection, collection),
        numbered=_numbered(connection, collection),
        sites=_sites(connection, collection),
        published=_published(connection, collection),
    )


def _unfolded(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts per list of names (as JSON) to counts per name, by name."""
    found: dict[str, int] = {}
    for names, count in rows:
        for name in json.loads(names) if names else ():
            found[name] = found.get(name, 0) + count
    return dict(sorted(found.items()))


def _taxonomy(rows: Mapping[str, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for assigned, count in rows.items():
        for dimension, values in json.loads(assigned).items():
            counts = found.setdefault(dimension, {})
            for value in values:
                counts[value] = counts.get(value, 0) + count
    return {name: dict(sorted(values.items())) for name, values in sorted(found.items())}


def _dated(connection: Connection, collection: str) -> dict[str, date]:
    statement = (
        select(documents.c.title, documents.c.published_at, entities.c.aliases)
        .outerjoin_from(documents, entities, entities.c.document_id == documents.c.id)
        .where(documents.c.collection == collection, documents.c.published_at.is_not(None))
    )
    found: dict[str, date] = {}
    disputed = set()
    for title, moment, aliases in connection.execute(statement):
        for name in (title, *(aliases or ())):
            if found.setdefault(name, moment.date()) != moment.date():
                disputed.add(name)
    return {name: day for name, day in found.items() if name not in disputed}


def _numbered(connection: Connection, collection: str) -> dict[str, tuple[str, ...]]:
    statement = select(documents.c.title, documents.c.id).where(
        documents.c.collection == collection
    )
    found: dict[str, tuple[str, ...]] = {}
    for title, known in connection.execute(statement.order_by(documents.c.id)):
        if any(char.isdigit() for char in title):
            found[title] = (*found.get(title, ()), known)
    return found


def _sites(connection: Connection, collection: str) -> dict[str, tuple[str, ...]]:
    statement = select(documents.c.url, documents.c.id).where(
        documents.c.collection == collection, documents.c.url != ""
    )
    found: dict[str, list[str]] = {}
    for url, known in connection.execute(statement.order_by(documents.c.id)):
        host = urlsplit(url).hostname if "://" in url else None
        if host:
            found.setdefault(host, []).append(known)
    return {host: tuple(ids) for host, ids in found.items()}


def _published(connection: Connection, collection: str) -> tuple[date, date] | None:
    moments = (func.min(documents.c.published_at), func.max(documents.c.published_at))
    inside = documents.c.collection == collection
    first, last = connection.execute(select(*moments).where(inside)).one()
    return (first.date(), last.date()) if first and last else None
