"""Connections, transactions and upgrades, alike for SQLite and PostgreSQL."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Executable,
    Select,
    String,
    TypeDecorator,
    delete,
    func,
    select,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from wellread.errors import DamageError, StoreError
from wellread.store.schema import postgresql, sqlite

STREAM_ROWS = 5_000
P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """One engine with its pool. Methods may be called from any thread.

    Attributes:
        path: the SQLite file; None on a server.
        where: what was given; holds the password.
        schema: the one that holds the tables.
    """

    def __init__(self, where: str | Path) -> None:
        """Raises StoreError when ``where`` is neither a path nor a database URL."""
        self.path = _path_of(where)
        self.where = str(where)
        with _errors("open the catalogue"):
            if self.path:
                self.engine, self.schema = sqlite.make_engine(self.path), "main"
                self._held = sqlite.HeldFiles(self.engine, self.path)
            else:
                self.engine = postgresql.make_engine(self.where)
                self.schema = postgresql.address_of(self.where)[1]
                self._writers = postgresql.lock_key(self.schema, postgresql.WRITERS)

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads: one snapshot, never blocked by a writer."""
        with _errors("read the catalogue"), self.engine.connect() as plain:
            if self.path:
                yield plain
                return
            yield plain.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )

    @contextmanager
    def write(self, seconds: float = postgresql.LOCK_SECONDS) -> Iterator[Connection]:
        """A transaction that writes: committed at the end, undone by an exception.

        There is one writer at a time; the others wait, on a server for at most ``seconds``.
        """
        with _errors("write to the catalogue"), self.engine.connect() as plain:
            connection = plain.execution_options(**{sqlite.WRITE_OPTION: True})
            with connection.begin():
                if not self.path:
                    if seconds != postgresql.LOCK_SECONDS:
                        connection.execute(text(f"SET LOCAL lock_timeout = {int(seconds * 1000)}"))
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({self._writers})"))
                yield connection

    @contextmanager
    def setting_up(self) -> Iterator[Connection]:
        """A transaction for migrations, in which nobody else writes; makes what they need."""
        with self.write(sqlite.UPGRADE_SECONDS) as connection:
            if not self.path:
                postgresql.make_schema(connection, self.schema)
            yield connection
            if not self.path:
                postgresql.settle_schema(connection)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Only one process at a time is in here: for setting up and upgrading.

        A server has a lock of its own for it (``setting_up``).
        """
        if self.path is None:
            yield
            return
        with sqlite.alone(self.path):
            yield

    def check_files(self) -> None:
        """Refuse to go on with files that others put away or replaced."""
        if self.path and (lost := self._held.lost()):
            raise StoreError(
                f"{lost} is not the file any more that this process has open: what it writes is "
                "lost when it ends",
                hint="stop it, look with 'wellread verify', and start it again",
            )

    def forget_deleted(self) -> bool:
        """Take deleted content out of the write-ahead log too, where there is one of our own.

        False when a reader that is busy just now made SQLite leave it to the next call.
        """
        if not self.path:
            return True
        with _errors("clean up the catalogue"):
            return sqlite.empty_log(self.engine)

    def rewrite(self, tables: Iterable[str]) -> bool:
        """Write file or tables anew without deleted rows; False when a reader needs some still."""
        if self.path:
            sqlite.rewrite(self.path)
            return self.forget_deleted()
        with _errors("rewrite the catalogue"):
            return postgresql.rewrite(self.engine, tables)

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


class Moment(TypeDecorator[datetime]):
    """A moment, kept and given back in UTC. Without a zone it is taken as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; SQLite keeps no zone, so it gets none."""
        if value is None:
            return None
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """With the zone again."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


def _path_of(where: str | Path) -> Path | None:
    """The SQLite file that ``where`` names; None for a URL of PostgreSQL."""
    if isinstance(where, Path):
        return where
    if "://" not in where:
        return Path(where)
    if not where.startswith("sqlite"):
        postgresql.address_of(where)  # refuses all others
        return None
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise StoreError(
            f"{where!r} is not a database URL", hint=f"give a path, or {postgresql.EXAMPLE}"
        ) from error
    if not url.database or url.database == ":memory:":
        raise StoreError("a catalogue in memory would be lost", hint="give the path of a file")
    return Path(url.database)


@contextmanager
def _errors(action: str) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "orig", None) or error
        if sqlite.is_damage(reason):
            raise DamageError(
                f"could not {action}: its file is damaged",
                hint="'wellread verify --repair' puts the newest backup in its place, or says how "
                "to add the sources again",
            ) from error
        if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
            raise  # of what is to be stored
        raise StoreError(
            f"could not {action}: {reason}",
            hint="check that the database is reachable, unlocked and has room",
        ) from error


