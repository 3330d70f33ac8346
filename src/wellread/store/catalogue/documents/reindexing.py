"""Which index is live, and the one that is being made beside it.

A document is listed in ``next_documents`` with its version once all its rows are in the index in
the making; without a version its rows may be there or half there. So ``next_passages`` always
says what that index may hold, and a killed attempt can be taken up where it ended.

What the index holds too much of or still lacks is written down first, and settled after.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import (
    Connection,
    FromClause,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from wellread.codec import from_plain, to_plain
from wellread.errors import StoreError
from wellread.store.base import Fingerprint, IndexKey
from wellread.store.catalogue.documents import lookup
from wellread.store.catalogue.documents.collection_records import touch_all
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.schema.database import CataloguePart, chunks, made_of
from wellread.store.schema.stored_values import PendingWrite, VersionKey, WriteAction
from wellread.store.schema.tables import (
    documents,
    index_writes,
    next_documents,
    next_passages,
    passages,
    properties,
    vector_debts,
)
from wellread.types import Document, Passage

FINGERPRINT, EMBEDDER, SWITCHES, NEXT = "fingerprint", "embedder", "switches", "next_fingerprint"
BASE_ID = "base_id"  # tells its indexes on a server from those of other bases
BASE_ID_BYTES = 6
UNFINISHED = ""  # in place of a version: not all rows are in the index yet


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveIndex:
    """The index in use."""

    fingerprint: Fingerprint
    embedder: Mapping[str, str] = field(default_factory=dict)
    switches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One state of a document: its version, and a hash of its facts (title, date, tags)."""

    document: Document
    document_id: str
    version: str
    facts: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much a set of documents is; ``passages`` as the live index has them."""

    documents: int = 0
    characters: int = 0
    passages: int = 0


class Reindexing(CataloguePart):
    """The live index and the next one."""

    # --- which index is live ---

    def live(self) -> LiveIndex | None:
        """The index in use; None before the first ingest."""
        with self._database.read() as connection:
            return _live(connection)

    def claim(self, wanted: LiveIndex) -> LiveIndex:
        """Make ``wanted`` the live index unless there is one; the live index."""
        with self._database.write() as connection:
            live = _live(connection)
            if live is None:
                _make_live(connection, wanted)
            return live or wanted

    def base_id(self) -> str:
        """The id of this base, made when first asked for; what ``import`` makes has another."""
        with self._database.read() as connection:
            known: str | None = lookup.property_of(connection, BASE_ID)
        if known is None:
            with self._database.write() as connection:
                known = lookup.property_of(connection, BASE_ID) or secrets.token_hex(BASE_ID_BYTES)
                lookup.put_properties(connection, {BASE_ID: known})
        return known

    # --- the attempt ---

    def attempt(self) -> Fingerprint | None:
        """What is being made, or was being made when it was stopped or killed."""
        with self._database.read() as connection:
            plain = lookup.property_of(connection, NEXT)
        return from_plain(Fingerprint, plain) if plain is not None else None

    def begin(self, fingerprint: Fingerprint) -> None:
        """An index of ``fingerprint`` is going to be made; what was staged is forgotten."""
        with self._database.write() as connection:
            for statement in _CLEARED:
                connection.execute(statement)
            lookup.put_properties(connection, {NEXT: to_plain(fingerprint)})

    def abandon(self) -> None:
        """No index is being made any more; what was staged is forgotten."""
        self._run(*_CLEARED)

    # --- how far it is ---

    def whole(self) -> Extent:
        """All live documents."""
        return self._extent(documents)

    def done(self) -> Extent:
        """The live documents that are in the next index already."""
        return self._extent(documents.join(next_documents, _CURRENT))

    def missing(self, after: str, limit: int) -> list[str]:
        """Ids of live documents that are not listed, in order, beyond ``after``."""
        statement = (
            select(documents.c.id)
            .outerjoin_from(
                documents, next_documents, next_documents.c.document_id == documents.c.id
            )
            .where(next_documents.c.document_id.is_(None), documents.c.id > after)
            .order_by(documents.c.id)
            .limit(limit)
        )
        return self._values(statement)

    def stale(self, limit: int) -> dict[str, list[str]]:
        """Listed documents that are not (any more) as they are live, with their staged versions."""
        statement = (
            select(next_documents.c.document_id)
            .outerjoin_from(next_documents, documents, _CURRENT)
            .where(documents.c.id.is_(None))
            .order_by(next_documents.c.document_id)
            .limit(limit)
        )
        staged = (
            select(next_passages.c.document_id, next_passages.c.version)
            .where(next_passages.c.document_id.in_(lookup.VALUES))
            .distinct()
        )
        found: dict[str, list[str]] = {known: [] for known in self._values(statement)}
        for document_id, version in self._rows_in(staged, found):
            found[document_id].append(version)
        return found

    def editions(self, document_ids: Iterable[str]) -> Iterator[Edition]:
        """The documents as they are live; those that go or change just now are left out."""
        for known in document_ids:
            with self._database.read() as connection:
                before = lookup.live_hashes(connection, [known])
                document = lookup.document(connection, known)
                after = lookup.live_hashes(connection, [known])
            if document is not None and before and before == after:
                version, facts = before[known]
                yield Edition(document=document, document_id=known, version=version, facts=facts)

    # --- staging ---

    def intend(self, new: Sequence[tuple[Edition, Sequence[Passage]]]) -> None:
        """The rows of these documents are about to be written to the next index."""
        listed = [
            {"document_id": edition.document_id, "version": UNFINISHED, "facts": edition.facts}
            for edition, _ in new
        ]
        rows = [
            lookup.passage_row(passage, ordinal)
            for _, parts in new
            for ordinal, passage in enumerate(parts)
        ]
        with self._database.write() as connection:
            if listed:
                connection.execute(insert(next_documents), listed)
            if rows:
                connection.execute(insert(next_passages), rows)

    def stage(self, keys: Sequence[VersionKey]) -> None:
        """All rows of these documents are in the next index."""
        if not keys:
            return
        statement = (
            update(next_documents)
            .where(next_documents.c.document_id == bindparam("d"))
            .values(version=bindparam("v"))
        )
        with self._database.write() as connection:
            connection.execute(statement, [{"d": known, "v": version} for known, version in keys])

    def doubt(self, document_ids: Iterable[str]) -> None:
        """The rows of these documents may be missing or wrong from now on."""
        listed = update(next_documents).values(version=UNFINISHED)
        held = next_documents.c.document_id
        self._run(*(listed.where(held.in_(ids)) for ids in chunks(document_ids)))

    def forget(self, document_ids: Iterable[str]) -> None:
        """The next index holds no rows of these documents."""
        self._run(
            *(
                delete(table).where(table.c.document_id.in_(ids))
                for ids in chunks(document_ids)
                for table in (next_passages, next_documents)
            )
        )

    def passage_keys(self) -> Iterator[IndexKey]:
        """The key of every passage that the next index should hold, streamed."""
        columns = (next_passages.c[name] for name in ("id", "document_id", "version"))
        for row in self._stream(select(*columns)):
            yield IndexKey(passage_id=row.id, document_id=row.document_id, version=row.version)

    def _extent(self, which: FromClause) -> Extent:
        sums = (func.sum(documents.c.characters), func.sum(documents.c.passages))
        ((count, characters, parts),) = self._rows(select(func.count(), *sums).select_from(which))
        return Extent(documents=count, characters=int(characters or 0), passages=int(parts or 0))

    # --- the switch ---

    def switch(self, live: LiveIndex) -> LiveIndex:
        """Make the next index the live one, with its passages, in one transaction.

        What was noted about the old one - rows to remove, vectors to come - is void.
        """
        columns = [column.name for column in passages.c]
        staged = select(*(next_passages.c[name] for name in columns))
        count = (
            select(func.count())
            .where(passages.c.document_id == documents.c.id)
            .correlate(documents)
            .scalar_subquery()
        )
        with self._database.write() as connection:
            before = _live(connection)
            for table in (passages, vector_debts, index_writes):
                connection.execute(delete(table))
            connection.execute(insert(passages).from_select(columns, staged))
            connection.execute(update(documents).values(passages=count))
            touch_all(connection)
            for statement in _CLEARED:
                connection.execute(statement)
            new = replace(live, switches=before.switches + 1 if before else 0)
            _make_live(connection, new)
        return new


# Asked before and after every search.
_LIVE = select(properties).where(properties.c.key.in_((FINGERPRINT, EMBEDDER, SWITCHES)))
_CLEARED = (
    delete(next_passages),
    delete(next_documents),
    delete(properties).where(properties.c.key == NEXT),
)
_CURRENT = and_(
    next_documents.c.document_id == documents.c.id,
    next_documents.c.version == documents.c.version,
    next_documents.c.facts == documents.c.facts,
)


def _live(connection: Connection) -> LiveIndex | None:
    found: dict[str, Any] = {row.key: row.value for row in connection.execute(_LIVE)}
    if FINGERPRINT not in found:
        return None
    fingerprint = from_plain(Fingerprint, found[FINGERPRINT])
    made_with = found.get(EMBEDDER) or {}
    # A fingerprint that was set alone does not go with what was noted for another one.
    known = made_with.get("identity") == fingerprint.embedder
    return LiveIndex(
        fingerprint=fingerprint,
        embedder=made_with.get("settings", {}) if known else {},
        switches=found.get(SWITCHES, 0),
    )


def _make_live(connection: Connection, live: LiveIndex) -> None:
    made_with = {"identity": live.fingerprint.embedder, "settings": dict(live.embedder)}
    lookup.put_properties(
        connection,
        {
            FINGERPRINT: to_plain(live.fingerprint),
            EMBEDDER: made_with,
            SWITCHES: live.switches,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorDebt:
    """A version of a document whose ``passages`` still need vectors."""

    document_id: str
    version: str
    passages: int


class Vectors(CataloguePart):
    """What is still to be embedded."""

    def owed(self, passages: int) -> list[VectorDebt]:
        """Debts of about ``passages`` passages altogether; at least one while there are any."""
        found: list[VectorDebt] = []
        total = 0
        statement = select(vector_debts).order_by(vector_debts.c.document_id)
        for debt in made_of(VectorDebt, self._rows(statement.limit(max(passages, 1)))):
            if found and total + debt.passages > passages:
                break
            found.append(debt)
            total += debt.passages
        return found

    def paid(self, keys: Sequence[VersionKey]) -> None:
        """The passages of these versions have their vectors."""
        with self._database.write() as connection:
            _drop(connection, vector_debts, keys)

    def owing(self, document_ids: Iterable[str]) -> set[str]:
        """Those of the documents that still wait for vectors: they are found by their words."""
        mine = vector_debts.c.document_id
        found: set[str] = set()
        for some in chunks(document_ids):
            found.update(self._values(select(mine).where(mine.in_(some))))
        return found

    def passages_owed(self) -> int:
        """How many passages still wait for their vector."""
        return int(self._values(select(func.sum(vector_debts.c.passages)))[0] or 0)


def owe(connection: Connection, debts: Sequence[VectorDebt]) -> None:
    """These versions were written without vectors; debts of older versions are void."""
    for ids in chunks(debt.document_id for debt in debts):
        connection.execute(delete(vector_debts).where(vector_debts.c.document_id.in_(ids)))
    rows = [asdict(debt) for debt in debts if debt.passages]
    if rows:
        connection.execute(insert(vector_debts), rows)


DELETED = "deleted_since_rewrite"


def plan_writes(connection: Connection, keys: Sequence[VersionKey], run: str = "") -> None:
    """Index rows of these versions are about to be written; committed when it returns."""
    _plan(connection, keys, "write", run)


def check_noted(connection: Connection, keys: Iterable[VersionKey]) -> None:
    """Refuse to go on when notes are gone: another process took this one for dead."""
    wanted = set(keys)
    if not wanted:
        return
    pair = select(index_writes.c.document_id, index_writes.c.version)
    found: set[VersionKey] = set()
    for ids in chunks(known for known, _ in wanted):
        rows = connection.execute(pair.where(index_writes.c.document_id.in_(ids)))
        found.update((row.document_id, row.version) for row in rows)
    if not wanted <= found:
        raise StoreError(
            "another process has cleaned up what this one was writing: it lost the writers' lock",
            hint="run it again; nothing of it is live",
        )


def plan_removals(connection: Connection, keys: Sequence[VersionKey]) -> None:
    """Rows of these versions are to be removed."""
    _plan(connection, keys, "remove", "")


def settle(connection: Connection, keys: Sequence[VersionKey]) -> None:
    """The index holds what it should of these versions."""
    _drop(connection, index_writes, keys)


def note_deletion(connection: Connection) -> None:
    """Something was deleted or replaced: the file may hold its bytes until it is rewritten."""
    if property_of(connection, DELETED) is None:
        put_properties(connection, {DELETED: True})


def pending_writes(connection: Connection) -> list[PendingWrite]:
    """Index rows that may be there and should not, or may be half there; in a repeatable order."""
    order = (index_writes.c.document_id, index_writes.c.version)
    return made_of(PendingWrite, connection.execute(select(index_writes).order_by(*order)))


def _plan(
    connection: Connection, keys: Sequence[VersionKey], action: WriteAction, run: str
) -> None:
    settle(connection, keys)
    rows = [
        {"document_id": document_id, "version": version, "action": action, "run": run}
        for document_id, version in dict.fromkeys(keys)
    ]
    if rows:
        connection.execute(insert(index_writes), rows)


def _drop(connection: Connection, table: Table, keys: Sequence[VersionKey]) -> None:
    """The rows of these versions in ``table``."""
    if keys:
        which = (table.c.document_id == bindparam("d"), table.c.version == bindparam("v"))
        rows = [{"d": document_id, "v": version} for document_id, version in keys]
        connection.execute(delete(table).where(*which), rows)
