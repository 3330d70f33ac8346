"""Reads and writes the records of sources, and reads what spans documents: names, counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from wellread.store.catalogue.documents.lookup import VALUES
from wellread.store.schema.activity_tables import job_items
from wellread.store.schema.catalogue_values import CollectionFacts, KindCount, SourceRecord
from wellread.store.schema.database import chunks, rows_in
from wellread.store.schema.document_tables import documents, entities, sources


def entity_names(connection: Connection, collections: Iterable[str]) -> dict[str, str]:
    """Case-folded id, title or alias of each entity to its id.

    Where two entities share a name, an id goes before a title and a title before an alias, and
    the smaller id goes first.
    """
    statement = (
        select(entities.c.entity_id, entities.c.aliases, documents.c.title)
        .join_from(entities, documents, documents.c.id == entities.c.document_id)
        .where(documents.c.collection.in_(VALUES))
    )
    rows = sorted(rows_in(connection, statement, collections), key=lambda row: row.entity_id)
    names: dict[str, str] = {}
    for row in rows:
        names.setdefault(row.entity_id.casefold(), row.entity_id)
    for row in rows:
        names.setdefault(row.title.casefold(), row.entity_id)
    for row in rows:
        for alias in row.aliases:
            names.setdefault(alias.casefold(), row.entity_id)
    names.pop("", None)
    return names


def source_records(connection: Connection, collection: str) -> dict[str, SourceRecord]:
    """Uri to what is known of the source."""
    statement = select(sources).where(sources.c.collection == collection)
    return {row.uri: SourceRecord(**row._mapping) for row in connection.execute(statement)}


def collection_names(connection: Connection) -> list[str]:
    """Every collection by name; one step along an index for each, however many documents."""
    names: list[str] = []
    known = documents.c.collection
    while True:
        later = (known > names[-1],) if names else ()
        name = connection.execute(select(func.min(known)).where(*later)).scalar()
        if name is None:
            return names
        names.append(name)


def collection_facts(connection: Connection) -> list[CollectionFacts]:
    """Every collection with its counts, by name."""
    statement = (
        select(documents.c.collection, func.count(), func.sum(documents.c.passages))
        .group_by(documents.c.collection)
        .order_by(documents.c.collection)
    )
    return [
        CollectionFacts(name=name, documents=count, passages=int(total))
        for name, count, total in connection.execute(statement)
    ]


def kind_counts(connection: Connection) -> list[KindCount]:
    """Counts of every kind in every collection, by name."""
    group = (documents.c.collection, documents.c.kind)
    sums = (func.sum(documents.c.passages), func.sum(documents.c.characters))
    statement = select(*group, func.count(), *sums).group_by(*group).order_by(*group)
    return [
        KindCount(
            collection=collection,
            kind=kind,
            documents=count,
            passages=int(parts),
            characters=int(characters),
        )
        for collection, kind, count, parts, characters in connection.execute(statement)
    ]


def documents_of_sources(
    connection: Connection, collection: str, uris: Iterable[str]
) -> dict[str, str]:
    """Document id to version of everything that the sources yielded."""
    statement = select(documents.c.id, documents.c.version).where(
        documents.c.collection == collection,
        documents.c.source_uri.in_(bindparam("values", expanding=True)),
    )
    return {row.id: row.version for row in rows_in(connection, statement, uris)}


def origins(connection: Connection, document_ids: Iterable[str]) -> set[tuple[str, str]]:
    """Collection and address of the sources that the documents are from."""
    statement = select(documents.c.collection, documents.c.source_uri).where(
        documents.c.id.in_(bindparam("values", expanding=True))
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
    """Write each record in place of what was known of that source."""
    now = datetime.now(UTC)
    latest = {(record.collection, record.uri): record for record in records}
    keys = [{"c": collection, "u": uri} for collection, uri in latest]
    if not keys:
        return
    connection.execute(
        delete(sources).where(
            sources.c.collection == bindparam("c"), sources.c.uri == bindparam("u")
        ),
        keys,
    )
    connection.execute(
        insert(sources),
        [
            {
                "collection": record.collection,
                "uri": record.uri,
                "size": record.size,
                "mtime_ns": record.mtime_ns,
                "digest": record.digest,
                "loader": record.loader,
                "status": record.status,
                "reason": record.reason,
                "seen_at": record.seen_at or now,
                "root": record.root,
                "etag": record.etag,
                "last_modified": record.last_modified,
                "poll_after": record.poll_after,
            }
            for record in latest.values()
        ],
    )
