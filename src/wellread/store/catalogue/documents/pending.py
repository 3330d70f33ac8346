"""What the index may hold too much of: written down before it is written, settled after."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from wellread.store.schema.catalogue_values import PendingWrite, VersionKey, WriteAction
from wellread.store.schema.document_tables import index_writes, properties

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
