"""A catalogue as an asker may read it: connections that see views in place of the tables.

``readable_views`` says what the views show. All restricted askers of one catalogue share the
connections; before it is used, each is told who asks. What is written goes to the tables
themselves: the parts of the catalogue that write for an asker name its owner and ids that it
was shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, event, text

from wellread.errors import RequestError
from wellread.store.rights import readable_views
from wellread.store.schema.database import Database
from wellread.store.schema.postgresql import LOCK_SECONDS

_WHO = "wellread_who"  # what a connection was told last, kept with it in the pool


@dataclass(frozen=True, slots=True)
class Reads:
    """Who asks.

    Attributes:
        collections: the names of those that may be read.
        owner: whose answers and conversations; None: of everybody, to learn from.
        limited: as ``Asker.limited``.
    """

    collections: frozenset[str]
    owner: str | None
    limited: bool = False


class RestrictedReaders:
    """The connections that restricted askers of one catalogue read with; from any thread."""

    def __init__(self, whole: Database) -> None:
        self.whole = whole
        self._database = Database(whole.path or whole.where)
        event.listen(self._database.engine, "connect", _views(whole.dialect, whole.schema))

    @contextmanager
    def read(self, reads: Reads) -> Iterator[Connection]:
        """A transaction that only reads what may be read."""
        with self._database.read() as connection:
            if connection.info.get(_WHO) != reads:
                connection.info.pop(_WHO, None)
                _tell(connection, reads)
                connection.info[_WHO] = reads
            yield connection

    def close(self) -> None:
        """Give all connections back."""
        self._database.close()


class RestrictedDatabase(Database):
    """The catalogue's database for one asker: reads through the views, writes to the tables.

    It has no engine of its own, so that nothing is read past the views.

    Args:
        writes: whether it writes at all.
    """

    def __init__(self, readers: RestrictedReaders, reads: Reads, *, writes: bool = True) -> None:
        self.path = readers.whole.path
        self._readers, self._reads, self._writes = readers, reads, writes

    @property
    def dialect(self) -> str:
        """As ``Database.dialect``."""
        return self._readers.whole.dialect

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads, and only what may be read."""
        with self._readers.read(self._reads) as connection:
            yield connection

    @contextmanager
    def write(self, seconds: float = LOCK_SECONDS) -> Iterator[Connection]:
        """A transaction that writes, to all tables.

        Raises:
            RequestError: this part of the catalogue is not written for an asker.
        """
        if not self._writes:
            raise RequestError(
                "the material cannot be changed in the name of a reader",
                hint="changes are made by jobs and by commands on the machine",
            )
        with self._readers.whole.write(seconds) as connection:
            yield connection

    def check_files(self) -> None:
        """As ``Database.check_files``."""
        self._readers.whole.check_files()

    def forget_deleted(self) -> bool:
        """As ``Database.forget_deleted``."""
        return self._readers.whole.forget_deleted()

    def close(self) -> None:
        """Nothing: the connections are shared."""


def is_restricted(connection: Connection) -> bool:
    """Whether it reads views in place of the tables."""
    return _WHO in connection.info


def _views(dialect: str, schema: str) -> Any:
    made = list(readable_views.statements(dialect, schema))

    def prepare(raw: Any, _record: object) -> None:
        cursor = raw.cursor()
        for statement in made:
            cursor.execute(statement)
        cursor.close()
        if dialect != "sqlite":
            raw.commit()

    return prepare


def _tell(connection: Connection, reads: Reads) -> None:
    connection.execute(text("DELETE FROM readable"))
    connection.execute(text("DELETE FROM asker"))
    names = [{"name": name} for name in sorted(reads.collections)]
    if names:
        connection.execute(text("INSERT INTO readable (name) VALUES (:name)"), names)
    asker = {"owner": reads.owner, "limited": int(reads.limited)}
    connection.execute(text("INSERT INTO asker VALUES (:owner, :limited)"), asker)
    connection.commit()
