"""Restricts catalogue reads to the rows that one user may read, by views that shadow the tables.

On every connection of a restricted user, each table is shadowed by a temporary view of the same
name that selects the readable rows only. SQLite and PostgreSQL resolve a plain name to the
temporary view first, so every query, however it is written, reads the views: no query can forget
the filter. Nothing can be written through the views.

``RULES`` defines for each table which rows are readable; a table without a rule fails a test and
has no readable rows. Two small temporary tables hold the read scope: ``readable`` the names of the
collections, ``asker`` the owner (NULL: all owners, to learn from everybody's feedback) and whether
the request uses an API key that is limited to these collections.

All restricted users of one catalogue share the connections; the read scope is set before each use.
Writes go to the tables themselves: the parts of the catalogue that write for a user name its owner
and only ids that this user was shown.
"""

# ruff: noqa: S608 - this SQL contains no user input

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlalchemy import Connection, event, text

from wellread.errors import RequestError
from wellread.store.schema.database import Database
from wellread.store.schema.postgresql import LOCK_SECONDS
from wellread.store.schema.tables import metadata

# The kind of an answer's topics, and the key of a research step, that record the collections which
# the answer or the run could use.
READ = "read"

_READABLE = "(SELECT name FROM {temp}.readable)"
_DOCUMENT_EXISTS = "EXISTS (SELECT 1 FROM {main}.documents d WHERE d.id = "


def _readable(column: str) -> str:
    """The condition that the row belongs to a readable document."""
    return f"{_DOCUMENT_EXISTS}{column} AND d.collection IN {_READABLE})"


def _hidden(column: str) -> str:
    """The condition that the row names an existing document that is not readable."""
    return f"{_DOCUMENT_EXISTS}{column} AND d.collection NOT IN {_READABLE})"


def _collection_readable(column: str) -> str:
    # The plus sign keeps SQLite from using the index on collections instead of the query's own.
    return f"{{plain_sign}}{column} IN {_READABLE}"


def _parent_readable(parent: str, column: str) -> str:
    """The condition that the row's parent in another table is readable."""
    return f"EXISTS (SELECT 1 FROM {{temp}}.{parent} p WHERE p.id = t.{column})"


def _answer_readable(column: str) -> str:
    """The condition that the named answer is readable or does not exist."""
    return (
        f"(NOT EXISTS (SELECT 1 FROM {{main}}.answers a WHERE a.id = t.{column})"
        f" OR {_parent_readable('answers', column)})"
    )


_NOT_LIMITED = "(SELECT limited FROM {temp}.asker) = 0"
_IS_OWN = "(t.owner = (SELECT owner FROM {temp}.asker) OR (SELECT owner FROM {temp}.asker) IS NULL)"

# An answer is readable when every document that it cites or mentions, and every existing collection
# that it could use, is readable. To learn from its feedback (owner NULL), the answer must also cite
# existing documents only, at least one, and its collections must be recorded.
_ANSWER = (
    f"{_IS_OWN}"
    " AND NOT EXISTS (SELECT 1 FROM {main}.answer_citations e WHERE e.answer_id = t.id"
    f" AND {_hidden('e.document_id')})"
    " AND NOT EXISTS (SELECT 1 FROM {main}.answer_topics r WHERE r.answer_id = t.id"
    f" AND r.kind = '{READ}' AND r.topic NOT IN {_READABLE}"
    " AND EXISTS (SELECT 1 FROM {main}.documents d WHERE d.collection = r.topic))"
    " AND ((SELECT owner FROM {temp}.asker) IS NOT NULL OR"
    " (EXISTS (SELECT 1 FROM {main}.answer_citations e JOIN {main}.documents d"
    " ON d.id = e.document_id WHERE e.answer_id = t.id)"
    " AND EXISTS (SELECT 1 FROM {main}.answer_topics r WHERE r.answer_id = t.id"
    f" AND r.kind = '{READ}')"
    " AND NOT EXISTS (SELECT 1 FROM {main}.answer_citations e WHERE e.answer_id = t.id"
    " AND e.version <> ''"
    " AND NOT EXISTS (SELECT 1 FROM {main}.documents d WHERE d.id = e.document_id))))"
)
_FEEDBACK = (
    f"{_parent_readable('answers', 'answer_id')} AND NOT EXISTS"
    " (SELECT 1 FROM {items(t.body,citations)} c WHERE "
    f"{_hidden('{text(c.value,document_id)}')})"
    " AND NOT EXISTS (SELECT 1 FROM {items(t.body,sentences)} c WHERE "
    f"{_hidden('{text(c.value,citation.document_id)}')})"
)
_GAP = (
    f"{_IS_OWN} AND NOT EXISTS (SELECT 1 FROM {{items(t.scope)}} s"
    f" WHERE s.value NOT IN {_READABLE})"
    f" AND {_answer_readable('answer_id')} AND {_answer_readable('closed_by')}"
)
_RUN = (
    f"{_IS_OWN} AND NOT EXISTS (SELECT 1 FROM {{main}}.research_reads e WHERE e.run_id = t.id"
    f" AND {_hidden('e.document_id')}) AND {_answer_readable('answer_id')}"
    " AND NOT EXISTS (SELECT 1 FROM {main}.research_steps s, {items(s.result)} n"
    f" WHERE s.run_id = t.id AND s.key = '{READ}' AND n.value NOT IN {_READABLE}"
    " AND EXISTS (SELECT 1 FROM {main}.documents d WHERE d.collection = n.value))"
)
_NO_ROWS = "1 = 0"

