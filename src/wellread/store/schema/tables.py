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
HEAD = "0101"


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
    kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str, default: str | None = None
) -> list[Column[Any]]:
    """Return non-null columns of one type; ``default`` is their server default."""
    return [Column(name, kind, nullable=False, server_default=default) for name in names]


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
    *required(String, "collection", "uri", "kind"),
    *required(Text, "title", "url"),
    *required(String, "source_type", "language"),
    *required(JSON, "authors"),
    Column("published_at", Moment),
    *required(Text, "summary", "media_url"),
    *required(JSON, "taxonomy"),
    *required(String, "version", "facts"),
    *required(Integer, "characters", "passages"),
    *required(String, "source_uri"),
    *required(Moment, "added_at", "updated_at"),
    UniqueConstraint("collection", "uri"),
    Index(None, "collection", "source_uri"),
    Index(None, "collection", "published_at"),
)

# The text in pieces of PIECE characters, so that reading a passage costs the same in a long book
# and a short note. Piece ``n`` starts at character ``n * PIECE``; an empty text is one empty piece.
PIECE = 4096

texts = table("texts", key_of("documents"), ordinal_key("piece"), *required(Text, "text"))

marks = table("marks", key_of("documents"), *required(LargeBinary, "blob"))

passages = table(
    "passages",
    Column("id", String, primary_key=True),
    key_of("documents", primary_key=False),
    *required(String, "version"),
    *required(Integer, "ordinal", "start", "end"),
    *required(Text, "context"),
    *required(JSON, "speakers"),
    UniqueConstraint("document_id", "ordinal"),
)

# The names by which a question may refer to a document or its fields (``name_records.py``), looked
# up by the question's words, so that no question reads the names of all documents.
document_names = table(
    "document_names",
    key_of("documents"),
    ordinal_key("ordinal"),
    *required(String, "collection", "sort", "key", "value"),
    Index(None, "sort", "key", "value", "collection"),
)

# ``root``: the input under which it was found (a folder, a feed, itself). ``etag``,
# ``last_modified``: the web server's headers for the next conditional request.
sources = table(
    "sources",
    Column("collection", String, primary_key=True),
    Column("uri", String, primary_key=True),
    *required(BigInteger, "size", "mtime_ns"),
    *required(String, "digest", "loader", "status"),
    *required(Text, "reason"),
    *required(Moment, "seen_at"),
    *required(String, "root", "etag", "last_modified"),
)

# The settings file of each collection (mapping of fields, relation types with inverses).
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
    Column("entity_id", String, nullable=False, index=True),
    *required(String, "entity_type"),
    *required(JSON, "aliases"),
)

# ``target`` is not a foreign key: an edge may point to an entity that does not exist yet.
relations = table(
    "relations",
    key_of("documents"),
    ordinal_key("ordinal"),
    Column("source", String, nullable=False, index=True),
    *required(String, "type"),
    Column("target", String, nullable=False, index=True),
)

# Places where a document names an entity of its collection.
mentions = table(
    "mentions",
    key_of("documents"),
    ordinal_key("ordinal"),
    Column("entity_id", String, nullable=False, index=True),
    *required(Integer, "start", "end"),
    *required(String, "name"),
)

# The hash of the names that a document version was searched for; another hash means search again.
mention_scans = table("mention_scans", key_of("documents"), *required(String, "version", "names"))

# ``dirty``: an item of the story changed or was removed, so its text and figures are outdated.
stories = table(
    "stories",
    Column("id", String, primary_key=True),
    Column("collection", String, nullable=False, index=True),
    *required(Text, "title", "summary"),
    *required(JSON, "terms"),
    *required(LargeBinary, "centroid"),
    *required(String, "embedder"),
    Column("first_at", Moment),
    Column("last_at", Moment),
    *required(Integer, "items", "sources"),
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
    *required(String, "version"),
    Column("story_id", String, ForeignKey("stories.id", ondelete="SET NULL"), index=True),
    Column("published_at", Moment),
    *required(LargeBinary, "vector", "fingerprint"),
    *required(String, "repeats"),
)

# --- answers ---

# ``body``: the rest of the answer.
answers = table(
    "answers",
    Column("id", String, primary_key=True),
    Column("created_at", Moment, nullable=False, index=True),
    Column("session_id", String, nullable=False, index=True),
    *required(String, "owner", "answered_by", "type"),
    *required(Float, "confidence"),
    *required(Boolean, "stale"),
    *required(Text, "question", "text"),
    *required(JSON, "body"),
)

