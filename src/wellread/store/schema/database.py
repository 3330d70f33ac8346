"""Connections, transactions and upgrades; the only place that knows one database from another."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from filelock import FileLock, Timeout
from sqlalchemy import (
    Connection,
    DateTime,
    Dialect,
    Engine,
    Executable,
    Select,
    String,
    TypeDecorator,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from wellread.errors import DamageError, StoreError
from wellread.store.schema.sqlite_errors import is_damage

BUSY_SECONDS = 30
READER_SECONDS = 5.0  # that deletes wait for a reader, to empty the write-ahead log
UPGRADE_SECONDS = 600.0
SCHEMA_LOCK = 0x77656C6C  # any number will do, as long as no other program takes it
STREAM_ROWS = 5_000
WRITE_OPTION = "wellread_write"
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


class Database:
    """One engine with its pool. Methods may be called from any thread."""

    def __init__(self, where: str | Path) -> None:
        """Raises StoreError when ``where`` is neither a path nor a database URL."""
        self.path = _path_of(where)
        url = f"sqlite:///{self.path}" if self.path else str(where)
        with _errors("open the catalogue"):
            if self.path:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self.engine = create_engine(url, pool_pre_ping=not self.path)
        if self.engine.dialect.name == "sqlite":
            _set_up_sqlite(self.engine)

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads: one snapshot, never blocked by a writer."""
        with _errors("read the catalogue"), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes: committed at the end, undone by an exception."""
        with _errors("write to the catalogue"), self.engine.connect() as plain:
            connection = plain.execution_options(**{WRITE_OPTION: True})
            with connection.begin():
                yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Only one process at a time is in here: for setting up and upgrading.

        Other databases than SQLite have a lock of their own for it (``lock_schema``).
        """
        if self.path is None:
            yield
            return
        try:
            with FileLock(self.path.with_name(f"{self.path.name}.lock"), timeout=UPGRADE_SECONDS):
                yield
        except Timeout as error:
            raise StoreError(
                f"{self.path} has been in the hands of another process for "
                f"{UPGRADE_SECONDS:.0f} seconds",
                hint="wait for its upgrade to end and try again",
            ) from error

    def lock_schema(self, connection: Connection) -> None:
        """Wait for other upgrades of the same database; ends with the transaction."""
        if self.engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"))

    def forget_deleted(self) -> bool:
        """Take deleted content out of the write-ahead log too, where there is one of our own.

        False when a reader that is busy just now made SQLite leave it to the next call.
        """
        if self.engine.dialect.name != "sqlite":
            return True
        with _errors("clean up the catalogue"), self.engine.connect() as plain:
            connection = plain.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text(f"PRAGMA busy_timeout={int(READER_SECONDS * 1000)}"))
            busy, _, _ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
            connection.execute(text(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}"))
        return not busy

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


class Folded(FunctionElement[str]):
    """A text without capitals, in SQL; SQLite's own ``lower`` knows those of ASCII only."""

    name = "folded"
    inherit_cache = True
    type = String()


@compiles(Folded)
def _lowered(element: Folded, compiler: Any, **options: Any) -> str:
    return f"lower({compiler.process(element.clauses, **options)})"


@compiles(Folded, "sqlite")
def _folded_here(element: Folded, compiler: Any, **options: Any) -> str:
    return f"folded({compiler.process(element.clauses, **options)})"


def _folded(text: str | None) -> str | None:
    return text.casefold() if text is not None else None


def _path_of(where: str | Path) -> Path | None:
    """The SQLite file that ``where`` names; None for another database's URL."""
    if isinstance(where, Path):
        return where
    if "://" not in where:
        return Path(where)
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise StoreError(
            f"{where!r} is not a database URL", hint="give a path, or postgresql+psycopg://…"
        ) from error
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:":
        raise StoreError("a catalogue in memory would be lost", hint="give the path of a file")
    return Path(url.database)


def _set_up_sqlite(engine: Engine) -> None:
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


@contextmanager
def _errors(action: str) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OSError, ValueError, zlib.error) as error:
        reason = getattr(error, "orig", None) or error
        if is_damage(reason):
            raise DamageError(
                f"could not {action}: its file is damaged",
                hint="'wellread verify --repair' saves what can be read and takes the rest from "
                "the newest backup",
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
            yield from connection.execution_options(yield_per=STREAM_ROWS).execute(statement)

    def _run(self, *statements: Executable) -> None:
        """Statements that write, in one transaction."""
        with self._database.write() as connection:
            for statement in statements:
                connection.execute(statement)


P = ParamSpec("P")
T = TypeVar("T")
Query = Callable[Concatenate[Connection, P], T]
Method = Callable[Concatenate[CataloguePart, P], T]


def reading(query: Query[P, T]) -> Method[P, T]:
    """``query`` as a method of a part: in a transaction of its own, which only reads."""
    return _in_transaction(query, lambda database: database.read())


def writing(change: Query[P, T]) -> Method[P, T]:
    """``change`` as a method of a part: in a transaction of its own."""
    return _in_transaction(change, lambda database: database.write())


def _in_transaction(
    query: Query[P, T], begin: Callable[[Database], AbstractContextManager[Connection]]
) -> Method[P, T]:
    @wraps(query)
    def method(part: CataloguePart, /, *args: P.args, **options: P.kwargs) -> T:
        with begin(part._database) as connection:
            return query(connection, *args, **options)

    return method


def made_of(kind: Callable[..., T], rows: Iterable[Any]) -> list[T]:
    """A value of each row, whose columns are called like the value's fields."""
    return [kind(**row._mapping) for row in rows]


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


MIGRATIONS = Path(__file__).parent.parent / "migrations"


def check_known(schema: str) -> None:
    """Refuse a schema that no migration of this release makes; nothing is written then.

    Raises:
        StoreError: the database was written by a newer release.
    """
    if not any(path.name.startswith(f"{schema}_") for path in (MIGRATIONS / "versions").iterdir()):
        raise StoreError(
            f"the catalogue's schema {schema!r} is not known here",
            hint="it was written by a newer Wellread; update this one",
        )


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Run the missing migrations up to ``revision`` inside the connection's transaction."""
    # Alembic takes a tenth of a second to load, and is needed once per release.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    # Alembic reads % in options as interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
