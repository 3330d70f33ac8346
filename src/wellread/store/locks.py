"""Locks between the writers of one knowledge base: lock files, or advisory locks in PostgreSQL.

A name is the lock's file in the home (``ingest.lock``, ``jobs/job_….lock``), or is hashed to the
lock's number on the server. A lock is freed when its process dies: by the operating system, or by
the server when the connection breaks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from wellread.errors import StoreError
from wellread.store.schema import postgresql

logger = logging.getLogger(__name__)


class Locks(Protocol):
    """The named locks of one knowledge base; they also exclude threads of the same process."""

    everywhere: bool

    def hold(self, name: str, seconds: float = 0.0) -> AbstractContextManager[bool]:
        """Hold a lock inside the context, which yields whether it was free within ``seconds``."""

    def taken(self, name: str) -> bool:
        """Whether any process holds the lock."""

    def forget(self, name: str) -> None:
        """Remove what is left of a lock that nobody holds."""


class FileLocks:
    """Locks as files in a folder, between processes of this machine."""

    everywhere = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, name: str, seconds: float = 0.0) -> Iterator[bool]:
        """See ``Locks.hold``."""
        path = self._folder / name
        lock = FileLock(path)
        try:
            path.parent.mkdir(exist_ok=True)
            lock.acquire(timeout=seconds)
        except Timeout:
            yield False
            return
        except OSError as error:
            raise StoreError(
                f"{path} cannot be locked: {error.strerror or error}",
                hint="a home must be writable; use a copy of it",
            ) from error
        try:
            yield True
        finally:
            lock.release()

    def taken(self, name: str) -> bool:
        """See ``Locks.taken``."""
        if not (self._folder / name).exists():
            return False
        with self.hold(name) as acquired:
            return not acquired

    def forget(self, name: str) -> None:
        """See ``Locks.forget``."""
        (self._folder / name).unlink(missing_ok=True)


_FREE = text("SELECT pg_advisory_unlock(:key)")
_TAKE = text("SELECT pg_advisory_lock(:key)")
_TRY = text("SELECT pg_try_advisory_lock(:key)")


class AdvisoryLocks:
    """Session locks of a PostgreSQL server, which work between machines.

    Each lock uses its own pooled connection until it is released.
    """

    everywhere = True

    def __init__(self, where: str) -> None:
        _, self._schema = postgresql.address_of(where)
        self._engine = postgresql.make_engine(where, pool_size=2, max_overflow=-1)

    @contextmanager
    def hold(self, name: str, seconds: float = 0.0) -> Iterator[bool]:
        """See ``Locks.hold``."""
        key = postgresql.lock_key(self._schema, name)
        with _store_errors(name):
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with connection:
            with _store_errors(name):
                acquired = _acquire(connection, key, seconds)
            if not acquired:
                yield False
                return
            try:
                yield True
            except BaseException:
                _release(connection, key)
                raise
            if not _release(connection, key):
                raise StoreError(
                    f"the lock {name} was lost: the connection to the database broke",
                    hint="run it again; 'wellread verify' checks whether the stores agree",
                )

    def taken(self, name: str) -> bool:
        """See ``Locks.taken``."""
        with self.hold(name) as acquired:
            return not acquired

    def forget(self, _name: str) -> None:
        """Do nothing: an advisory lock leaves nothing behind."""

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _acquire(connection: Connection, key: int, seconds: float) -> bool:
    if not seconds:
        return bool(connection.execute(_TRY, {"key": key}).scalar())
    connection.execute(text(f"SET lock_timeout = {max(1, int(seconds * 1000))}"))
    try:
        connection.execute(_TAKE, {"key": key})
    except DBAPIError as error:
        if not postgresql.is_lock_timeout(error):
            raise
        return False
    return True


def _release(connection: Connection, key: int) -> bool:
    """Release the lock; return whether this process still had it, else close the connection."""
    try:
        if connection.execute(_FREE, {"key": key}).scalar():
            return True
    except SQLAlchemyError as error:
        logger.warning("a lock could not be released: %s", error.args[0])
    connection.invalidate()
    return False


@contextmanager
def _store_errors(name: str) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(
            f"the lock {name} cannot be acquired: {getattr(error, 'orig', None) or error}",
            hint="check that the database is reachable",
        ) from error
