"""Collections: their sources, their counts and settings, and the words that describe them.

The words - speakers, authors, kinds, taxonomy, titles - are what questions may limit themselves
by. Each collection's are read as a whole, once, and again only when its documents change, so that
a question can be understood without a query per word. Every transaction that changes documents or
settings gives their collections another stamp (``touch``); a reader of any process that finds the
stamp it knows need not look at a document.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any, Generic
from uuid import uuid4

from sqlalchemy import Connection, Text, bindparam, cast, delete, func, insert, select, text, update

from wellread.identity import tagged_hash
from wellread.store.catalogue.documents.lookup import VALUES, put_properties
from wellread.store.schema.catalogue_values import KindCount, SourceRecord
from wellread.store.schema.database import CataloguePart, Database, T, chunks, made_of, rows_in
from wellread.store.schema.tables import (
    collections,
    documents,
    entities,
    job_items,
    passages,
    properties,
    sources,
)
from wellread.types import Kind

# The distinct values, from one look into the index for each: DISTINCT reads every row.
_COLLECTIONS = text(
    "WITH RECURSIVE there(name) AS (SELECT min(collection) FROM documents UNION ALL SELECT"
    " (SELECT min(collection) FROM documents WHERE collection > there.name) FROM there"
    " WHERE there.name IS NOT NULL) SELECT name FROM there WHERE name IS NOT NULL"
)


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
    published: tuple[date, date] | None


class HeldByCollection(Generic[T]):
    """What was made of each collection that was asked for. May be called from any thread."""

    def __init__(self, make: Callable[[Connection, str, str], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._held: dict[str, tuple[str, T]] = {}

    def of(
        self, connection: Connection, stamps: Mapping[str, str], collections: Sequence[str]
    ) -> list[T]:
        """What is made of the collections (none: of all) that have a stamp.

        The same object comes back as long as the stamp stays.
        """
        found = []
        for name in dict.fromkeys(collections or sorted(stamps)):
            if name in stamps:
                held = self._held.get(name)
                if held is None or held[0] != stamps[name]:
                    held = (stamps[name], self._make(connection, name, stamps[name]))
                    with self._lock:
                        self._held[name] = held
                found.append(held[1])
        return found


class Vocabularies(CataloguePart):
    """The words of each collection that was asked for. May be called from any thread."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held = HeldByCollection(_load)

    def of(self, collections: Sequence[str] = ()) -> list[CollectionWords]:
        """The words of the collections (none: of all) as they are now; unknown ones are left out.

        The same object comes back as long as nothing has changed.

        Raises:
            StoreError: the catalogue cannot be read.
        """
        with self._database.read() as connection:
            return self._held.of(connection, stamps_of(connection), collections)


def _load(connection: Connection, collection: str, stamp: str) -> CollectionWords:
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


def _published(connection: Connection, collection: str) -> tuple[date, date] | None:
    moments = (func.min(documents.c.published_at), func.max(documents.c.published_at))
    inside = documents.c.collection == collection
    first, last = connection.execute(select(*moments).where(inside)).one()
    return (first.date(), last.date()) if first and last else None


def stamps_of(connection: Connection) -> dict[str, str]:
    """Collection with documents to its stamp: another one whenever they or its settings change."""
    names = {_key(name): name for name in collection_names(connection)}
    stamps = dict.fromkeys(names.values(), "")
    for keys in chunks(names):
        rows = connection.execute(select(properties).where(properties.c.key.in_(keys)))
        stamps |= {names[key]: str(value) for key, value in rows}
    return stamps


def touch(connection: Connection, collections: Iterable[str]) -> None:
    """Give these collections another stamp; part of the transaction that changes them."""
    put_properties(connection, {_key(name): uuid4().hex for name in sorted(set(collections))})


def touch_documents(connection: Connection, document_ids: Iterable[str]) -> None:
    """``touch`` for the collections of these documents, as long as they are there."""
    touch(
        connection,
        (
            name
            for ids in chunks(document_ids)
            for name in connection.execute(
                select(documents.c.collection).where(documents.c.id.in_(ids)).distinct()
            ).scalars()
        ),
    )


