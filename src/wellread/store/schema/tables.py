"""Defines the tables of the catalogue; a new catalogue is created from these definitions.

Text and marks have separate tables, so that lists, filters and look-ups of facts read only small
rows.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

from wellread.store.schema.database import Moment

# The newest migration; opening compares it with the database before it loads Alembic.
HEAD = "0103"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, *parts: Column[Any] | UniqueConstraint | Index) -> Table:
    """Define a table of the catalogue."""
    return Table(name, metadata, *parts)


def required(
    kind: type[TypeEngine[Any]], names: str, *, default: str | None = None
) -> list[Column[Any]]:
    """Return non-null columns of one type, with names as words of ``names``."""
    return [Column(name, kind, nullable=False, server_default=default) for name in names.split()]


def indexed(name: str, kind: type[TypeEngine[Any]] = String, **options: Any) -> Column[Any]:
    """Return a non-null column with an index."""
    return Column(name, kind, nullable=False, index=True, **options)


def ordinal_key(name: str) -> Column[int]:
    """Return the primary-key column that numbers the rows of one parent."""
    return Column(name, Integer, primary_key=True, autoincrement=False)


def key_of(parent: str, *, column: str = "document_id", primary_key: bool = True) -> Column[str]:
    """Return a foreign key to the table ``parent`` whose rows are deleted with the parent row."""
    reference = ForeignKey(f"{parent}.id", ondelete="CASCADE")
    return Column(column, String, reference, primary_key=primary_key, nullable=False)


# --- documents ---

documents = table(
    "documents",
    Column("id", String, primary_key=True),
    *required(String, "collection uri kind source_type language version facts source_uri"),
    *required(Text, "title url summary media_url"),
    *required(JSON, "authors taxonomy"),
    Column("published_at", Moment),
    *required(Integer, "characters passages"),
    *required(Moment, "added_at updated_at"),
    UniqueConstraint("collection", "uri"),
    Index(None, "collection", "source_uri"),
    Index(None, "collection", "published_at"),
)

# In the order of a list of documents, which reads no further than its page. SQLite has NULLS LAST
# as its own order of falling values and refuses the words.
_NEWEST = {"sqlite": documents.c.published_at.desc()}
_NEWEST["postgresql"] = _NEWEST["sqlite"].nulls_last()
NEWEST_FIRST = [
    Index("ix_documents_newest", newest, documents.c.title, documents.c.id).ddl_if(dialect)
    for dialect, newest in _NEWEST.items()
]

# The text in pieces of PIECE characters, so that a passage of a long book costs no more to read; an
# empty text is one empty piece.
PIECE = 4096

texts = table("texts", key_of("documents"), ordinal_key("piece"), *required(Text, "text"))

marks = table("marks", key_of("documents"), *required(LargeBinary, "blob"))

passages = table(
    "passages",
    Column("id", String, primary_key=True),
    key_of("documents", primary_key=False),
    *required(String, "version"),
    *required(Integer, "ordinal start end"),
    *required(Text, "context"),
    *required(JSON, "speakers"),
    UniqueConstraint("document_id", "ordinal"),
)

# The names by which a question may refer to a document or its fields (``name_records.py``).
document_names = table(
    "document_names",
    key_of("documents"),
    ordinal_key("ordinal"),
    *required(String, "collection sort key value"),
    Index(None, "sort", "key", "value", "collection"),
)

sources = table(
    "sources",
    Column("collection", String, primary_key=True),
    Column("uri", String, primary_key=True),
    *required(BigInteger, "size mtime_ns"),
    *required(String, "digest loader status root etag last_modified"),
    *required(Text, "reason"),
    *required(Moment, "seen_at"),
)

collections = table(
    "collections",
    Column("name", String, primary_key=True),
    *required(JSON, "settings"),
    *required(Moment, "updated_at"),
)

past_questions = table(
    "past_questions",
    key_of("documents"),
    *required(Text, "question"),
    Column("score", Integer),
    *required(JSON, "body"),
)

# --- links between documents ---

entities = table(
    "entities",
    key_of("documents"),
    indexed("entity_id"),
    *required(String, "entity_type"),
    *required(JSON, "aliases"),
)

# ``target`` is not a foreign key: an edge may point to an entity that does not exist yet.
relations = table(
    "relations",
    key_of("documents"),
    ordinal_key("ordinal"),
    indexed("source"),
    *required(String, "type"),
    indexed("target"),
)

# Places where a document names an entity of its collection.
mentions = table(
    "mentions",
    key_of("documents"),
    ordinal_key("ordinal"),
    indexed("entity_id"),
    *required(Integer, "start end"),
    *required(String, "name"),
)

# The hash of the names that a document version was searched for; another hash means search again.
mention_scans = table("mention_scans", key_of("documents"), *required(String, "version names"))

# ``dirty``: an item of the story changed or was removed, so its text and figures are outdated.
stories = table(
    "stories",
    Column("id", String, primary_key=True),
    indexed("collection"),
    *required(Text, "title summary"),
    *required(JSON, "terms"),
    *required(LargeBinary, "centroid"),
    *required(String, "embedder"),
    Column("first_at", Moment),
    Column("last_at", Moment),
    *required(Integer, "items sources"),
    *required(Float, "novelty"),
    *required(Boolean, "dirty"),
)

# The document parts that stories consist of; without ``story_id`` the part belongs to no story.
# ``repeats``: ``document_id:start`` of the item that this one repeats; empty for an original.
story_items = table(
    "story_items",
    key_of("documents"),
    ordinal_key("start"),
    *required(Integer, "end"),
    *required(String, "version repeats"),
    Column("story_id", String, ForeignKey("stories.id", ondelete="SET NULL"), index=True),
    Column("published_at", Moment),
    *required(LargeBinary, "vector fingerprint"),
)

# --- answers ---

# ``body``: the rest of the answer.
answers = table(
    "answers",
    Column("id", String, primary_key=True),
    indexed("created_at", Moment),
    indexed("session_id"),
    *required(String, "owner answered_by type"),
    *required(Float, "confidence"),
    *required(Boolean, "stale"),
    *required(Text, "question text"),
    *required(JSON, "body"),
)

# ``text``: the sentence if it differs from the answer's text at its span.
answer_sentences = table(
    "answer_sentences",
    key_of("answers", column="answer_id"),
    ordinal_key("ordinal"),
    *required(Integer, "start end"),
    Column("text", Text),
    *required(JSON, "verdict citations"),
    *required(Boolean, "marked within"),
)

# The sources of an answer: its citations (with a ``number``), the sources of its table's rows
# (without a number) and documents that it only names (without a version). ``document_id`` is not a
# foreign key: an answer outlives the documents that it cites. ``start``, ``end``: span in the
# document's text; ``shape``: filled when the source is removed; ``told``: title, kind and date of
# the source, relevance, verdict.
answer_citations = table(
    "answer_citations",
    key_of("answers", column="answer_id"),
    ordinal_key("ordinal"),
    indexed("document_id"),
    *required(String, "version"),
    *required(Integer, "start end number answer_start answer_end"),
    *required(Text, "quote link url why shape"),
    *required(JSON, "locator told"),
)

# ``key``: a hash of the question, its scope, the settings and the state of the material.
cached_answers = table(
    "cached_answers",
    Column("key", String, primary_key=True),
    key_of("answers", column="answer_id", primary_key=False),
    *required(Moment, "created_at"),
    Index(None, "answer_id"),
)

# The turns of a session are the answers with its id, and are deleted with them. An id may be a
# name chosen by its owner, so sessions of different owners may have the same id.
sessions = table(
    "sessions",
    Column("id", String, primary_key=True),
    Column("owner", String, primary_key=True, index=True),
    *required(Text, "title"),
    *required(Moment, "created_at"),
    indexed("seen_at", Moment),
    Index(None, "owner", "seen_at"),  # finds the newest session of one owner without a scan
)

provider_calls = table(
    "provider_calls",
    Column("id", Integer, primary_key=True),
    indexed("at", Moment),
    *required(String, "purpose provider model"),
    *required(Integer, "input_tokens output_tokens"),
    *required(Float, "cost seconds"),
    *required(Text, "error"),
)

# --- runs and the index ---

jobs = table(
    "jobs",
    Column("id", String, primary_key=True),
    *required(String, "action collection host"),
    *required(JSON, "inputs"),
    indexed("state"),
    *required(Text, "reason"),
    indexed("started_at", Moment),
    Column("finished_at", Moment),
    *required(Integer, "pid total done passages vectors"),
    *required(Boolean, "cancel"),
)

job_items = table(
    "job_items",
    key_of("jobs", column="job_id"),
    ordinal_key("ordinal"),
    *required(String, "uri status"),
    *required(Text, "reason"),
    *required(Float, "seconds"),
    *required(Integer, "documents passages"),
)

index_writes = table(
    "index_writes",
    Column("document_id", String, primary_key=True),
    Column("version", String, primary_key=True),
    *required(String, "action run"),
)

properties = table("properties", Column("key", String, primary_key=True), *required(JSON, "value"))

vector_debts = table(
    "vector_debts",
    key_of("documents"),
    *required(String, "version"),
    *required(Integer, "passages"),
)

# The passages of the index being built; they replace ``passages`` when it is complete.
next_passages = table(
    "next_passages",
    Column("id", String, primary_key=True),
    indexed("document_id"),
    *required(String, "version"),
    *required(Integer, "ordinal start end"),
    *required(Text, "context"),
    *required(JSON, "speakers"),
)

# ``Gap`` of ``stored_values.py``. ``key``: a hash of question, scope, limits and owner; asking the
# same again raises ``asked``. ``vector``: the question's embedding by ``embedder``, or empty.
gaps = table(
    "gaps",
    Column("id", Integer, primary_key=True),
    *required(Text, "question reason"),
    *required(Moment, "created_at"),
    *required(String, "kind", default="unanswered"),
    Column("status", String, nullable=False, server_default="open", index=True),
    *required(String, "answer_id closed_by owner embedder", default=""),
    *required(JSON, "scope", default="[]"),
    *required(JSON, "limits", default="{}"),
    *required(Text, "tried", default=""),
    *required(Integer, "asked", default="1"),
    Column("key", String, nullable=False, server_default="", index=True),
    *(Column(name, Moment) for name in ("tried_at", "closed_at", "asked_at")),
    Column("vector", LargeBinary),
)

# ``body``: the ``Feedback`` of ``stored_values.py`` without words of sources: a sentence is
# identified by its index and a hash, a citation by span and hash. ``vector``: as for gaps.
feedback = table(
    "feedback",
    Column("id", String, primary_key=True),
    key_of("answers", column="answer_id", primary_key=False),
    *required(String, "author embedder"),
    *required(Moment, "created_at updated_at"),
    *required(Text, "question expired"),
    Column("score", Float),
    *required(JSON, "body"),
    *required(LargeBinary, "vector"),
    UniqueConstraint("answer_id", "author"),
)

# Flagged sentences, indexed for answering. ``kind``: ``harmful`` with the hash of a sentence;
# rows of other kinds are from earlier releases.
feedback_marks = table(
    "feedback_marks",
    key_of("feedback", column="feedback_id"),
    ordinal_key("ordinal"),
    *required(String, "kind"),
    indexed("key"),
)

# Statistics of each answer, so that metrics need not read bodies.
answer_facts = table(
    "answer_facts",
    key_of("answers", column="answer_id"),
    indexed("at", Moment),
    *required(String, "type mode answered_by band"),
    *required(Float, "confidence seconds cost"),
    *required(Integer, "citations input_tokens output_tokens quoted supported partial"),
    *required(Integer, "not_checked uncited unsupported"),
    *required(Boolean, "follow_up cached gap"),
)

TOTAL = "total"
# Seconds of each step of an answer and of all together. The time is repeated here (and time and gap
# in the topics), so that one index covers the metrics' queries.
answer_steps = table(
    "answer_steps",
    key_of("answers", column="answer_id"),
    Column("name", String, primary_key=True),
    Column("at", Moment, nullable=False),
    *required(Float, "seconds"),
    Index(None, "name", "seconds", "at"),
)

# Topics of an answer. ``kind``: ``collection`` and ``field`` (``sectors: energy``) of its sources,
# ``word`` of its question.
answer_topics = table(
    "answer_topics",
    key_of("answers", column="answer_id"),
    Column("kind", String, primary_key=True),
    Column("topic", String, primary_key=True),
    Column("at", Moment, nullable=False),
    *required(Boolean, "gap"),
    Index(None, "kind", "topic", "at", "gap"),
)

preferences = table(
    "preferences",
    Column("owner", String, primary_key=True),
    *required(Moment, "updated_at"),
    *required(Boolean, "consent"),
    *required(JSON, "body learned"),
)

# ``request`` and ``plan`` as plain values; ``report`` without its answer, which is ``answer_id``.
research_runs = table(
    "research_runs",
    Column("id", String, primary_key=True),
    indexed("created_at", Moment),
    Column("finished_at", Moment),
    *required(String, "owner state answer_id host"),
    *required(JSON, "request"),
    Column("plan", JSON),
    Column("report", JSON),
    *required(Text, "reason"),
    *required(Float, "seconds"),
    *required(Integer, "pid"),
    *required(Boolean, "cancel"),
)

# Results of finished steps, so that a resumed run does not repeat them; deleted when the run ends.
research_steps = table(
    "research_steps",
    key_of("research_runs", column="run_id"),
    Column("key", String, primary_key=True),
    *required(JSON, "result"),
)

research_events = table(
    "research_events",
    key_of("research_runs", column="run_id"),
    ordinal_key("number"),
    *required(String, "kind"),
    *required(JSON, "body"),
)

# The documents that a run has read; removing one of them removes the run.
research_reads = table(
    "research_reads",
    key_of("research_runs", column="run_id"),
    Column("document_id", String, primary_key=True, index=True),
)

# ``password``: an argon2 hash, empty for users who sign in only through an identity provider.
# ``issuer`` and ``subject``: their identity at the provider, empty for local accounts.
users = table(
    "users",
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    *required(String, "role password issuer subject"),
    *required(Boolean, "disabled"),
    *required(Moment, "created_at"),
)

user_groups = table(
    "user_groups",
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    *required(String, "source"),
)

group_members = table(
    "group_members",
    key_of("user_groups", column="group_id"),
    key_of("users", column="user_id"),
    *required(String, "source"),
)

grants = table(
    "grants",
    Column("id", Integer, primary_key=True),
    *required(String, "collection role"),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), index=True),
    Column("group_id", String, ForeignKey("user_groups.id", ondelete="CASCADE"), index=True),
)

# ``digest``: a hash of the key, which itself is not stored; ``start``: its first characters, by
# which its owner recognises it. ``collections``: null for all that its owner may read.
api_keys = table(
    "api_keys",
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *required(String, "name start"),
    *required(JSON, "scopes"),
    Column("collections", JSON(none_as_null=True)),
    *required(Moment, "created_at"),
    Column("expires_at", Moment),
    Column("used_at", Moment),
    Index(None, "user_id"),
)

web_sessions = table(
    "web_sessions",
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *required(Moment, "created_at used_at expires_at"),
    *required(Text, "agent"),
    Index(None, "user_id"),
)

# Sign-ins that wait for the identity provider's redirect.
sign_in_attempts = table(
    "sign_in_attempts",
    Column("digest", String, primary_key=True),
    *required(Moment, "expires_at"),
    *required(String, "state nonce verifier"),
    *required(Text, "target"),
)

# The audit log. ``user_id`` is not a foreign key: entries outlive the user, without the name. It
# contains no text of questions: ``answer_id`` leads to them while they exist.
audit = table(
    "audit",
    Column("id", Integer, primary_key=True),
    indexed("at", Moment),
    indexed("user_id"),
    *required(String, "key_id address action outcome"),
    *required(Text, "target"),
    indexed("answer_id"),
    *required(JSON, "documents"),
)
