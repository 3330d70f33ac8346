"""The catalogue as an SQLite file: how connections are set up, and which errors mean damage."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, create_engine, event, text

from wellread.errors import StoreError

WRITE_OPTION = "wellread_write"
WAL_SUFFIXES = ("-wal", "-shm", "-journal")  # of files that belong to a database's
BUSY_SECONDS = 30
READER_SECONDS = 5.0  # that deletes wait for a reader, to empty the write-ahead log
UPGRADE_SECONDS = 600.0
# FULL, not NORMAL: once a commit has flipped a version, the old version's rows leave the index.
# A flip that a power cut could undo would leave a live version without rows.
PRAGMAS = (
    f"busy_timeout={BUSY_SECONDS * 1000}",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",  # what a deleted document said is overwritten, not only unlinked
    "cache_size=-32768",
    "mmap_size=268435456",
    "temp_store=MEMORY",
)
REWRITE_PRAGMAS = ("secure_delete=ON", "synchronous=FULL", "temp_store=FILE")

_NAMES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_FORMAT")
_OF_THE_FILE = ("no such table", "no such column", "Could not decode to UTF-8", "malformed")
_OF_A_VALUE = ("Couldn't parse", "Invalid isoformat string")  # moments

FileNumber = tuple[int, int]  # of its disk, and on it


def make_engine(path: Path) -> Engine:
    """The engine of the file ``path``; its folder is made when it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _record: object) -> None:
        # The driver's own transactions leave SELECT and DDL outside; "begin" below opens ours.
        raw.isolation_level = None
        cursor = raw.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        raw.create_function("folded", 1, _folded, deterministic=True)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer takes its lock at once: to upgrade a stale snapshot fails without waiting.
        writes = connection.get_execution_options().get(WRITE_OPTION)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


class HeldFiles:
    """Which files the connections of an engine hold: the database, and its write-ahead log.

    They are told by their numbers on the disk, and not opened: closing one would drop the locks of
    this process on it (``recovery.file_bytes``).
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self._held: dict[int, list[tuple[Path, FileNumber]]] = {}
        event.listen(engine, "connect", self._opened)
        event.listen(engine, "close", self._closed)

    def lost(self) -> str:
        """The name of a file that is not the one at its path any more; empty when all are."""
        for held in list(self._held.values()):
            for path, number in held:
                if _number_of(path) != number:
                    return path.name
        return ""

    def _opened(self, raw: Any, _record: object) -> None:
        raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()  # opens the log
        found = [(path, _number_of(path)) for path in self._paths]
        self._held[id(raw)] = [(path, number) for path, number in found if number]

    def _closed(self, raw: Any, _record: object) -> None:
        self._held.pop(id(raw), None)


def _number_of(path: Path) -> FileNumber | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def is_damage(error: object) -> bool:
    """Whether an error says that the file is damaged, and not that it is in use or has no room."""
    match error:
        case JSONDecodeError() | zlib.error():
            return True
        case sqlite3.Error():
            name = getattr(error, "sqlite_errorname", "")
            return name.startswith(_NAMES) or any(words in str(error) for words in _OF_THE_FILE)
        case ValueError():
            return str(error).startswith(_OF_A_VALUE)
    return False


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Only one process at a time is in here with the file ``path``."""
    try:
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=UPGRADE_SECONDS):
            yield
    except Timeout as error:
        raise StoreError(
            f"{path} has been in the hands of another process for {UPGRADE_SECONDS:.0f} seconds",
            hint="wait for its upgrade to end and try again",
        ) from error


def empty_log(engine: Engine) -> bool:
    """Take deleted content out of the write-ahead log; False when a reader is busy just now."""
    with engine.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text(f"PRAGMA busy_timeout={int(READER_SECONDS * 1000)}"))
        busy, _, _ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
        connection.execute(text(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}"))
    return not busy


def rewrite(path: Path) -> None:
    """Write the file anew without what was deleted."""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as plain:
            for pragma in REWRITE_PRAGMAS:
                plain.execute(f"PRAGMA {pragma}")
            plain.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(
            f"could not rewrite the catalogue: {error}",
            hint="check that the disk has room for a second copy of it",
        ) from error


def _folded(text: str | None) -> str | None:
    return text.casefold() if text is not None else None
