"""The records of sources: what each was when it was last read, and which documents it yielded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from wellread.store.schema.catalogue_values import SourceRecord
from wellread.store.schema.chunked import chunks, rows_in
from wellread.store.schema.document_tables import documents, sources
from wellread.store.schema.run_tables import job_items


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
