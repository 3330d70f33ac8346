"""What an asker may read of the catalogue, as views that take the place of the tables.

Every connection of a restricted asker holds, for each table, a temporary view of the same name
that shows the readable rows only. SQLite and PostgreSQL look a plain name up among the temporary
ones first, so that every query, however it is written, reads the views: there is no filter that
one of them could forget. Nothing can be written through them.

``RULES`` says for each table which rows are readable; a table without a rule fails a test, and
shows nothing. Two small temporary tables hold who asks: ``readable`` the names of collections,
``asker`` the owner (NULL: of everybody, for what is learned from all) and whether a key asks that
is limited to these collections.

All restricted askers of one catalogue share the connections; before it is used, each is told who
asks. What is written goes to the tables themselves: the parts of the catalogue that write for an
asker name its owner and ids that it was shown.
"""

# ruff: noqa: S608 - every word of this SQL is ours

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, event, text

from wellread.errors import RequestError
from wellread.store.schema.database import Database
from wellread.store.schema.postgresql import LOCK_SECONDS
from wellread.store.schema.tables import metadata

# The kind of an answer's topics, and the key of a run's step, that name the collections that it
# could be drawn from.
READ = "read"

_READABLE = "(SELECT name FROM {temp}.readable)"
_THERE = "EXISTS (SELECT 1 FROM {main}.documents d WHERE d.id = "


def _document(column: str) -> str:
    """The row belongs to a document, which is readable."""
    return f"{_THERE}{column} AND d.collection IN {_READABLE})"


def _hidden(column: str) -> str:
    """The row names a document that is there and may not be read."""
    return f"{_THERE}{column} AND d.collection NOT IN {_READABLE})"


def _collection(column: str) -> str:
    # The sign keeps SQLite from looking the names up in place of what the query looks for.
    return f"{{plain_sign}}{column} IN {_READABLE}"


def _of(parent: str, column: str) -> str:
    """The row goes with one of another table, and is read where that is."""
    return f"EXISTS (SELECT 1 FROM {{temp}}.{parent} p WHERE p.id = t.{column})"


def _answer_known(column: str) -> str:
    """The answer that is named, if it is there at all, is readable."""
    return (
        f"(NOT EXISTS (SELECT 1 FROM {{main}}.answers a WHERE a.id = t.{column})"
        f" OR {_of('answers', column)})"
    )


_NOT_LIMITED = "(SELECT limited FROM {temp}.asker) = 0"
_OWN = "(t.owner = (SELECT owner FROM {temp}.asker) OR (SELECT owner FROM {temp}.asker) IS NULL)"

# All that the answer rests on or names is readable, and all that it could be drawn from and that
# is there still. An answer that experts' words are learned from has to be known to rest on
# something, of which all is there.
_ANSWER = (
    f"{_OWN}"
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
    f"{_of('answers', 'answer_id')} AND NOT EXISTS"
    " (SELECT 1 FROM {items(t.body,citations)} c WHERE "
    f"{_hidden('{text(c.value,document_id)}')})"
    " AND NOT EXISTS (SELECT 1 FROM {items(t.body,sentences)} c WHERE "
    f"{_hidden('{text(c.value,citation.document_id)}')})"
)
_GAP = (
    f"{_OWN} AND NOT EXISTS (SELECT 1 FROM {{items(t.scope)}} s"
    f" WHERE {{plain(s.value)}} NOT IN {_READABLE})"
    f" AND {_answer_known('answer_id')} AND {_answer_known('closed_by')}"
)
_RUN = (
    f"{_OWN} AND NOT EXISTS (SELECT 1 FROM {{main}}.research_reads e WHERE e.run_id = t.id"
    f" AND {_hidden('e.document_id')}) AND {_answer_known('answer_id')}"
    " AND NOT EXISTS (SELECT 1 FROM {main}.research_steps s, {items(s.result)} n"
    f" WHERE s.run_id = t.id AND s.key = '{READ}' AND {{plain(n.value)}} NOT IN {_READABLE}"
    " AND EXISTS (SELECT 1 FROM {main}.documents d WHERE d.collection = {plain(n.value)}))"
)
_NOBODY = "1 = 0"

