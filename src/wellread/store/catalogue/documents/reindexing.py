"""Records which index is live, the next one being built, pending vectors and pending index writes.

``next_passages`` covers what the next index may contain, so that the switch copies it.

Index writes are recorded before they begin, and the record is deleted when they are complete.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select, update

from wellread.codec import from_plain, to_plain
from wellread.errors import StoreError
from wellread.store.base import Fingerprint, IndexKey
from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.documents.collection_records import touch_all
from wellread.store.schema.database import CataloguePart, delete_rows, rows_in, rows_to_values
from wellread.store.schema.stored_values import PendingWrite, VersionKey, WriteAction
from wellread.store.schema.tables import (
    documents,
    index_writes,
    next_passages,
    passages,
    properties,
    vector_debts,
)
from wellread.types import Document, Passage

FINGERPRINT, EMBEDDER, SWITCHES, NEXT = "fingerprint", "embedder", "switches", "next_fingerprint"
BASE_ID = "base_id"  # distinguishes this base's indexes on a server from those of other bases
BASE_ID_BYTES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveIndex:
    """The index in use."""

    fingerprint: Fingerprint
    embedder: Mapping[str, str] = field(default_factory=dict)
    switches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One state of a document: its version, and the hash of its facts (title, date, tags)."""

    document: Document
    document_id: str
    version: str
    facts: str


class Reindexing(CataloguePart):
    """Reads and changes which index is live and the state of the next one."""

    # --- which index is live ---

    def live(self) -> LiveIndex | None:
        """The index in use; None before the first ingest."""
        with self._database.read() as connection:
            return _read_live(connection)

    def claim(self, index: LiveIndex) -> LiveIndex:
        """Make ``index`` the live index unless there is one; return the live index."""
        with self._database.write() as connection:
            live = _read_live(connection)
            if live is None:
                _make_live(connection, index)
            return live or index

    def base_id(self) -> str:
        """The id of this base, created on first use; a base made by ``import`` has another."""
        with self._database.read() as connection:
            value: str | None = lookup.property_of(connection, BASE_ID)
        if value is None:
            with self._database.write() as connection:
                value = lookup.property_of(connection, BASE_ID) or secrets.token_hex(BASE_ID_BYTES)
                lookup.put_properties(connection, {BASE_ID: value})
        return value

    # --- building the next index ---

    def attempt(self) -> Fingerprint | None:
        """The fingerprint of the index being built, or whose build was interrupted."""
        with self._database.read() as connection:
            plain = lookup.property_of(connection, NEXT)
        return from_plain(Fingerprint, plain) if plain is not None else None

    def begin(self, fingerprint: Fingerprint) -> None:
        """Start the build of an index with ``fingerprint``; discard what was staged before."""
        with self._database.write() as connection:
            for statement in _DISCARD_NEXT:
                connection.execute(statement)
            lookup.put_properties(connection, {NEXT: to_plain(fingerprint)})

    def abandon(self) -> None:
        """Discard the unfinished next index and what was staged for it."""
        self._run(*_DISCARD_NEXT)

    # --- its rows ---

    def live_hashes(self) -> dict[str, tuple[str, str]]:
        """The version and the facts hash of every live document, by id."""
        columns = (documents.c[name] for name in ("id", "version", "facts"))
        rows = self._rows(select(*columns).order_by(documents.c.id))
        return {row.id: (row.version, row.facts) for row in rows}

    def edition(self, document_id: str) -> Edition | None:
        """The live document; None if it is damaged or changes during the read."""
        with self._database.read() as connection:
            before = lookup.live_hashes(connection, [document_id])
            document = lookup.document(connection, document_id)
            after = lookup.live_hashes(connection, [document_id])
        if document is None or not before or before != after:
            return None
        version, facts = before[document_id]
        return Edition(document=document, document_id=document_id, version=version, facts=facts)

    def intend(self, passages_by_document: Iterable[Sequence[Passage]]) -> None:
        """Record the rows of documents that are about to be written to the next index."""
        rows = [
            lookup.passage_row(passage, ordinal)
            for document_passages in passages_by_document
            for ordinal, passage in enumerate(document_passages)
        ]
        if rows:
            with self._database.write() as connection:
                connection.execute(insert(next_passages), rows)

    def forget(self, document_ids: Iterable[str]) -> None:
        """Record that the next index has no rows of these documents."""
        with self._database.write() as connection:
            forget_staged(connection, document_ids)

    def passage_keys(self) -> Iterator[IndexKey]:
        """The key of every passage that the next index should contain, streamed."""
        columns = (next_passages.c[name] for name in ("id", "document_id", "version"))
        for row in self._stream(select(*columns)):
            yield IndexKey(passage_id=row.id, document_id=row.document_id, version=row.version)

    # --- the switch ---

    def switch(self, live: LiveIndex) -> LiveIndex:
        """Make the next index the live one, with its passages, in one transaction.

        Pending writes and pending vectors of the old index are deleted.
        """
        columns = [column.name for column in passages.c]
        staged = select(*(next_passages.c[name] for name in columns))
        with self._database.write() as connection:
            previous = _read_live(connection)
            for table in (passages, vector_debts, index_writes):
                connection.execute(delete(table))
            connection.execute(insert(passages).from_select(columns, staged))
            connection.execute(update(documents).values(passages=lookup.passage_count()))
            touch_all(connection)
            for statement in _DISCARD_NEXT:
                connection.execute(statement)
            new = replace(live, switches=previous.switches + 1 if previous else 0)
            _make_live(connection, new)
        return new


