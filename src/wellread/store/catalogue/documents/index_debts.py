"""What the index holds too much of or still lacks: written down first, settled after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from wellread.store.schema.activity_tables import vector_debts
from wellread.store.schema.catalogue_values import PendingWrite, VersionKey, WriteAction
from wellread.store.schema.database import Database
from wellread.store.schema.document_tables import index_writes, properties


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorDebt:
    """A version of a document whose ``passages`` still need vectors."""

    document_id: str
    version: str
    passages: int


class Vectors:
    """What is still to be embedded. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def owed(self, passages: int) -> list[VectorDebt]:
        """Debts of about ``passages`` passages altogether; at least one while there are any."""
        found: list[VectorDebt] = []
        total = 0
        statement = select(vector_debts).order_by(vector_debts.c.document_id)
        with self._database.read() as connection:
            for row in connection.execute(statement.limit(max(passages, 1))):
                if found and total + row.passages > passages:
                    break
                found.append(VectorDebt(**row._mapping))
                total += row.passages
        return found

    def paid(self, keys: Sequence[VersionKey]) -> None:
        """The passages of these versions have their vectors."""
        if keys:
            done = [{"d": document_id, "v": version} for document_id, version in keys]
            with self._database.write() as connection:
                connection.execute(
                    delete(vector_debts).where(
                        vector_debts.c.document_id == bindparam("d"),
                        vector_debts.c.version == bindparam("v"),
                    ),
                    done,
                )

    def passages_owed(self) -> int:
        """How many passages still wait for their vector."""
        with self._database.read() as connection:
            return int(connection.execute(select(func.sum(vector_debts.c.passages))).scalar() or 0)


def owe(connection: Connection, debts: Sequence[VectorDebt]) -> None:
    """These versions were written without vectors; debts of older versions are void."""
    if not debts:
        return
    keys = [{"d": debt.document_id} for debt in debts]
    connection.execute(
        delete(vector_debts).where(vector_debts.c.document_id == bindparam("d")), keys
    )
    rows = [
        {"document_id": debt.document_id, "version": debt.version, "passages": debt.passages}
        for debt in debts
        if debt.passages
    ]
    if rows:
        connection.execute(insert(vector_debts), rows)


DELETED = "deleted_since_rewrite"


def plan_writes(connection: Connection, keys: Sequence[VersionKey], run: str) -> None:
    """Rows of these versions are about to be written."""
    _plan(connection, keys, "write", run)


def plan_removals(connection: Connection, keys: Sequence[VersionKey]) -> None:
    """Rows of these versions are to be removed."""
    _plan(connection, keys, "remove", "")


def settle(connection: Connection, keys: Sequence[VersionKey]) -> None:
    """Nothing is pending for these versions any more."""
    if keys:
        connection.execute(
            delete(index_writes).where(
                index_writes.c.document_id == bindparam("d"),
                index_writes.c.version == bindparam("v"),
            ),
            [{"d": document_id, "v": version} for document_id, version in keys],
        )


def note_deletion(connection: Connection) -> None:
    """Something was deleted or replaced: the file may hold its bytes until it is rewritten."""
    known = select(properties.c.key).where(properties.c.key == DELETED)
    if connection.execute(known).first() is None:
        connection.execute(insert(properties), {"key": DELETED, "value": True})


def pending_writes(connection: Connection) -> list[PendingWrite]:
    """Everything pending, in a repeatable order."""
    order = (index_writes.c.document_id, index_writes.c.version)
    return [
        PendingWrite(
            document_id=row.document_id, version=row.version, action=row.action, run=row.run
        )
        for row in connection.execute(select(index_writes).order_by(*order))
    ]


def _plan(
    connection: Connection, keys: Sequence[VersionKey], action: WriteAction, run: str
) -> None:
    settle(connection, keys)
    if keys:
        connection.execute(
            insert(index_writes),
            [
                {"document_id": document_id, "version": version, "action": action, "run": run}
                for document_id, version in dict.fromkeys(keys)
            ],
        )
