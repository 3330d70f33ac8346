"""In what state the file of a catalogue is, looked at from outside: nothing is made or upgraded."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from wellread.errors import StoreError
from wellread.store.recovery.stored_values import as_text, checks_of
from wellread.store.schema.sqlite import is_damage
from wellread.store.schema.tables import HEAD, metadata

WAL_SUFFIXES = ("-wal", "-shm", "-journal")
_BUSY_SECONDS = 30
# What ``PRAGMA integrity_check`` says of search trees alone; they are made anew from the rows.
_OF_TREES = ("missing from index", "wrong # of entries in index", "non-unique entry in index")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """What a look at the file found.

    Attributes:
        lost: why it cannot be used as it is, in words; empty when it can.
        trees: what is wrong with its search trees.
    """

    lost: str = ""
    trees: tuple[str, ...] = ()


def inspect_file(path: Path) -> FileState:
    """Read the whole file and say what is wrong with it.

    Raises:
        StoreError: it is in use by another program, or may not be read.
    """
    if path.is_dir():
        return FileState(lost="it is a folder")
    if not path.exists():
        return FileState(lost="it is gone")
    if path.stat().st_size == 0:
        return FileState(lost="it is empty")
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection:
            said = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
            lines = [line for line in said if line != "ok"]
            if any(not _of_trees(line) for line in lines):
                return FileState(lost="pages of it are damaged")
            lost = _schema_lost(connection) or _values_lost(connection)
            return FileState(lost=lost, trees=tuple(lines))
    except sqlite3.Error as error:
        if not is_damage(error):
            raise StoreError(
                f"could not look into {path}: {error}",
                hint="wait for the program that uses it, and check permissions",
            ) from error
        headless = getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB"
        return FileState(lost="it is no database" if headless else "pages of it are damaged")


def is_unmade(path: Path) -> bool:
    """Whether nothing was ever put into the file, as when the disk was full before its tables."""
    if not path.is_file():
        return not path.exists()
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection:
            return not list(connection.execute("SELECT name FROM sqlite_master LIMIT 1"))
    except sqlite3.Error:
        return False


def _of_trees(line: str) -> bool:
    return any(words in line for words in _OF_TREES)


def _schema_lost(connection: sqlite3.Connection) -> str:
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "alembic_version" not in there:
        return "its tables are gone"
    versions = [version for (version,) in connection.execute("SELECT * FROM alembic_version")]
    if not versions:
        return "it does not say which release wrote it"
    gone = sorted(set(_wanted(versions[0])) - there)
    return f"of its tables {', '.join(gone)} are gone" if gone else ""


def _values_lost(connection: sqlite3.Connection) -> str:
    """Values that are not of their column's kind: letters in place of a number, half a list."""
    connection.text_factory = as_text
    wrong = {}
    for name in metadata.tables:
        checks = checks_of(name)
        try:
            rows = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a name of ours
        except sqlite3.OperationalError:  # an older release's catalogue has no such table
            continue
        fits = [checks.get(column[0], lambda _: True) for column in rows.description]
        bad = sum(
            not all(check(value) for check, value in zip(fits, row, strict=True)) for row in rows
        )
        if bad:
            wrong[name] = bad
    told = ", ".join(f"{name} {count}" for name, count in wrong.items())
    return f"values in it cannot be read (rows of {told})" if told else ""


def _wanted(version: str) -> Iterator[str]:
    """The tables that have to be there; of another release's catalogue it is not known."""
    return iter(metadata.tables if version == HEAD else ())
