"""The catalogue on a PostgreSQL server: connections, schema set-up, and rewriting its tables.

The tables have their own schema, so that the database can serve other programs too. All locks are
advisory locks of a session, so a connection pooler must not share sessions between transactions
(docs/decisions/058-postgresql.md).
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

CONNECT_SECONDS = 10  # timeout for opening a connection
LOCK_SECONDS = 30  # how long a writer waits for others, as with SQLite
# A client that lost its power closes nothing: the server frees its locks after about a minute.
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

_LOCK_NOT_AVAILABLE = "55P03"  # lock_not_available
_CONTENT_ERRORS = ("22", "54")  # error classes: invalid data, program limit exceeded


def make_engine(where: str, **pool: Any) -> Engine:
    """Create an engine whose connections use the schema named in ``where``."""
    url, schema = address_of(where)
    client_options = {name: value for name, value in ON_CLIENT.items() if name not in url.query}
    try:
        engine = create_engine(
            url, connect_args=client_options, pool_pre_ping=True, **(pool or POOL)
        )
    except ModuleNotFoundError as error:
        raise StoreError(
            f"the PostgreSQL driver is not installed ({error.name})",
            hint="pip install 'wellread[postgres]'",
        ) from error

    # Runs before SQLAlchemy's own first queries, so that they see this schema.
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
    """Return the URL for the driver, and the schema that ``?schema=`` names."""
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # do not quote the URL: it may contain a password
        raise StoreError(
            "catalogue.url is not a database URL", hint=f"give a path, or {EXAMPLE}"
        ) from None
    if url.drivername not in SCHEMES:
        raise StoreError(
            f"{url.drivername!r} cannot hold a catalogue", hint=f"give a path, or {EXAMPLE}"
        )
    schema = str(url.query.get("schema", SCHEMA))
    if not _SCHEMA_NAME.fullmatch(schema):
        raise StoreError(
            f"{schema!r} is not a valid schema name",
            hint="use lower-case letters, digits and _, at most 63 characters",
        )
    return url.difference_update_query(["schema"]).set(drivername=DRIVER), schema


def lock_key(schema: str, name: str) -> int:
    """Return the number of an advisory lock, a signed 64-bit integer."""
    digest = hashlib.blake2b(f"{schema}\n{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def is_lock_timeout(error: DBAPIError) -> bool:
    """Whether a lock could not be acquired in time."""
    return getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE


def is_value_error(error: object) -> bool:
    """Whether the value to be written is at fault, not the state of the database."""
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    return code is not None and str(code)[:2] in _CONTENT_ERRORS


# --- the schema ----------------------------------------------------------------------------------


def make_schema(connection: Connection, schema: str) -> None:
    """Create the schema when it is missing."""
    encoding = connection.execute(text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        raise StoreError(
            f"the encoding of the database is {encoding}, not UTF8",
            hint="create another: CREATE DATABASE wellread ENCODING 'UTF8' TEMPLATE template0",
        )
    find_schema = text("SELECT 1 FROM pg_namespace WHERE nspname = :name")
    if connection.execute(find_schema, {"name": schema}).first() is None:
        connection.execute(text(f'CREATE SCHEMA "{schema}"'))


def settle_schema(connection: Connection) -> None:
    """Make new columns sort by code points, and define ``folded``, so that both match SQLite."""
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
    for table, alterations in changes.items():
        connection.execute(text(f"ALTER TABLE {table} {', '.join(alterations)}"))
    collations = set(connection.execute(text("SELECT collname FROM pg_collation")).scalars())
    folding = next(name for name in ("und-x-icu", "pg_c_utf8", "default") if name in collations)
    # Python's casefold() goes beyond lower(): both sigmas are one letter, and ß becomes ss.
    connection.exec_driver_sql(
        "CREATE OR REPLACE FUNCTION folded(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE"
        f" AS $$ SELECT replace(replace(lower($1 COLLATE \"{folding}\"), 'ς', 'σ'), 'ß', 'ss') $$"
    )


# --- stored rows ---------------------------------------------------------------------------------


def rewrite(engine: Engine, tables: Iterable[str]) -> bool:
    """Rewrite our tables without deleted rows; False when a transaction still sees some.

    Readers of a table wait while it is rewritten. Only the tables' own files are cleaned.
    """
    undeletable: list[str] = []

    def note(notice: Any) -> None:
        detail = re.search(r"\d+", notice.message_detail or "")
        if detail and int(detail[0]):  # "3 dead row versions cannot be removed yet", translated
            undeletable.append(notice.message_primary or "")

    with engine.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        raw: Any = connection.connection.driver_connection
        raw.add_notice_handler(note)
        try:
            for table in tables:
                connection.execute(text(f'VACUUM (FULL, VERBOSE, ANALYZE) "{table}"'))
        except DBAPIError as error:
            if not is_lock_timeout(error):
                raise
            return False
        finally:
            raw.remove_notice_handler(note)
    return not undeletable


def size(connection: Connection) -> int:
    """Return the size of our tables with their indexes, in bytes."""
    statement = text(
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    )
    return int(connection.execute(statement).scalar() or 0)


def advance_sequence(connection: Connection, column: Column[Any]) -> None:
    """Advance a column's sequence past the copied rows."""
    find_sequence = select(func.pg_get_serial_sequence(column.table.name, column.name))
    name = connection.execute(find_sequence).scalar()
    if name:
        highest = select(func.coalesce(func.max(column), 0) + 1).scalar_subquery()
        connection.execute(select(func.setval(name, highest, False)))