_DOCUMENT_TABLES = (
    *("texts", "marks", "document_names", "passages", "past_questions", "entities", "relations"),
    *("mentions", "mention_scans", "story_items", "vector_debts", "next_passages"),
    "index_writes",
)
_ANSWER_TABLES = ("citations", "sentences", "facts", "steps")
ACCOUNT_TABLES = (
    *("users", "user_groups", "group_members", "grants", "api_keys", "web_sessions"),
    *("sign_in_attempts", "audit"),
)

RULES = {
    **dict.fromkeys(_DOCUMENT_TABLES, _readable("t.document_id")),
    **{f"answer_{name}": _parent_readable("answers", "answer_id") for name in _ANSWER_TABLES},
    "documents": _collection_readable("t.collection"),
    "sources": _collection_readable("t.collection"),
    "collections": _collection_readable("t.name"),
    "stories": _collection_readable("t.collection"),
    "jobs": _collection_readable("t.collection"),
    "job_items": _parent_readable("jobs", "job_id"),
    "answers": _ANSWER,
    "answer_topics": f"{_parent_readable('answers', 'answer_id')} AND t.kind <> '{READ}'",
    "cached_answers": _parent_readable("answers", "answer_id"),
    "feedback": _FEEDBACK,
    "feedback_marks": f"{_parent_readable('feedback', 'feedback_id')} AND NOT {_hidden('t.key')}",
    "sessions": f"{_IS_OWN} AND ({_NOT_LIMITED} OR NOT EXISTS (SELECT 1 FROM {{main}}.answers a"
    " WHERE a.session_id = t.id AND a.owner = t.owner"
    " AND NOT EXISTS (SELECT 1 FROM {temp}.answers p WHERE p.id = a.id)))",
    "gaps": _GAP,
    "preferences": _IS_OWN,
    "research_runs": _RUN,
    "research_steps": _parent_readable("research_runs", "run_id"),
    "research_events": _parent_readable("research_runs", "run_id"),
    "research_reads": _parent_readable("research_runs", "run_id"),
    # The cost of model calls would reveal when, and how much, other users ask.
    "provider_calls": _NO_ROWS,
    # Users and their rights are read by the sign-in code, which uses the unrestricted catalogue.
    **dict.fromkeys(ACCOUNT_TABLES, _NO_ROWS),
    # Properties include the live index and the rules by which a collection's stories were made.
    "properties": f"(t.key NOT LIKE 'stories/%' OR substr(t.key, 9) IN {_READABLE})",
}


def view_statements(dialect: str, schema: str) -> Iterator[str]:
    """The SQL that creates the views and their temporary tables, run once per connection."""
    temp = "temp" if dialect == "sqlite" else "pg_temp"
    rowid = " WITHOUT ROWID" if dialect == "sqlite" else ""
    yield f"CREATE TEMP TABLE readable (name TEXT PRIMARY KEY){rowid}"
    yield "CREATE TEMP TABLE asker (owner TEXT, limited INTEGER)"
    # Views that other views read are created first.
    order = ("answers", "feedback", "jobs", "research_runs")
    for table in (*order, *sorted(set(metadata.tables) - set(order))):
        rule = _for_dialect(RULES.get(table, _NO_ROWS), dialect)
        rule = rule.replace("{main}", schema).replace("{temp}", temp)
        yield f"CREATE TEMP VIEW {table} AS SELECT t.* FROM {schema}.{table} t WHERE {rule}"


_JSON = re.compile(r"\{(items|text)\(([\w.]+)(?:,([\w.]+))?\)\}")


