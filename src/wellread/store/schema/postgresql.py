"""The catalogue on a PostgreSQL server: connections, the set-up of its schema, what is kept of it.

The tables stand in a schema of their own, so that the database may serve other programs too.
Locks and the lock of writers are advisory locks, which belong to a session: no pooler that shares
sessions between transactions may stand between (docs/decisions/058-postgresql.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from sqlalchemy import URL, Column, Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from wellread.errors import StoreError

DRIVER = "postgresql+psycopg"
SCHEMES = ("postgres", "postgresql", DRIVER)
SCHEMA = "wellread"
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
EXAMPLE = "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"

CONNECT_SECONDS = 10  # until an unanswered connection is given up
LOCK_SECONDS = 30  # that a writer waits for others, as with SQLite
# A machine that lost its power says nothing: after about a minute the server lets go of its locks.
ON_SERVER = (
    "tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
)
ON_CLIENT: dict[str, Any] = {
    "application_name": "wellread",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
POOL = {"pool_size": 10, "max_overflow": 30}
WRITERS = "writers"

_NOT_FREE = "55P03"  # a lock was not to be had in time
_OF_CONTENT = ("22", "54")  # classes of errors: no such value can be stored, or it is too large


def make_engine(where: str, **pool: Any) -> Engine:
    """The engine of a database, whose connections look into the schema of ``where``."""
    url, schema = address_of(where)
    given = {name: value for name, value in ON_CLIENT.items() if name not in url.query}
    try:
        engine = create_engine(
            url,
            connect_args=given,
            pool_pre_ping=True,
            **(pool or POOL),
        )
    except ModuleNotFoundError as error:
        raise StoreError(
            f"the driver of PostgreSQL is not installed ({error.name})",
            hint="pip install 'wellread[postgres]'",
        ) from error

    # Before SQLAlchemy asks its own first questions, so that it sees this schema.
    @event.listens_for(engine, "connect", insert=True)
    def prepare(raw: Any, _record: object) -> None:
        raw.autocommit = True
        raw.execute(
            f'SET search_path = "{schema}"; SET lock_timeout = {LOCK_SECONDS * 1000}; '
            f"SET TIME ZONE 'UTC'; SET {ON_SERVER}"
        )
        raw.autocommit = False

    return engine


def address_of(where: str) -> tuple[URL, str]:
    """The URL for the driver, and the schema that ``?schema=`` names in it."""
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # what was given may hold a password
        raise StoreError(
            "catalogue.url is not a database URL", hint=f"give a path, or {EXAMPLE}"
        ) from None
    if url.drivername not in SCHEMES:
        raise StoreError(
            f"a catalogue cannot be kept in {url.drivername!r}", hint=f"give a path, or {EXAMPLE}"
        )
    schema = str(url.query.get("schema", SCHEMA))
    if not _SCHEMA_NAME.fullmatch(schema):
        raise StoreError(
            f"{schema!r} is no name for a schema",
            hint="small letters, digits and _, at most 63 of them",
        )
    return url.difference_update_query(["schema"]).set(drivername=DRIVER), schema


def lock_key(schema: str, name: str) -> int:
    """The number of an advisory lock: 64 bits with a sign."""
    digest = hashlib.blake2b(f"{schema}\n{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def not_free(error: DBAPIError) -> bool:
    """Whether a lock was not to be had in time."""
    return getattr(error.orig, "sqlstate", None) == _NOT_FREE


def of_content(error: object) -> bool:
    """Whether the database cannot take what was to be written, whatever state it is in."""
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    return code is not None and str(code)[:2] in _OF_CONTENT


# --- the schema ----------------------------------------------------------------------------------


def make_schema(connection: Connection, schema: str) -> None:
    """Make the schema when it is not there."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise StoreError(
            f"the database keeps its texts as {encoding}",
            hint="make another one: CREATE DATABASE wellread ENCODING 'UTF8' TEMPLATE template0",
        )
    there = text("SELECT 1 FROM pg_namespace WHERE nspname = :name")
    if connection.execute(there, {"name": schema}).first() is None:
        connection.execute(text(f'CREATE SCHEMA "{schema}"'))


def settle_schema(connection: Connection) -> None:
    """After migrations: order by code points as SQLite does, and fold capitals as it does."""
    columns = text(
        "SELECT attrelid::regclass::text, quote_ident(attname), format_type(atttypid, atttypmod)"
        " FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
        " JOIN pg_collation ON pg_collation.oid = attcollation"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        " AND attnum > 0 AND NOT attisdropped AND collname <> 'C' AND relname <> 'alembic_version'"
        " ORDER BY 1, attnum"
    )
    changes: dict[str, list[str]] = {}
    for table, column, kind in connection.execute(columns).all():
        changes.setdefault(table, []).append(f'ALTER COLUMN {column} TYPE {kind} COLLATE "C"')
    for table, each in changes.items():
        connection.execute(text(f"ALTER TABLE {table} {', '.join(each)}"))
    known = set(connection.execute(text("SELECT collname FROM pg_collation")).scalars())
    folding = next(one for one in ("und-x-icu", "pg_c_utf8", "default") if one in known)
    # What Python's casefold() does beyond lower(): both sigmas are one letter, and ß is ss.
    connection.exec_driver_sql(
        "CREATE OR REPLACE FUNCTION folded(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE"
        f" AS $$ SELECT replace(replace(lower($1 COLLATE \"{folding}\"), 'ς', 'σ'), 'ß', 'ss') $$"
    )


# --- what is kept --------------------------------------------------------------------------------


def rewrite(engine: Engine, tables: Iterable[str]) -> bool:
    """Write our tables anew without deleted rows; False when a transaction still sees some.

    Readers of a table wait while it is written. Only what the tables' own files hold goes.
    """
    left: list[str] = []

    def note(told: Any) -> None:
        detail = re.search(r"\d+", told.message_detail or "")
        if detail and int(detail[0]):  # "3 dead row versions cannot be removed yet", translated
            left.append(told.message_primary or "")

    with engine.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        raw: Any = connection.connection.driver_connection
        raw.add_notice_handler(note)
        try:
            for table in tables:
                connection.execute(text(f'VACUUM (FULL, VERBOSE, ANALYZE) "{table}"'))
        except DBAPIError as error:
            if not not_free(error):
                raise
            return False
        finally:
            raw.remove_notice_handler(note)
    return not left


def size(connection: Connection) -> int:
    """Bytes of our tables on the server, with their search trees."""
    statement = text(
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    )
    return int(connection.execute(statement).scalar() or 0)


def count_on(connection: Connection, column: Column[Any]) -> None:
    """Rows were copied with their numbers: the next one gets a higher number."""
    found = select(func.pg_get_serial_sequence(column.table.name, column.name))
    name = connection.execute(found).scalar()
    if name:
        highest = select(func.coalesce(func.max(column), 0) + 1).scalar_subquery()
        connection.execute(select(func.setval(name, highest, False)))
