"""Copies a catalogue to an empty database and verifies the copy; checks catalogue files for damage.

A copy is all or nothing: one transaction on a server, or a file that gets its name at the end. It
is read back and compared table by table, by the number of rows and a hash of their values that
does not depend on their order.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    delete,
    insert,
    inspect,
    select,
)

from wellread.errors import StoreError
from wellread.store.catalogue import Catalogue
from wellread.store.schema import postgresql
from wellread.store.schema.database import STREAM_ROWS, Database, Moment, upgrade
from wellread.store.schema.sqlite import WAL_SUFFIXES, is_damage
from wellread.store.schema.tables import HEAD, metadata

_BUSY_SECONDS = 30
_BROKEN = object()
"""Stands for text that is not valid UTF-8."""

# Messages of ``PRAGMA integrity_check`` about indexes only, which can be rebuilt from the rows.
_INDEX_MESSAGES = ("missing from index", "wrong # of entries in index", "non-unique entry in index")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """The damage found in a catalogue file: why it is lost, and messages about its indexes."""

    lost: str = ""
    trees: tuple[str, ...] = ()


def inspect_file(path: Path) -> FileState:
    """Read the whole file and return the damage found."""
    if path.is_dir():
        return FileState(lost="it is a folder")
    if not path.exists():
        return FileState(lost="it is missing")
    if path.stat().st_size == 0:
        return FileState(lost="it is empty")
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection:
            messages = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
            lines = [line for line in messages if line != "ok"]
            if not all(any(part in line for part in _INDEX_MESSAGES) for line in lines):
                return FileState(lost="pages of it are damaged")
            lost = _schema_lost(connection) or _values_lost(connection)
            return FileState(lost=lost, trees=tuple(lines))
    except sqlite3.Error as error:
        if not is_damage(error):
            raise StoreError(
                f"could not check {path}: {error}",
                hint="wait for the program that uses it, and check its permissions",
            ) from error
        no_database = getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
        return FileState(lost="it is not a database" if no_database else "pages of it are damaged")


def is_unmade(path: Path) -> bool:
    """Whether the file has no tables yet, as after a full disk stopped their creation."""
    if not path.is_file():
        return not path.exists()
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection:
            return not list(connection.execute("SELECT name FROM sqlite_master LIMIT 1"))
    except sqlite3.Error:
        return False


def _schema_lost(connection: sqlite3.Connection) -> str:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "alembic_version" not in names:
        return "its tables are missing"
    versions = [version for (version,) in connection.execute("SELECT * FROM alembic_version")]
    if not versions:
        return "it does not record which release wrote it"
    # Another release's catalogue may have other tables.
    missing = sorted(set(metadata.tables) - names) if versions[0] == HEAD else []
    return f"its tables {', '.join(missing)} are missing" if missing else ""


def _values_lost(connection: sqlite3.Connection) -> str:
    """Report values of the wrong type, such as letters in a number column or truncated JSON."""
    connection.text_factory = _as_text
    bad_rows = {}
    for name, table in metadata.tables.items():
        try:
            rows = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a name of ours
        except sqlite3.OperationalError:  # an older release's catalogue has no such table
            continue
        columns = [table.c.get(about[0]) for about in rows.description]
        bad = sum(not all(map(_fits, columns, row)) for row in rows)
        if bad:
            bad_rows[name] = bad
    counts = ", ".join(f"{name} {count}" for name, count in bad_rows.items())
    return f"values in it cannot be read (rows of {counts})" if counts else ""


def _as_text(value: bytes) -> object:
    """Decode a text value of a connection; ``_BROKEN`` when it is not valid UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return _BROKEN


def _fits(column: Column[Any] | None, value: Any) -> bool:
    """Whether a column can have this value; any value fits a column of another release."""
    if column is None or value is None:
        return column is None or bool(column.nullable)
    kind = column.type
    try:
        if isinstance(kind, JSON):
            # SQLite stores a number in a JSON column as a number.
            return isinstance(value, int | float) or json.loads(value) is not _BROKEN
        if isinstance(kind, Moment):
            return datetime.fromisoformat(value) is not None
    except (TypeError, ValueError):
        return False
    if isinstance(kind, Boolean):
        return value in (0, 1)
    return isinstance(value, next(fitting for sql, fitting in _TYPES if isinstance(kind, sql)))


_TYPES: tuple[tuple[type[Any], Any], ...] = (
    (Integer, int),
    (Float, int | float),
    (LargeBinary, bytes),
    (String, str),
)


ROWS_AT_ONCE = 1_000
_MODULUS = 1 << 128
TableDigest = tuple[str, int, str]
"""A table, its number of rows, and a hash of its rows that ignores their order."""


def move_catalogue(source: Catalogue, target: str | Path) -> None:
    """Copy everything in ``source`` to ``target``, a path or URL without a catalogue.

    One snapshot of ``source`` is copied, and ``source`` is only read.
    """
    with _target(target) as database, source.snapshot() as reader, database.setting_up() as writer:
        if inspect(writer).has_table("documents"):
            raise StoreError(
                "the target already has a catalogue",
                hint="name an empty database, another ?schema=, or a new file",
            )
        upgrade(writer)
        for table in metadata.sorted_tables:
            writer.execute(delete(table))  # rows that migrations inserted are copied as well
        moved = [_digest(reader, table, writer) for table in metadata.sorted_tables]
        for original, copy in zip(moved, table_digests(writer), strict=True):
            _compare(original, copy)
        if writer.dialect.name == "postgresql":
            for table in metadata.sorted_tables:
                (key, *others) = table.primary_key.columns
                if not others and isinstance(key.type, Integer):
                    postgresql.advance_sequence(writer, key)


def table_digests(connection: Connection) -> Iterator[TableDigest]:
    """The digest of every table of a catalogue."""
    return (_digest(connection, table) for table in metadata.sorted_tables)


@contextmanager
def _target(where: str | Path) -> Iterator[Database]:
    """Open the target's database; a failure leaves nothing behind."""
    plain = Database(where)
    path = plain.path
    if path is None:
        with closing(plain):
            yield plain
        return
    plain.close()
    if path.exists():
        raise StoreError(f"{path} already exists", hint="move it away, or name another file")
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
    """Remove a catalogue's file that nobody has open, with its logs and lock."""
    for suffix in ("", ".lock", *WAL_SUFFIXES):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _digest(reader: Connection, table: Table, writer: Connection | None = None) -> TableDigest:
    """Return the digest of a table, and copy its rows to ``writer`` if there is one."""
    count, total = 0, 0
    rows = reader.execute(select(table).execution_options(yield_per=STREAM_ROWS))
    for batch in rows.partitions(ROWS_AT_ONCE):
        if writer is not None:
            writer.execute(insert(table), [dict(row._mapping) for row in batch])
        for row in batch:
            written = json.dumps([_plain(value) for value in row], sort_keys=True).encode()
            digest = hashlib.blake2b(written, digest_size=16).digest()
            total = (total + int.from_bytes(digest, "big")) % _MODULUS
        count += len(batch)
    return table.name, count, f"{total:032x}"


def _plain(value: object) -> object:
    """Return ``value`` as JSON; types that JSON lacks are tagged with a name."""
    match value:
        case bytes():
            return {"bytes": hashlib.blake2b(value, digest_size=16).hexdigest()}
        case datetime():
            return {"moment": value.isoformat()}
    return value


def _compare(original: TableDigest, copy: TableDigest) -> None:
    if original != copy:
        raise StoreError(
            f"the copy of {original[0]} differs: {original[1]:,} rows became {copy[1]:,}",
            hint="nothing was changed; please report this",
        )