def _for_dialect(rule: str, dialect: str) -> str:
    """``rule`` with its JSON placeholders replaced by the syntax of the database."""

    def in_sqlite(match: re.Match[str]) -> str:
        function = "json_each" if match[1] == "items" else "json_extract"
        path = f", '$.{match[3]}'" if match[3] else ""
        return f"{function}({match[2]}{path})"

    def in_postgresql(match: re.Match[str]) -> str:
        kind, column, path = match.groups()
        if kind == "text":
            return f"({column} #>> '{{{path.replace('.', ',')}}}')"
        if path:
            return f"json_array_elements({column} -> '{path}')"
        return f"json_array_elements_text({column})"

    sqlite = dialect == "sqlite"
    rule = rule.replace("{plain_sign}", "+" if sqlite else "")
    return _JSON.sub(in_sqlite if sqlite else in_postgresql, rule)


_SCOPE = "wellread_who"  # the key in a pooled connection's ``info`` for its read scope


@dataclass(frozen=True, slots=True)
class ReadScope:
    """The collections that a user may read, and the owner of answers and sessions (None: all)."""

    collections: frozenset[str]
    owner: str | None
    limited: bool = False


class RestrictedReaders:
    """Read connections that the restricted users of one catalogue share. Thread-safe."""

    def __init__(self, source: Database) -> None:
        self.unrestricted = source
        self._database = Database(source.path or source.where)
        event.listen(self._database.engine, "connect", _create_views(source.dialect, source.schema))

    @contextmanager
    def read(self, scope: ReadScope) -> Iterator[Connection]:
        """A read-only transaction that sees only the rows within ``scope``."""
        with self._database.read() as connection:
            if connection.info.get(_SCOPE) != scope:
                connection.info.pop(_SCOPE, None)
                _set_scope(connection, scope)
                connection.info[_SCOPE] = scope
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._database.close()


def refuse_to_write(*_: Any, **__: Any) -> NoReturn:
    """Raise, because a user changes the material otherwise."""
    raise RequestError(
        "this view of the material is read-only",
        hint="change the material with a job, or with a command on the server itself",
    )


class RestrictedDatabase(Database):
    """The catalogue's database for one user: reads through the views, writes to the tables.

    It has no engine of its own, so that no read can bypass the views.
    """

    def __init__(
        self, readers: RestrictedReaders, scope: ReadScope, *, writable: bool = True
    ) -> None:
        self.path, self.dialect = readers.unrestricted.path, readers.unrestricted.dialect
        self.readers, self.scope, self._writable = readers, scope, writable

    def without_writes(self) -> RestrictedDatabase:
        """The same rows, read-only."""
        return RestrictedDatabase(self.readers, self.scope, writable=False)

    def of_all_owners(self) -> RestrictedDatabase:
        """The rows of all owners within the same collections, to learn from."""
        return RestrictedDatabase(self.readers, ReadScope(self.scope.collections, None))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction that sees only the readable rows."""
        with self.readers.read(self.scope) as connection:
            yield connection

    @contextmanager
    def write(self, seconds: float = LOCK_SECONDS) -> Iterator[Connection]:
        """A write transaction on the tables themselves."""
        if not self._writable:
            refuse_to_write()
        with self.readers.unrestricted.write(seconds) as connection:
            yield connection

    def forget_deleted(self) -> bool:
        """As ``Database.forget_deleted``."""
        return self.readers.unrestricted.forget_deleted()

    def close(self) -> None:
        """Do nothing, since the connections are shared."""


def is_restricted(connection: Connection) -> bool:
    """Whether the connection reads the restricting views in place of the tables."""
    return _SCOPE in connection.info


def _create_views(dialect: str, schema: str) -> Any:
    ddl = list(view_statements(dialect, schema))

    def prepare(raw: Any, _record: object) -> None:
        cursor = raw.cursor()
        for statement in ddl:
            cursor.execute(statement)
        cursor.close()
        if dialect != "sqlite":
            raw.commit()

    return prepare


def _set_scope(connection: Connection, scope: ReadScope) -> None:
    connection.execute(text("DELETE FROM readable"))
    connection.execute(text("DELETE FROM asker"))
    names = [{"name": name} for name in sorted(scope.collections)]
    if names:
        connection.execute(text("INSERT INTO readable (name) VALUES (:name)"), names)
    asker = {"owner": scope.owner, "limited": int(scope.limited)}
    connection.execute(text("INSERT INTO asker VALUES (:owner, :limited)"), asker)
    connection.commit()
