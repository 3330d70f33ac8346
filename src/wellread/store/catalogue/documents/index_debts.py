"""What the index holds too much of or still lacks: written down first, settled after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select

from wellread.errors import StoreError
from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.schema.catalogue_values import PendingWrite, VersionKey, WriteAction
from wellread.store.schema.database import CataloguePart, chunks, made_of
from wellread.store.schema.tables import index_writes, vector_debts


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
    """Refuse to go on when notes are gone: another process took this one for dead.

    Raises:
        StoreError: they are.
    """
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
