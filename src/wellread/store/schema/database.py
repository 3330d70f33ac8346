"""Database connections, transactions and schema upgrades for SQLite and PostgreSQL."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
    Table,
    TypeDecorator,
    delete,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from wellread.errors import DamageError, StoreError
from wellread.store.schema import postgresql, sqlite

STREAM_ROWS = 5_000
P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """A database engine with its connection pool. Thread-safe; ``path`` is None on a server."""

    def __init__(self, where: str | Path) -> None:
        """Raise StoreError when ``where`` is neither a path nor a database URL."""
        self.path = _path_of(where)
        self.where = str(where)
        with _errors("open the catalogue"):
            if self.path:
                self.engine, self.schema = sqlite.make_engine(self.path), "main"
                self._open_files = sqlite.OpenFiles(self.engine, self.path)
            else:
                self.engine = postgresql.make_engine(self.where)
                self.schema = postgresql.address_of(self.where)[1]
                self._writers = postgresql.lock_key(self.schema, postgresql.WRITERS)
        self.dialect = self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read-only transaction: one snapshot, never blocked by a writer."""
        with _errors("read the catalogue"), self.engine.connect() as plain:
            if self.path:
                yield plain
                return
            yield plain.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )

    @contextmanager
    def write(self, seconds: float = postgresql.LOCK_SECONDS) -> Iterator[Connection]:
        """Open a write transaction, committed at the end and rolled back by an exception.

        Writers take turns; on a server they wait for at most ``seconds``.
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
        """Open an exclusive write transaction for migrations, and prepare the schema."""
        with self.write(sqlite.UPGRADE_SECONDS) as connection:
            if not self.path:
                postgresql.make_schema(connection, self.schema)
            yield connection
            if not self.path:
                postgresql.settle_schema(connection)

    def alone(self) -> AbstractContextManager[None]:
        """Exclude other processes inside the context, for setting up and upgrading.

        On a server, ``setting_up`` takes the lock.
        """
        return sqlite.exclusive(self.path) if self.path else nullcontext()

    def check_files(self) -> None:
        """Raise when the database's files were moved or replaced by another process."""
        if self.path and (lost := self._open_files.lost()):
            raise StoreError(
                f"{lost} is no longer the file that this process has open, so everything the "
                "process writes will be lost when it ends",
                hint="stop it, check with 'wellread verify', and start it again",
            )

    def forget_deleted(self) -> bool:
        """Remove deleted content from SQLite's write-ahead log; a server needs nothing.

        Returns False when a busy reader prevented it; call again later.
        """
        if not self.path:
            return True
        with _errors("clean up the catalogue"):
            return sqlite.truncate_log(self.engine)

    def rewrite(self, tables: Iterable[str]) -> bool:
        """Rewrite the file or tables without deleted rows; False if a reader still needs some."""
        if self.path:
            sqlite.rewrite(self.path)
            return self.forget_deleted()
        with _errors("rewrite the catalogue"):
            return postgresql.rewrite(self.engine, tables)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


class Moment(TypeDecorator[datetime]):
    """A time column, stored and returned in UTC; a time without a zone is taken as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC, without the zone for SQLite, which stores none."""
        if value is None:
            return None
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Restore the zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


def _path_of(where: str | Path) -> Path | None:
    """Return the SQLite file that ``where`` names; None for a PostgreSQL URL."""
    if isinstance(where, Path) or "://" not in where:
        return Path(where)
    postgresql.address_of(where)  # refuses other databases
    return None


@contextmanager
def _errors(action: str) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "orig", None) or error
        if sqlite.is_damage(reason):
            raise DamageError(
                f"could not {action}: its file is damaged",
                hint="'wellread verify --repair' restores the newest backup, or explains how to "
                "add the sources again",
            ) from error
        if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
            raise  # the value to store is invalid
        raise StoreError(
            f"could not {action}: {reason}",
            hint="check that the database is reachable, writable, unlocked and has free space",
        ) from error