RULES = {
    "documents": _collection("t.collection"),
    "texts": _document("t.document_id"),
    "marks": _document("t.document_id"),
    "document_names": _document("t.document_id"),
    "passages": _document("t.document_id"),
    "past_questions": _document("t.document_id"),
    "entities": _document("t.document_id"),
    "relations": _document("t.document_id"),
    "mentions": _document("t.document_id"),
    "mention_scans": _document("t.document_id"),
    "story_items": _document("t.document_id"),
    "vector_debts": _document("t.document_id"),
    "next_documents": _document("t.document_id"),
    "next_passages": _document("t.document_id"),
    "index_writes": _document("t.document_id"),
    "sources": _collection("t.collection"),
    "collections": _collection("t.name"),
    "stories": _collection("t.collection"),
    "jobs": _collection("t.collection"),
    "job_items": _of("jobs", "job_id"),
    "answers": _ANSWER,
    "answer_citations": _of("answers", "answer_id"),
    "answer_sentences": _of("answers", "answer_id"),
    "answer_facts": _of("answers", "answer_id"),
    "answer_steps": _of("answers", "answer_id"),
    "answer_topics": f"{_of('answers', 'answer_id')} AND t.kind <> '{READ}'",
    "cached_answers": _of("answers", "answer_id"),
    "feedback": _FEEDBACK,
    "feedback_marks": f"{_of('feedback', 'feedback_id')} AND NOT {_hidden('t.key')}",
    "sessions": f"{_OWN} AND ({_NOT_LIMITED} OR NOT EXISTS (SELECT 1 FROM {{main}}.answers a"
    " WHERE a.session_id = t.id AND a.owner = t.owner"
    " AND NOT EXISTS (SELECT 1 FROM {temp}.answers p WHERE p.id = a.id)))",
    "gaps": _GAP,
    "notices": f"{_OWN} AND {_answer_known('target')}",
    "preferences": _OWN,
    "research_runs": _RUN,
    "research_steps": _of("research_runs", "run_id"),
    "research_events": _of("research_runs", "run_id"),
    "research_reads": _of("research_runs", "run_id"),
    # What calls of models cost says when others asked, and how much.
    "provider_calls": _NOBODY,
    # Who there is and what they may do: told by the sign-in, which reads the whole catalogue.
    **dict.fromkeys(
        (
            "users",
            "user_groups",
            "group_members",
            "grants",
            "api_keys",
            "web_sessions",
            "sign_in_attempts",
            "audit",
        ),
        _NOBODY,
    ),
    # Which index is live; how a collection's stories were made.
    "properties": f"(t.key NOT LIKE 'stories/%' OR substr(t.key, 9) IN {_READABLE})",
}


def statements(dialect: str, schema: str) -> Iterator[str]:
    """What makes the views and what they look up, once per connection."""
    temp = "temp" if dialect == "sqlite" else "pg_temp"
    rowid = " WITHOUT ROWID" if dialect == "sqlite" else ""
    yield f"CREATE TEMP TABLE readable (name TEXT PRIMARY KEY){rowid}"
    yield "CREATE TEMP TABLE asker (owner TEXT, limited INTEGER)"
    # Those that others look into come first.
    order = ("answers", "feedback", "jobs", "research_runs")
    for table in (*order, *sorted(set(metadata.tables) - set(order))):
        rule = _written(RULES.get(table, _NOBODY), dialect)
        rule = rule.replace("{main}", schema).replace("{temp}", temp)
        yield f"CREATE TEMP VIEW {table} AS SELECT t.* FROM {schema}.{table} t WHERE {rule}"


def _written(rule: str, dialect: str) -> str:
    """A rule with what the two databases write differently of JSON."""
    sqlite = dialect == "sqlite"
    pairs = {
        "{items(t.body,citations)}": (
            "json_each(t.body, '$.citations')",
            "json_array_elements(t.body -> 'citations')",
        ),
        "{items(t.body,sentences)}": (
            "json_each(t.body, '$.sentences')",
            "json_array_elements(t.body -> 'sentences')",
        ),
        "{text(c.value,citation.document_id)}": (
            "json_extract(c.value, '$.citation.document_id')",
            "(c.value -> 'citation' ->> 'document_id')",
        ),
        "{text(c.value,document_id)}": (
            "json_extract(c.value, '$.document_id')",
            "(c.value ->> 'document_id')",
        ),
        "{items(t.scope)}": ("json_each(t.scope)", "json_array_elements_text(t.scope)"),
        "{plain_sign}": ("+", ""),
        "{plain(s.value)}": ("s.value", "s.value"),
        "{items(s.result)}": ("json_each(s.result)", "json_array_elements_text(s.result)"),
        "{plain(n.value)}": ("n.value", "n.value"),
    }
    for name, (there, here) in pairs.items():
        rule = rule.replace(name, there if sqlite else here)
    return rule


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
        """A transaction that writes, to all tables."""
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
    made = list(statements(dialect, schema))

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
