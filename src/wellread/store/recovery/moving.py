"""Copies a whole catalogue into an empty database, of another kind or not, and proves the copy.

All or nothing: on a server one transaction holds everything, a file gets its name at the end. What
is compared are the rows of each table, by number and by a hash of their values that does not
depend on their order; those of the copy are read back from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Integer, Row, Table, delete, insert, inspect, select

from wellread.errors import StoreError
from wellread.store.catalogue import Catalogue
from wellread.store.schema import postgresql
from wellread.store.schema.database import STREAM_ROWS, Database, upgrade
from wellread.store.schema.sqlite import WAL_SUFFIXES
from wellread.store.schema.tables import metadata

ROWS_AT_ONCE = 1_000
_MODULUS = 1 << 128


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDigest:
    """The rows of a table: ``digest`` is the same for the same rows in any order."""

    name: str
    rows: int
    digest: str


def move_catalogue(source: Catalogue, target: str | Path) -> None:
    """Copy everything in ``source`` to ``target``, a path or a URL that holds no catalogue yet.

    ``source`` is only read: one snapshot of it is copied.

    Raises:
        StoreError: the target holds something, cannot be written, or the copy is not the same;
            nothing is left of it then.
    """
    with _target(target) as database, source.snapshot() as there, database.setting_up() as here:
        if inspect(here).has_table("documents"):
            raise StoreError(
                "there is a catalogue at the target already",
                hint="name an empty database, another ?schema=, or a new file",
            )
        upgrade(here)
        for table in metadata.sorted_tables:
            here.execute(delete(table))  # what migrations put in is copied as well
        moved = [_copy(there, here, table) for table in metadata.sorted_tables]
        for was, now in zip(moved, table_digests(here), strict=True):
            _compare(was, now)
        if here.dialect.name == "postgresql":
            _count_on(here)


def table_digests(connection: Connection) -> Iterator[TableDigest]:
    """What a catalogue holds, table by table."""
    return (_digest(table, _rows(connection, table)) for table in metadata.sorted_tables)


@contextmanager
def _target(where: str | Path) -> Iterator[Database]:
    """The target's database; where it fails, nothing is left of what was made."""
    plain = Database(where)
    path = plain.path
    if path is None:
        with closing(plain):
            yield plain
        return
    plain.close()
    if path.exists():
        raise StoreError(f"{path} is there already", hint="move it away, or name another file")
    part = path.with_name(f"{path.name}.part")
    drop_file(part)
    database = Database(part)
    try:
        yield database
        database.forget_deleted()
        database.close()
        part.replace(path)
    finally:
        database.close()
        drop_file(part)


def drop_file(path: Path) -> None:
    """Remove a catalogue's file that nobody has open, with what belongs to it."""
    for suffix in ("", ".lock", *WAL_SUFFIXES):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _copy(there: Connection, here: Connection, table: Table) -> TableDigest:
    def passing() -> Iterator[Row[Any]]:
        waiting: list[dict[str, Any]] = []
        for row in _rows(there, table):
            waiting.append(dict(row._mapping))
            if len(waiting) == ROWS_AT_ONCE:
                here.execute(insert(table), waiting)
                waiting = []
            yield row
        if waiting:
            here.execute(insert(table), waiting)

    return _digest(table, passing())


def _rows(connection: Connection, table: Table) -> Iterable[Row[Any]]:
    return connection.execute(select(table).execution_options(yield_per=STREAM_ROWS))


def _digest(table: Table, rows: Iterable[Row[Any]]) -> TableDigest:
    count, total = 0, 0
    for row in rows:
        written = json.dumps([_plain(value) for value in row], sort_keys=True).encode()
        digest = hashlib.blake2b(written, digest_size=16).digest()
        total = (total + int.from_bytes(digest, "big")) % _MODULUS
        count += 1
    return TableDigest(name=table.name, rows=count, digest=f"{total:032x}")


def _plain(value: object) -> object:
    """As JSON takes it; kinds that it does not know are told apart by a name."""
    match value:
        case bytes():
            return {"bytes": hashlib.blake2b(value, digest_size=16).hexdigest()}
        case datetime():
            return {"moment": value.isoformat()}
    return value


def _compare(was: TableDigest, now: TableDigest) -> None:
    if was != now:
        raise StoreError(
            f"the copy of {was.name} is not the same: {was.rows:,} rows ({was.digest}) became "
            f"{now.rows:,} ({now.digest})",
            hint="nothing was changed; please report this",
        )


def _count_on(connection: Connection) -> None:
    for table in metadata.sorted_tables:
        (key, *others) = table.primary_key.columns
        if not others and isinstance(key.type, Integer):
            postgresql.count_on(connection, key)
