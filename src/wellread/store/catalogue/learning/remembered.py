"""Results that are given again for as long as nobody has changed the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from contextlib import suppress
from threading import Lock
from typing import TypeVar, cast

from wellread.store.schema.database import Database
from wellread.store.schema.postgresql import moment_of_writes

T = TypeVar("T")
MOST = 512  # results that are held


class Remembered:
    """What was worked out since the last change of the catalogue, by any process.

    SQLite tells a connection whether others have changed the file since it last asked; so there is
    one here that never changes anything. PostgreSQL tells which transactions have ended, those of
    the server's other databases too: where these are busy, little is remembered.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = database.path
        self._lock = Lock()
        self._watching: sqlite3.Connection | None = None
        self._version: int | str | None = None
        self._held: dict[Hashable, object] = {}

    def of(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """The result under ``key``, worked out when it is not known or something has changed."""
        with self._lock:
            version = self._look()
            if version is None or version != self._version or len(self._held) >= MOST:
                self._version, self._held = version, {}
            held = self._held
            if key in held:
                return cast(T, held[key])
        found = work_out()
        if version is not None:
            held[key] = found  # of a change meanwhile the next look tells, and drops it
        return found

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._watching is not None:
                self._watching.close()
            self._watching, self._version, self._held = None, None, {}

    def _look(self) -> int | str | None:
        if self._path is None:
            return self._database.reread(moment_of_writes)
        with suppress(sqlite3.Error):  # the work itself will tell what is wrong
            if self._watching is None:
                # A new connection counts anew: what is held was told by another.
                self._version = None
                self._watching = sqlite3.connect(
                    self._path, check_same_thread=False, isolation_level=None
                )
            return int(self._watching.execute("PRAGMA data_version").fetchone()[0])
        return None