# ``start``, ``end``: span in the answer's text; ``text``: the sentence if it differs from that.
answer_sentences = table(
    "answer_sentences",
    key_of("answers", column="answer_id"),
    ordinal_key("ordinal"),
    *required(Integer, "start", "end"),
    Column("text", Text),
    *required(JSON, "verdict", "citations"),
    *required(Boolean, "marked", "within"),
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
    Column("document_id", String, nullable=False, index=True),
    *required(String, "version"),
    *required(Integer, "start", "end", "number", "answer_start", "answer_end"),
    *required(Text, "quote", "link", "url", "why", "shape"),
    *required(JSON, "locator", "told"),
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
    Column("seen_at", Moment, nullable=False, index=True),
    Index(None, "owner", "seen_at"),  # finds the newest session of one owner without a scan
)

# ``cost`` is in US dollars; ``error``: why the call failed, empty for a success.
provider_calls = table(
    "provider_calls",
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    *required(String, "purpose", "provider", "model"),
    *required(Integer, "input_tokens", "output_tokens"),
    *required(Float, "cost", "seconds"),
    *required(Text, "error"),
)

# --- runs and the index ---

jobs = table(
    "jobs",
    Column("id", String, primary_key=True),
    *required(String, "action", "collection"),
    *required(JSON, "inputs"),
    Column("state", String, nullable=False, index=True),
    *required(Text, "reason"),
    Column("started_at", Moment, nullable=False, index=True),
    Column("finished_at", Moment),
    *required(String, "host"),
    *required(Integer, "pid"),
    *required(Boolean, "cancel"),
    *required(Integer, "total", "done", "passages", "vectors"),
)

# One row per source of a job, in the order in which they were processed.
job_items = table(
    "job_items",
    key_of("jobs", column="job_id"),
    ordinal_key("ordinal"),
    *required(String, "uri", "status"),
    *required(Text, "reason"),
    *required(Float, "seconds"),
    *required(Integer, "documents", "passages"),
)

index_writes = table(
    "index_writes",
    Column("document_id", String, primary_key=True),
    Column("version", String, primary_key=True),
    *required(String, "action", "run"),
)

properties = table("properties", Column("key", String, primary_key=True), *required(JSON, "value"))

# Documents whose passages can be found by words, but still lack vectors.
vector_debts = table(
    "vector_debts",
    key_of("documents"),
    *required(String, "version"),
    *required(Integer, "passages"),
)

# The passages of the index being built beside the live one; they replace ``passages`` when it is
# done. ``next_documents`` has a document's version when its rows are in that index, and an empty
# version while they may be incomplete.
next_documents = table(
    "next_documents",
    Column("document_id", String, primary_key=True),
    *required(String, "version", "facts"),
)

next_passages = table(
    "next_passages",
    Column("id", String, primary_key=True),
    Column("document_id", String, nullable=False, index=True),
    *required(String, "version"),
    *required(Integer, "ordinal", "start", "end"),
    *required(Text, "context"),
    *required(JSON, "speakers"),
)


# Questions that were not answered, or not well. ``kind``: unanswered, declined, hedged,
# badly_rated, expired; ``status``: open, planned, closed. ``scope``: the collections that it was
# asked of, ``limits``: the other filters; ``answer_id``: the answer given; ``closed_by``: the
# answer that closed it, empty when a person did. ``tried``: why it stayed open when retried.
# ``key``: a hash of question, scope, limits and owner; asking the same again raises ``asked`` and
# ``asked_at``. ``vector``: the question's embedding by ``embedder``, empty until it is computed.
gaps = table(
    "gaps",
    Column("id", Integer, primary_key=True),
    *required(Text, "question", "reason"),
    *required(Moment, "created_at"),
    *required(String, "kind", default="unanswered"),
    Column("status", String, nullable=False, server_default="open", index=True),
    *required(String, "answer_id", "closed_by", "owner", "embedder", default=""),
    *required(JSON, "scope", default="[]"),
    *required(JSON, "limits", default="{}"),
    *required(Text, "tried", default=""),
    *required(Integer, "asked", default="1"),
    Column("key", String, nullable=False, server_default="", index=True),
    *(Column(name, Moment) for name in ("tried_at", "closed_at", "asked_at")),
    Column("vector", LargeBinary),
)

# One person's feedback on one answer. ``body``: the ``Feedback`` of ``stored_values.py`` without
# words of sources: a sentence is identified by its index and a hash, a citation by span and hash.
# ``question``: rewritten to be understood without earlier turns; ``vector``: its embedding by
# ``embedder``, empty until it is computed. ``expired``: why it no longer counts, or empty.
feedback = table(
    "feedback",
    Column("id", String, primary_key=True),
    key_of("answers", column="answer_id", primary_key=False),
    *required(String, "author"),
    *required(Moment, "created_at", "updated_at"),
    *required(Text, "question"),
    Column("score", Float),
    *required(JSON, "body"),
    *required(Text, "expired"),
    *required(LargeBinary, "vector"),
    *required(String, "embedder"),
    UniqueConstraint("answer_id", "author"),
)