class CataloguePart:
    """A part of the catalogue. Every method of every part raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _rows(self, statement: Executable) -> Sequence[Any]:
        """All rows of one statement that only reads."""
        with self._database.read() as connection:
            return connection.execute(statement).all()

    def _values(self, statement: Executable) -> list[Any]:
        """The first column of ``_rows``."""
        return [row[0] for row in self._rows(statement)]

    def _rows_in(self, statement: Select[Any], values: Iterable[str]) -> list[Any]:
        """``rows_in``, in a transaction of its own."""
        with self._database.read() as connection:
            return list(rows_in(connection, statement, values))

    def _stream(self, statement: Executable) -> Iterator[Any]:
        """``_rows`` from one snapshot, a few thousand in memory at a time."""
        with self._database.read() as connection:
            streaming = connection.execution_options(yield_per=STREAM_ROWS)
            with streaming.execute(statement) as rows:  # closed too where not all are taken
                yield from rows

    def _run(self, *statements: Executable) -> None:
        """Statements that write, in one transaction."""
        with self._database.write() as connection:
            for statement in statements:
                connection.execute(statement)


Query = Callable[Concatenate[Connection, P], T]
Method = Callable[Concatenate[CataloguePart, P], T]


def reading(query: Query[P, T]) -> Method[P, T]:
    """``query`` as a method of a part: in a transaction of its own, which only reads."""

    @wraps(query)
    def method(part: CataloguePart, /, *args: P.args, **options: P.kwargs) -> T:
        with part._database.read() as connection:
            return query(connection, *args, **options)

    return method


def writing(change: Query[P, T]) -> Method[P, T]:
    """``change`` as a method of a part: in a transaction of its own."""

    @wraps(change)
    def method(part: CataloguePart, /, *args: P.args, **options: P.kwargs) -> T:
        with part._database.write() as connection:
            return change(connection, *args, **options)

    return method


def made_of(kind: Callable[..., T], rows: Iterable[Any]) -> list[T]:
    """A value of each row, whose columns are called like the value's fields."""
    return [kind(**row._mapping) for row in rows]


def aside(column: ColumnElement[str]) -> ColumnElement[str]:
    """``column`` as a condition that no index is read for: the rows are found by another one.

    SQLite takes any equality for rarer than a list of ids, and would read a whole collection.
    """
    return column.concat("")


AT_ONCE = 500  # values in one IN (...): far below every database's limit


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """``values`` in lists of at most ``AT_ONCE``."""
    iterator = iter(values)
    while chunk := list(islice(iterator, AT_ONCE)):
        yield chunk


def rows_in(connection: Connection, statement: Select[Any], values: Iterable[str]) -> Iterator[Any]:
    """The rows of ``statement`` for all ``values`` of its expanding parameter ``values``."""
    for chunk in chunks(dict.fromkeys(values)):
        yield from connection.execute(statement, {"values": chunk})


def trim(connection: Connection, moment: Column[Any], before: datetime) -> int:
    """Delete the rows whose ``moment`` lies before; how many went.

    Of those only the oldest day's: where the clock is wrong, the rest is still there to be kept.
    """
    oldest = connection.execute(select(func.min(moment))).scalar()
    if oldest is None:
        return 0
    limit = min(before, oldest + timedelta(days=1))
    return connection.execute(delete(moment.table).where(moment < limit)).rowcount


MIGRATIONS = Path(__file__).parent.parent / "migrations"


def check_known(schema: str) -> None:
    """Refuse a schema that no migration of this release makes; nothing is written then."""
    if not any(path.name.startswith(f"{schema}_") for path in (MIGRATIONS / "versions").iterdir()):
        raise StoreError(
            f"the catalogue's schema {schema!r} is not known here",
            hint="it was written by a newer Wellread; update this one",
        )


def upgrade(connection: Connection) -> None:
    """Run the missing migrations inside the connection's transaction."""
    # Alembic takes a tenth of a second to load, and is needed once per release.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    # Alembic reads % in options as interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


class Folded(FunctionElement[str]):
    """A text without capitals, of any script; databases' own ``lower`` differ."""

    name = "folded"
    inherit_cache = True
    type = String()


@compiles(Folded)
def _folded(element: Folded, compiler: Any, **options: Any) -> str:
    return f"folded({compiler.process(element.clauses, **options)})"
