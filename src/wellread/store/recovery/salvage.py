"""Reads what can be read of a damaged catalogue, row by row, into a new one.

SQLite finds a row from its table's root down to a page. A damaged page fails the rows of that page
alone, as long as the search goes around it: so rows are read in the order of their row ids, and
where that fails, the next row that can be read is searched for beyond. Search trees are not used.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from wellread.store.recovery.database_file import WAL_SUFFIXES
from wellread.store.recovery.file_bytes import copy_file
from wellread.store.recovery.stored_values import as_text, checks_of, is_json_or_nothing
from wellread.store.schema.database import Database, upgrade
from wellread.store.schema.tables import HEAD, metadata

REVISION = re.compile(r"\d{4}")
MAGIC = b"SQLite format 3\x00"
PAGE = 4096
_WRITTEN_AT = 18  # bytes 18 to 23 of the header are the same in every catalogue of ours
_FORMATS = bytes((2, 2, 0, 64, 32, 32))
_BUSY_SECONDS = 30
_FARTHEST = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTable:
    """What was read of one table; ``whole``: nothing of it failed."""

    name: str
    rows: int
    whole: bool


def make_like(damaged: Path, fresh: Path) -> None:
    """Make the empty catalogue ``fresh``, in the schema that ``damaged`` was written in.

    That of today where it does not tell; but what names its readers is of 0007, and not for all.
    """
    revision = HEAD
    try:
        with closing(sqlite3.connect(damaged)) as source:
            if "readers" in _columns(source, "main", "documents"):
                revision = "0007"
            (found,) = source.execute("SELECT version_num FROM alembic_version").fetchone()
        if REVISION.fullmatch(str(found)) and str(found) <= HEAD:
            revision = str(found)
    except (sqlite3.Error, TypeError):
        pass
    database = Database(fresh)
    with database.write() as connection:
        upgrade(connection, revision)
    database.close()


def save_rows(damaged: Path, fresh: Path) -> list[SavedTable]:
    """Copy every row of ``damaged`` that can be read into the empty catalogue ``fresh``.

    ``damaged`` stays as it is: a copy of it is read. Rows that the schema does not allow are left.

    Raises:
        StoreError: there is no room for the copy.
    """
    work = fresh.with_name(f"{fresh.name}.read")
    try:
        _work_copy(damaged, work)
        with (
            closing(sqlite3.connect(work, isolation_level=None)) as source,
            closing(sqlite3.connect(fresh, isolation_level=None)) as target,
        ):
            source.text_factory = as_text
            target.execute("PRAGMA foreign_keys=OFF")
            target.execute("BEGIN")
            saved = [_save(source, target, table.name) for table in metadata.sorted_tables]
            target.execute("COMMIT")
    finally:
        for suffix in ("", *WAL_SUFFIXES):
            work.with_name(f"{work.name}{suffix}").unlink(missing_ok=True)
    return saved


def complete(fresh: Path, copy: Path, saved: Sequence[SavedTable]) -> int:
    """Fill tables that could not be read whole from a sound copy; how many rows came from there.

    Rows that are there stay. Nothing is taken for tables that were read whole: what they lack was
    removed after the copy. What belongs to a document comes only with its version.
    """
    broken = {table.name for table in saved if not table.whole}
    with closing(sqlite3.connect(fresh, isolation_level=None)) as target:
        target.execute("PRAGMA foreign_keys=OFF")
        target.execute("ATTACH ? AS held", (str(copy),))
        before = target.total_changes
        target.execute("BEGIN")
        for table in metadata.sorted_tables:
            if table.name not in broken:
                continue
            shared = [name for name in _columns(target, "held", table.name) if name in table.c]
            if not shared:
                continue
            names = ", ".join(f'"{name}"' for name in shared)
            of_documents = any(key.column.table.name == "documents" for key in table.foreign_keys)
            where = _SAME_VERSION if of_documents else ""
            target.execute(
                f'INSERT OR IGNORE INTO main."{table.name}" ({names}) '  # noqa: S608 - our names
                f'SELECT {names} FROM held."{table.name}" {where}'
            )
        target.execute("COMMIT")
        return target.total_changes - before


def take_texts(catalogue: Path, copy: Path, document_ids: Sequence[str]) -> int:
    """Put texts and marks of a sound copy in place of damaged ones; of how many documents.

    Only where the copy holds the version that is live.
    """
    taken = 0
    with closing(sqlite3.connect(catalogue, isolation_level=None, timeout=_BUSY_SECONDS)) as live:
        live.execute("PRAGMA secure_delete=ON")
        live.execute("ATTACH ? AS held", (str(copy),))
        live.execute("BEGIN IMMEDIATE")
        for known in document_ids:
            there = live.execute(f"SELECT 1 {_VERSIONS} AND mine.id = ?", (known,)).fetchone()
            if there is None:
                continue
            for table in ("texts", "marks"):
                live.execute(f"DELETE FROM main.{table} WHERE document_id = ?", (known,))  # noqa: S608
                live.execute(
                    f"INSERT INTO main.{table} SELECT * FROM held.{table} "  # noqa: S608 - our names
                    "WHERE document_id = ?",
                    (known,),
                )
            taken += 1
        live.execute("COMMIT")
    return taken


_VERSIONS = (
    "FROM main.documents AS mine JOIN held.documents AS theirs ON mine.id = theirs.id "
    "WHERE mine.version = theirs.version"
)
_SAME_VERSION = f"WHERE document_id IN (SELECT mine.id {_VERSIONS})"


def _work_copy(damaged: Path, work: Path) -> None:
    """A copy to read, with its log, and with a header where that alone is damaged."""
    copy_file(damaged, work)
    log = damaged.with_name(f"{damaged.name}-wal")
    if log.exists():
        copy_file(log, work.with_name(f"{work.name}-wal"))
    with work.open("r+b") as file:
        header = file.read(24)
        if header[:16] != MAGIC or header[_WRITTEN_AT:24] != _FORMATS:
            file.seek(0)
            file.write(MAGIC + PAGE.to_bytes(2, "big") + _FORMATS)


def _save(source: sqlite3.Connection, target: sqlite3.Connection, name: str) -> SavedTable:
    wanted = set(_columns(target, "main", name))
    try:
        columns = [column for column in _columns(source, "main", name) if column in wanted]
    except sqlite3.Error:
        columns = []
    if not columns:
        return SavedTable(name=name, rows=0, whole=not wanted)
    names = ", ".join(f'"{column}"' for column in columns)
    places = ", ".join("?" * len(columns))
    insert = f'INSERT OR IGNORE INTO "{name}" ({names}) VALUES ({places})'  # noqa: S608 - our names
    reader = _Rows(source, name, names)
    checks = checks_of(name)
    fits = [checks.get(column, is_json_or_nothing) for column in columns]  # "readers" of 0007
    read = 0
    before = target.total_changes
    for row in reader:
        read += 1
        if all(check(value) for check, value in zip(fits, row, strict=True)):
            target.execute(insert, row)
    kept = target.total_changes - before
    return SavedTable(name=name, rows=kept, whole=not reader.failed and kept == read)


def _columns(connection: sqlite3.Connection, schema: str, table: str) -> list[str]:
    rows = connection.execute(f'PRAGMA {schema}.table_info("{table}")')
    return [str(row[1]) for row in rows]


class _Rows:
    """The rows of a table, those of damaged pages left out.

    Attributes:
        failed: whether any were left out.
    """

    def __init__(self, connection: sqlite3.Connection, table: str, names: str) -> None:
        self._connection = connection
        self._from = f'SELECT rowid, {names} FROM "{table}" NOT INDEXED WHERE rowid >= ?'  # noqa: S608
        self.failed = False

    def __iter__(self) -> Iterator[Sequence[object]]:
        place: int | None = -_FARTHEST
        while place is not None:
            last = place
            try:
                for row in self._connection.execute(f"{self._from} ORDER BY rowid", (place,)):
                    last = int(row[0]) + 1
                    yield row[1:]
                return
            except sqlite3.Error:
                self.failed = True
                place = self._beyond(max(last, 0))

    def _beyond(self, place: int) -> int | None:
        """The first row id at or after ``place`` that can be read; None when there is none."""
        step = 1
        while step < _FARTHEST:
            found = self._first(place + step)
            if found is not None:
                low, high = place + step // 2, place + step
                while low < high:  # between them the damage ends
                    middle = (low + high) // 2
                    earlier = self._first(middle)
                    if earlier is None:
                        low = middle + 1
                    else:
                        high, found = middle, earlier
                return found
            step *= 2
        return None

    def _first(self, place: int) -> int | None:
        try:
            query = f"{self._from} ORDER BY rowid LIMIT 1"
            row = self._connection.execute(query, (place,)).fetchone()
        except sqlite3.Error:
            return None
        return int(row[0]) if row else None