# One query, since it runs before and after every search.
_LIVE = select(properties).where(properties.c.key.in_((FINGERPRINT, EMBEDDER, SWITCHES)))
_DISCARD_NEXT = (delete(next_passages), delete(properties).where(properties.c.key == NEXT))


def _read_live(connection: Connection) -> LiveIndex | None:
    values: dict[str, Any] = {row.key: row.value for row in connection.execute(_LIVE)}
    if FINGERPRINT not in values:
        return None
    fingerprint = from_plain(Fingerprint, values[FINGERPRINT])
    embedder_record = values.get(EMBEDDER) or {}
    # Settings stored for another embedder do not apply to a fingerprint that was set alone.
    same_embedder = embedder_record.get("identity") == fingerprint.embedder
    return LiveIndex(
        fingerprint=fingerprint,
        embedder=embedder_record.get("settings", {}) if same_embedder else {},
        switches=values.get(SWITCHES, 0),
    )


def _make_live(connection: Connection, live: LiveIndex) -> None:
    embedder_record = {"identity": live.fingerprint.embedder, "settings": dict(live.embedder)}
    lookup.put_properties(
        connection,
        {
            FINGERPRINT: to_plain(live.fingerprint),
            EMBEDDER: embedder_record,
            SWITCHES: live.switches,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingVectors:
    """A version of a document whose ``passages`` still need vectors."""

    document_id: str
    version: str
    passages: int


class Vectors(CataloguePart):
    """Passages that still need vectors."""

    def next_pending(self, passages: int) -> list[PendingVectors]:
        """Pending documents with about ``passages`` passages in total, and at least one if any."""
        debts: list[PendingVectors] = []
        total = 0
        statement = select(vector_debts).order_by(vector_debts.c.document_id)
        for debt in rows_to_values(PendingVectors, self._rows(statement.limit(max(passages, 1)))):
            if debts and total + debt.passages > passages:
                break
            debts.append(debt)
            total += debt.passages
        return debts

    def completed(self, keys: Sequence[VersionKey]) -> None:
        """Record that the passages of these versions have their vectors."""
        with self._database.write() as connection:
            _drop(connection, vector_debts, keys)

    def pending_among(self, document_ids: Iterable[str]) -> set[str]:
        """The documents whose vectors are pending, so that only keyword search finds them."""
        statement = select(vector_debts).where(vector_debts.c.document_id.in_(lookup.VALUES))
        return {row.document_id for row in self._rows_in(statement, document_ids)}

    def waiting_sources(self, collection: str, uris: Iterable[str]) -> set[str]:
        """The sources with documents whose vectors are pending."""
        statement = (
            select(documents.c.source_uri)
            .join_from(vector_debts, documents, documents.c.id == vector_debts.c.document_id)
            .where(documents.c.collection == collection, documents.c.source_uri.in_(lookup.VALUES))
        )
        return {row.source_uri for row in self._rows_in(statement, uris)}

    def passages_pending(self) -> int:
        """The number of passages without a vector."""
        return int(self._values(select(func.sum(vector_debts.c.passages)))[0] or 0)


def add_pending_vectors(connection: Connection, debts: Sequence[PendingVectors]) -> None:
    """Record the vectors that these versions need, in place of those of older versions."""
    delete_rows(connection, vector_debts.c.document_id, (debt.document_id for debt in debts))
    rows = [asdict(debt) for debt in debts if debt.passages]
    if rows:
        connection.execute(insert(vector_debts), rows)


DELETED = "deleted_since_rewrite"


def plan_writes(
    connection: Connection, keys: Sequence[VersionKey], run: str = "", action: WriteAction = "write"
) -> None:
    """Record that index rows of these versions are about to be written, or must be removed."""
    settle(connection, keys)
    rows = [
        {"document_id": document_id, "version": version, "action": action, "run": run}
        for document_id, version in dict.fromkeys(keys)
    ]
    if rows:
        connection.execute(insert(index_writes), rows)


def check_planned(connection: Connection, keys: Iterable[VersionKey]) -> None:
    """Raise when records of planned writes are gone, as another process took this one for dead."""
    expected = set(keys)
    if not expected:
        return
    written = select(index_writes).where(index_writes.c.document_id.in_(lookup.VALUES))
    rows = rows_in(connection, written, (document_id for document_id, _ in expected))
    if not expected <= {(row.document_id, row.version) for row in rows}:
        raise StoreError(
            "this process lost the writers' lock, and another one removed what it was writing",
            hint="run the command again; nothing that it wrote is in use",
        )


def settle(connection: Connection, keys: Sequence[VersionKey]) -> None:
    """Record that the index rows of these versions are complete."""
    _drop(connection, index_writes, keys)


def forget_staged(connection: Connection, document_ids: Iterable[str]) -> None:
    """Delete the rows of these documents that are staged for the next index."""
    delete_rows(connection, next_passages.c.document_id, document_ids)


def note_deletion(connection: Connection) -> None:
    """Record that the file may still contain deleted bytes, until it is rewritten."""
    if lookup.property_of(connection, DELETED) is None:
        lookup.put_properties(connection, {DELETED: True})


def pending_writes(connection: Connection) -> list[PendingWrite]:
    """The versions whose index rows may be surplus or incomplete, ordered by document."""
    order = (index_writes.c.document_id, index_writes.c.version)
    return rows_to_values(PendingWrite, connection.execute(select(index_writes).order_by(*order)))


def _drop(connection: Connection, table: Table, keys: Sequence[VersionKey]) -> None:
    if keys:
        is_version = (table.c.document_id == bindparam("d"), table.c.version == bindparam("v"))
        rows = [{"d": document_id, "v": version} for document_id, version in keys]
        connection.execute(delete(table).where(*is_version), rows)