def touch_all(connection: Connection) -> None:
    """``touch`` for every collection that has documents."""
    touch(connection, collection_names(connection))


def _key(collection: str) -> str:
    """Says nothing of the collection, so that nothing of it is left when it is removed."""
    return tagged_hash("words", collection)


class Collections(CataloguePart):
    """Settings of collections by name."""

    def settings(self, name: str) -> dict[str, Any] | None:
        """The settings of the collection, or None when it has none."""
        found = self._values(select(collections.c.settings).where(collections.c.name == name))
        return found[0] if found else None

    def set_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """Keep these settings; they take the place of earlier ones."""
        row = {"name": name, "settings": dict(settings), "updated_at": datetime.now(UTC)}
        with self._database.write() as connection:
            connection.execute(delete(collections).where(collections.c.name == name))
            connection.execute(insert(collections), row)
            touch(connection, [name])

    def forget(self, name: str) -> None:
        """Drop the settings of the collection; no error when it has none."""
        with self._database.write() as connection:
            connection.execute(delete(collections).where(collections.c.name == name))
            touch(connection, [name])


def source_records(connection: Connection, collection: str) -> dict[str, SourceRecord]:
    """Uri to what is known of each source of the collection."""
    statement = select(sources).where(sources.c.collection == collection)
    return {record.uri: record for record in made_of(SourceRecord, connection.execute(statement))}


def collection_names(connection: Connection) -> list[str]:
    """The name of every collection, sorted; far cheaper than with its counts."""
    return sorted(connection.execute(_COLLECTIONS).scalars())


def kind_counts(connection: Connection) -> list[KindCount]:
    """Counts of every kind in every collection, by name."""
    group = (documents.c.collection, documents.c.kind)
    sums = (func.sum(documents.c[name]).label(name) for name in ("passages", "characters"))
    statement = select(*group, func.count().label("documents"), *sums).group_by(*group)
    return made_of(KindCount, connection.execute(statement.order_by(*group)))


def documents_of_sources(
    connection: Connection, collection: str, uris: Iterable[str]
) -> dict[str, str]:
    """Document id to version of everything that the sources yielded."""
    statement = select(documents.c.id, documents.c.version).where(
        documents.c.collection == collection,
        documents.c.source_uri.in_(VALUES),
    )
    return {row.id: row.version for row in rows_in(connection, statement, uris)}


def origins(connection: Connection, document_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Collection and address of the sources that the documents are from."""
    statement = select(documents.c.collection, documents.c.source_uri).where(
        documents.c.id.in_(VALUES)
    )
    return {(row[0], row[1]) for row in rows_in(connection, statement, document_ids)}


def leave_out_emptied(connection: Connection, keys: Iterable[tuple[str, str]]) -> None:
    """Mark those of the sources as skipped of which no document is left."""
    for collection, uri in sorted(keys):
        if not documents_of_sources(connection, collection, [uri]):
            named = (sources.c.collection == collection, sources.c.uri == uri)
            connection.execute(update(sources).where(*named).values(status="skipped"))


def delete_sources(connection: Connection, collection: str, uris: Iterable[str]) -> None:
    """Delete the records of the sources themselves, and what job logs quote of them."""
    for names in chunks(uris):
        connection.execute(
            delete(sources).where(sources.c.collection == collection, sources.c.uri.in_(names))
        )
        connection.execute(
            update(job_items)
            .where(job_items.c.uri.in_(names), job_items.c.reason != "")
            .values(reason="")
        )


def record_sources(connection: Connection, records: Sequence[SourceRecord]) -> None:
    """Keep what was seen of each source, in place of what was known of it."""
    latest = {(record.collection, record.uri): record for record in records}
    if not latest:
        return
    named = (sources.c.collection == bindparam("c"), sources.c.uri == bindparam("u"))
    keys = [{"c": collection, "u": uri} for collection, uri in latest]
    connection.execute(delete(sources).where(*named), keys)
    now = datetime.now(UTC)
    rows = [asdict(record) | {"seen_at": record.seen_at or now} for record in latest.values()]
    connection.execute(insert(sources), rows)