class CataloguePart:
    """Base class of the catalogue's parts; their methods raise StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _rows(self, statement: Executable) -> Sequence[Any]:
        """Return all rows of a read-only statement."""
        with self._database.read() as connection:
            return connection.execute(statement).all()

    def _values(self, statement: Executable) -> list[Any]:
        """Return the first column of all rows of a read-only statement."""
        return [row[0] for row in self._rows(statement)]

    def _rows_in(self, statement: Select[Any], values: Iterable[str]) -> list[Any]:
        """Run ``rows_in`` in its own transaction."""
        with self._database.read() as connection:
            return list(rows_in(connection, statement, values))

    def _stream(self, statement: Executable) -> Iterator[Any]:
        """Yield the rows of one snapshot, with a few thousand in memory at a time."""
        with self._database.read() as connection:
            streaming = connection.execution_options(yield_per=STREAM_ROWS)
            with streaming.execute(statement) as rows:  # closed even when the caller stops early
                yield from rows

    def _run(self, *statements: Executable) -> None:
        """Run write statements in one transaction."""
        with self._database.write() as connection:
            for statement in statements:
                connection.execute(statement)


Query = Callable[Concatenate[Connection, P], T]
Method = Callable[Concatenate[CataloguePart, P], T]


def reading(query: Query[P, T]) -> Method[P, T]:
    """Turn ``query`` into a method of a part that runs in its own read-only transaction."""

    @wraps(query)
    def method(part: CataloguePart, /, *args: P.args, **options: P.kwargs) -> T:
        with part._database.read() as connection:
            return query(connection, *args, **options)

    return method


def writing(change: Query[P, T]) -> Method[P, T]:
    """Turn ``change`` into a method of a part that runs in its own write transaction."""

    @wraps(change)
    def method(part: CataloguePart, /, *args: P.args, **options: P.kwargs) -> T:
        with part._database.write() as connection:
            return change(connection, *args, **options)

    return method


def rows_to_values(kind: Callable[..., T], rows: Iterable[Any]) -> list[T]:
    """Convert each row to a ``kind`` whose fields have the names of the columns."""
    return [kind(**row._mapping) for row in rows]


def without_index(column: ColumnElement[str]) -> ColumnElement[str]:
    """Return ``column`` in a form that keeps the query planner from using its index.

    SQLite assumes that an equality is rarer than a list of ids, and would read a whole collection.
    """
    return column.concat("")


AT_ONCE = 500  # values in one IN (...), far below every database's limit


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Split ``values`` into lists of at most ``AT_ONCE``."""
    iterator = iter(values)
    while chunk := list(islice(iterator, AT_ONCE)):
        yield chunk


def rows_in(connection: Connection, statement: Select[Any], values: Iterable[str]) -> Iterator[Any]:
    """Yield the rows of ``statement`` for all ``values`` of its expanding parameter."""
    for chunk in chunks(dict.fromkeys(values)):
        yield from connection.execute(statement, {"values": chunk})


def insert_rows(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert ``rows`` into the table, if there are any."""
    if listed := list(rows):
        connection.execute(insert(table), listed)


def delete_rows(connection: Connection, column: Column[Any], values: Iterable[str]) -> None:
    """Delete the rows of the column's table that have one of ``values`` in it."""
    for chunk in chunks(values):
        connection.execute(delete(column.table).where(column.in_(chunk)))


def delete_oldest_day(connection: Connection, moment: Column[Any], before: datetime) -> int:
    """Delete rows whose ``moment`` is earlier than ``before``, and return their number.

    Only the oldest day's rows are deleted, so that a wrong clock cannot delete everything.
    """
    oldest = connection.execute(select(func.min(moment))).scalar()
    if oldest is None:
        return 0
    limit = min(before, oldest + timedelta(days=1))
    return connection.execute(delete(moment.table).where(moment < limit)).rowcount


MIGRATIONS = Path(__file__).parent.parent / "migrations"


def check_known(schema: str) -> None:
    """Raise for a schema version that this release does not know."""
    if not any(path.name.startswith(f"{schema}_") for path in (MIGRATIONS / "versions").iterdir()):
        raise StoreError(
            f"this release does not know the catalogue's schema {schema!r}",
            hint="a newer Wellread wrote it; update this one",
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


class Casefold(FunctionElement[str]):
    """SQL function that casefolds text of any script; the databases' own ``lower`` differ."""

    name = "folded"
    inherit_cache = True
    type = String()


@compiles(Casefold)
def _folded(element: Casefold, compiler: Any, **options: Any) -> str:
    return f"folded({compiler.process(element.clauses, **options)})"
