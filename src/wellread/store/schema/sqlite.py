"""The catalogue as an SQLite file: connections, rewriting it, and recognising damage."""

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
WAL_SUFFIXES = ("-wal", "-shm", "-journal")  # suffixes of the files beside a database file
BUSY_SECONDS = 30
READER_SECONDS = 5.0  # how long emptying the write-ahead log waits for readers
UPGRADE_SECONDS = 600.0
# FULL, not NORMAL: after the commit of a new version the old version's index rows are removed. If
# a power cut could undo that commit, the version live again would have no rows.
PRAGMAS = (
    f"busy_timeout={BUSY_SECONDS * 1000}",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",  # deleted text is overwritten, not only unlinked
    "cache_size=-32768",
    "mmap_size=268435456",
    "temp_store=MEMORY",
)
REWRITE_PRAGMAS = ("secure_delete=ON", "synchronous=FULL", "temp_store=FILE")

_CODES = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_FORMAT")
_FILE_MESSAGES = ("no such table", "no such column", "Could not decode to UTF-8", "malformed")
_VALUE_MESSAGES = ("Couldn't parse", "Invalid isoformat string")  # messages about stored times

FileNumber = tuple[int, int]  # device and inode


def make_engine(path: Path) -> Engine:
    """Create an engine of the file ``path``, and its folder when it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _record: object) -> None:
        # The driver's own transactions exclude SELECT and DDL; "begin" below starts ours.
        raw.isolation_level = None
        cursor = raw.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        raw.create_function("folded", 1, _folded, deterministic=True)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer locks at once: upgrading a stale snapshot would fail without waiting.
        writes = connection.get_execution_options().get(WRITE_OPTION)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


class OpenFiles:
    """Tracks the files that an engine's connections have open: database and write-ahead log.

    They are identified by device and inode without being opened, because closing one would drop
    this process's locks on it (``recovery.file_bytes``).
    """

    def __init__(self, engine: Engine, path: Path) -> None:
        self._paths = (path, path.with_name(f"{path.name}-wal"))
        self._files: dict[int, list[tuple[Path, FileNumber]]] = {}
        event.listen(engine, "connect", self._opened)
        event.listen(engine, "close", self._closed)

    def lost(self) -> str:
        """Return the name of an open file that was replaced on disk; empty when none was."""
        for files in list(self._files.values()):
            for path, number in files:
                if _number_of(path) != number:
                    return path.name
        return ""

    def _opened(self, raw: Any, _record: object) -> None:
        raw.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()  # opens the log
        numbers = [(path, _number_of(path)) for path in self._paths]
        self._files[id(raw)] = [(path, number) for path, number in numbers if number]

    def _closed(self, raw: Any, _record: object) -> None:
        self._files.pop(id(raw), None)


def _number_of(path: Path) -> FileNumber | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def is_damage(error: object) -> bool:
    """Whether an error means a damaged file, as opposed to a busy file or a full disk."""
    match error:
        case JSONDecodeError() | zlib.error():
            return True
        case sqlite3.Error():
            name = getattr(error, "sqlite_errorname", "")
            return name.startswith(_CODES) or any(part in str(error) for part in _FILE_MESSAGES)
        case ValueError():
            return str(error).startswith(_VALUE_MESSAGES)
    return False


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Exclude other processes from the file ``path`` inside the context."""
    try:
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=UPGRADE_SECONDS):
            yield
    except Timeout as error:
        raise StoreError(
            f"{path} has been locked by another process for {UPGRADE_SECONDS:.0f} seconds",
            hint="wait for its upgrade to end and try again",
        ) from error


def truncate_log(engine: Engine) -> bool:
    """Remove deleted content from the write-ahead log; False when a reader is busy."""
    with engine.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(text(f"PRAGMA busy_timeout={int(READER_SECONDS * 1000)}"))
        busy, _, _ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
        connection.execute(text(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}"))
    return not busy


def rewrite(path: Path) -> None:
    """Rewrite the file without deleted content."""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as plain:
            for pragma in REWRITE_PRAGMAS:
                plain.execute(f"PRAGMA {pragma}")
            plain.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(
            f"could not rewrite the catalogue: {error}",
            hint="check that the disk has space for a second copy of it",
        ) from error


def _folded(text: str | None) -> str | None:
    return text.casefold() if text is not None else None