# Flagged sentences, indexed for answering. ``kind``: ``harmful`` with the hash of a sentence;
# rows of other kinds are from earlier releases.
feedback_marks = table(
    "feedback_marks",
    key_of("feedback", column="feedback_id"),
    ordinal_key("ordinal"),
    *required(String, "kind"),
    Column("key", String, nullable=False, index=True),
)

# Notices for a user's next visit: a correction that expired, a gap that closed.
notices = table(
    "notices",
    Column("id", Integer, primary_key=True),
    Column("owner", String, nullable=False, index=True),
    *required(Moment, "created_at"),
    *required(String, "kind", "target"),
    *required(Text, "text"),
    Column("seen_at", Moment),
)

# Statistics of each answer, so that metrics need not read bodies. ``quoted`` to ``unsupported``:
# the number of its sentences with that verdict; ``gap``: the material did not answer it.
answer_facts = table(
    "answer_facts",
    key_of("answers", column="answer_id"),
    Column("at", Moment, nullable=False, index=True),
    *required(String, "type", "mode", "answered_by", "band"),
    *required(Float, "confidence", "seconds", "cost"),
    *required(Integer, "citations", "input_tokens", "output_tokens"),
    *required(Integer, "quoted", "supported", "partial", "not_checked", "uncited", "unsupported"),
    *required(Boolean, "follow_up", "cached", "gap"),
)

TOTAL = "total"
# Seconds of each step of an answer and of all steps together, one row per name. The time is
# repeated here (and time and gap in the topics), so that one index covers the metrics' queries.
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

# Preferences of a user. ``learned``: suggestions derived from feedback, each with its reason, its
# date and whether it is active.
preferences = table(
    "preferences",
    Column("owner", String, primary_key=True),
    *required(Moment, "updated_at"),
    *required(Boolean, "consent"),
    *required(JSON, "body", "learned"),
)


# ``request`` and ``plan`` as plain values; ``report`` without its answer, which is ``answer_id``.
research_runs = table(
    "research_runs",
    Column("id", String, primary_key=True),
    Column("created_at", Moment, nullable=False, index=True),
    Column("finished_at", Moment),
    *required(String, "owner", "state"),
    *required(JSON, "request"),
    Column("plan", JSON),
    Column("report", JSON),
    *required(String, "answer_id"),
    *required(Text, "reason"),
    *required(Float, "seconds"),
    *required(String, "host"),
    *required(Integer, "pid"),
    *required(Boolean, "cancel"),
)

# Results of finished steps, so that a resumed run does not repeat them. They contain no source
# text except through a language model's words, and are deleted when the run ends.
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
    *required(String, "role", "password"),
    *required(Boolean, "disabled"),
    *required(Moment, "created_at"),
    *required(String, "issuer", "subject"),
)

# ``source``: empty for groups created here, ``oidc`` for those an identity provider named.
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

# Granted to a user or to a group; ``*`` stands for all collections.
grants = table(
    "grants",
    Column("id", Integer, primary_key=True),
    *required(String, "collection", "role"),
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
    *required(String, "name", "start"),
    *required(JSON, "scopes"),
    Column("collections", JSON(none_as_null=True)),
    *required(Moment, "created_at"),
    Column("expires_at", Moment),
    Column("used_at", Moment),
    Index(None, "user_id"),
)

# Signed-in browsers; ``digest``: a hash of the cookie.
web_sessions = table(
    "web_sessions",
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *required(Moment, "created_at", "used_at", "expires_at"),
    *required(Text, "agent"),
    Index(None, "user_id"),
)

# Sign-ins that are waiting for the identity provider's redirect.
sign_in_attempts = table(
    "sign_in_attempts",
    Column("digest", String, primary_key=True),
    *required(Moment, "expires_at"),
    *required(String, "state", "nonce", "verifier"),
    *required(Text, "target"),
)

# The audit log. ``user_id`` is not a foreign key: entries outlive the user, without the name. It
# contains no text of questions: ``answer_id`` leads to them while they exist.
audit = table(
    "audit",
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    Column("user_id", String, nullable=False, index=True),
    *required(String, "key_id", "address", "action"),
    *required(Text, "target"),
    Column("answer_id", String, nullable=False, index=True),
    *required(JSON, "documents"),
    *required(String, "outcome"),
)
