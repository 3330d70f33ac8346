"""The tables of the catalogue; a new one is made of what stands here.

Text and marks stand in tables of their own, so that lists, filters and look-ups of facts read
small rows only.
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
    """A table of the catalogue."""
    return Table(name, metadata, *parts)


def filled(
    kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str, default: str | None = None
) -> list[Column[Any]]:
    """Columns of one kind that must have a value; ``default``: where none is given."""
    return [Column(name, kind, nullable=False, server_default=default) for name in names]


def place(name: str) -> Column[int]:
    """The part of a primary key that counts the rows of one owner."""
    return Column(name, Integer, primary_key=True, autoincrement=False)


def key_of(parent: str, *, column: str = "document_id", primary_key: bool = True) -> Column[str]:
    """A column that points to a row of the table ``parent`` and goes with it."""
    goes = ForeignKey(f"{parent}.id", ondelete="CASCADE")
    return Column(column, String, goes, primary_key=primary_key, nullable=False)


# --- documents ---

documents = table(
    "documents",
    Column("id", String, primary_key=True),
    *filled(String, "collection", "uri", "kind"),
    *filled(Text, "title", "url"),
    *filled(String, "source_type", "language"),
    *filled(JSON, "authors"),
    Column("published_at", Moment),
    *filled(Text, "summary", "media_url"),
    *filled(JSON, "taxonomy"),
    *filled(String, "version", "facts"),
    *filled(Integer, "characters", "passages"),
    *filled(String, "source_uri"),
    *filled(Moment, "added_at", "updated_at"),
    UniqueConstraint("collection", "uri"),
    Index(None, "collection", "source_uri"),
    Index(None, "collection", "published_at"),
)

# The text in pieces of PIECE characters: a passage of a long book costs no more to read than one
# of a short note. Piece ``n`` starts at character ``n * PIECE``; an empty text is one empty piece.
PIECE = 4096

texts = table("texts", key_of("documents"), place("piece"), *filled(Text, "text"))

marks = table("marks", key_of("documents"), *filled(LargeBinary, "blob"))

passages = table(
    "passages",
    Column("id", String, primary_key=True),
    key_of("documents", primary_key=False),
    *filled(String, "version"),
    *filled(Integer, "ordinal", "start", "end"),
    *filled(Text, "context"),
    *filled(JSON, "speakers"),
    UniqueConstraint("document_id", "ordinal"),
)

# What a question may name a document by, or something of it (``documents/name_keys.py``); looked up
# by the question's words, so that none reads the names of all documents.
document_names = table(
    "document_names",
    key_of("documents"),
    place("ordinal"),
    *filled(String, "collection", "sort", "key", "value"),
    Index(None, "sort", "key", "value", "collection"),
)

# ``root``: the input under which it was found (a folder, a feed, itself). ``etag``,
# ``last_modified``: what the web server said for the next conditional request.
sources = table(
    "sources",
    Column("collection", String, primary_key=True),
    Column("uri", String, primary_key=True),
    *filled(BigInteger, "size", "mtime_ns"),
    *filled(String, "digest", "loader", "status"),
    *filled(Text, "reason"),
    *filled(Moment, "seen_at"),
    *filled(String, "root", "etag", "last_modified"),
    Column("poll_after", Moment),
)

# What a collection's settings file says (mapping of fields, relation types with inverses).
collections = table(
    "collections",
    Column("name", String, primary_key=True),
    *filled(JSON, "settings"),
    *filled(Moment, "updated_at"),
)

past_questions = table(
    "past_questions",
    key_of("documents"),
    *filled(Text, "question"),
    Column("score", Integer),
    *filled(JSON, "body"),
)

# --- what joins documents ---

entities = table(
    "entities",
    key_of("documents"),
    Column("entity_id", String, nullable=False, index=True),
    *filled(String, "entity_type"),
    *filled(JSON, "aliases"),
)

# ``target`` is not a foreign key: an edge may point to an entity that is not there yet.
relations = table(
    "relations",
    key_of("documents"),
    place("ordinal"),
    Column("source", String, nullable=False, index=True),
    *filled(String, "type"),
    Column("target", String, nullable=False, index=True),
)

# Where a document names an entity of its collection.
mentions = table(
    "mentions",
    key_of("documents"),
    place("ordinal"),
    Column("entity_id", String, nullable=False, index=True),
    *filled(Integer, "start", "end"),
    *filled(String, "name"),
)

# With which names a version of a document was searched; another hash means: search again.
mention_scans = table("mention_scans", key_of("documents"), *filled(String, "version", "names"))

# ``dirty``: something it was made of changed or went; text and figures are to be made again.
stories = table(
    "stories",
    Column("id", String, primary_key=True),
    Column("collection", String, nullable=False, index=True),
    *filled(Text, "title", "summary"),
    *filled(JSON, "terms"),
    *filled(LargeBinary, "centroid"),
    *filled(String, "embedder"),
    Column("first_at", Moment),
    Column("last_at", Moment),
    *filled(Integer, "items", "sources"),
    *filled(Float, "novelty"),
    *filled(Boolean, "dirty"),
)

# The parts of documents that stories are made of. Without a story: looked at, in none.
# ``repeats``: ``document_id:start`` of the item that this one repeats; empty for an original.
story_items = table(
    "story_items",
    key_of("documents"),
    place("start"),
    *filled(Integer, "end"),
    *filled(String, "version"),
    Column("story_id", String, ForeignKey("stories.id", ondelete="SET NULL"), index=True),
    Column("published_at", Moment),
    *filled(LargeBinary, "vector", "fingerprint"),
    *filled(String, "repeats"),
)

# --- answers ---

# ``body``: the rest of the answer.
answers = table(
    "answers",
    Column("id", String, primary_key=True),
    Column("created_at", Moment, nullable=False, index=True),
    Column("session_id", String, nullable=False, index=True),
    *filled(String, "owner", "answered_by", "type"),
    *filled(Float, "confidence"),
    *filled(Boolean, "stale"),
    *filled(Text, "question", "text"),
    *filled(JSON, "body"),
)

# ``start``, ``end``: of the answer's text; ``text``: of a sentence that is not what stands there.
answer_sentences = table(
    "answer_sentences",
    key_of("answers", column="answer_id"),
    place("ordinal"),
    *filled(Integer, "start", "end"),
    Column("text", Text),
    *filled(JSON, "verdict", "citations"),
    *filled(Boolean, "marked", "within"),
)

# What an answer cites (``number`` of the citation), or without a number: what the rows of its
# table rest on and, without a version, what it only names. ``document_id`` is not a foreign key: an
# answer outlives the documents that it rests on. ``start``, ``end``: of the document's text;
# ``shape``: filled once it was removed; ``told``: title, kind and date of the source, relevance,
# verdict.
answer_citations = table(
    "answer_citations",
    key_of("answers", column="answer_id"),
    place("ordinal"),
    Column("document_id", String, nullable=False, index=True),
    *filled(String, "version"),
    *filled(Integer, "start", "end", "number", "answer_start", "answer_end"),
    *filled(Text, "quote", "link", "url", "why", "shape"),
    *filled(JSON, "locator", "told"),
)

# ``key``: a hash of the question, its scope, the settings and the state of the material.
cached_answers = table(
    "cached_answers",
    Column("key", String, primary_key=True),
    key_of("answers", column="answer_id", primary_key=False),
    *filled(Moment, "created_at"),
    Index(None, "answer_id"),
)

# The turns of a session are the answers that bear its id: what is forgotten there is forgotten.
# An id may be a name that its owner gave; another owner's session of that name is another one.
sessions = table(
    "sessions",
    Column("id", String, primary_key=True),
    Column("owner", String, primary_key=True, index=True),
    *filled(Text, "title"),
    *filled(Moment, "created_at"),
    Column("seen_at", Moment, nullable=False, index=True),
    Index(None, "owner", "seen_at"),  # the newest of one owner, without looking at all
)

# ``cost`` in US dollars; ``error``: why it failed, empty when it did not.
provider_calls = table(
    "provider_calls",
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    *filled(String, "purpose", "provider", "model"),
    *filled(Integer, "input_tokens", "output_tokens"),
    *filled(Float, "cost", "seconds"),
    *filled(Text, "error"),
)

# --- runs and the index ---

jobs = table(
    "jobs",
    Column("id", String, primary_key=True),
    *filled(String, "action", "collection"),
    *filled(JSON, "inputs"),
    Column("state", String, nullable=False, index=True),
    *filled(Text, "reason"),
    Column("started_at", Moment, nullable=False, index=True),
    Column("finished_at", Moment),
    *filled(String, "host"),
    *filled(Integer, "pid"),
    *filled(Boolean, "cancel"),
    *filled(Integer, "total", "done", "passages", "vectors"),
)

# One row per source of a job, in the order in which they were done.
job_items = table(
    "job_items",
    key_of("jobs", column="job_id"),
    place("ordinal"),
    *filled(String, "uri", "status"),
    *filled(Text, "reason"),
    *filled(Float, "seconds"),
    *filled(Integer, "documents", "passages"),
)

index_writes = table(
    "index_writes",
    Column("document_id", String, primary_key=True),
    Column("version", String, primary_key=True),
    *filled(String, "action", "run"),
)

properties = table("properties", Column("key", String, primary_key=True), *filled(JSON, "value"))

# Documents whose passages are found by words already and by meaning not yet.
vector_debts = table(
    "vector_debts",
    key_of("documents"),
    *filled(String, "version"),
    *filled(Integer, "passages"),
)

# The passages of the index that is being made beside the live one; they take the place of
# ``passages`` when it is done. A document stands in ``next_documents`` with its version when its
# rows are in that index, and with an empty one while they may be half there.
next_documents = table(
    "next_documents",
    Column("document_id", String, primary_key=True),
    *filled(String, "version", "facts"),
)

next_passages = table(
    "next_passages",
    Column("id", String, primary_key=True),
    Column("document_id", String, nullable=False, index=True),
    *filled(String, "version"),
    *filled(Integer, "ordinal", "start", "end"),
    *filled(Text, "context"),
    *filled(JSON, "speakers"),
)


# Questions that were not answered, or not well. ``kind``: unanswered, declined, hedged,
# badly_rated, expired; ``status``: open, planned, closed. ``scope``: the collections that it was
# asked of, ``limits``: the other filters; ``answer_id``: what was answered; ``closed_by``: the
# answer that closed it, empty when a person did. ``tried``: why it stayed open when it was asked
# again. ``key``: of question, scope, limits and owner; who asks the same again makes ``asked`` more
# and ``asked_at`` later. ``vector``: the question's embedding, by ``embedder``, empty until then.
gaps = table(
    "gaps",
    Column("id", Integer, primary_key=True),
    *filled(Text, "question", "reason"),
    *filled(Moment, "created_at"),
    *filled(String, "kind", default="unanswered"),
    Column("status", String, nullable=False, server_default="open", index=True),
    *filled(String, "answer_id", "closed_by", "owner", "embedder", default=""),
    *filled(JSON, "scope", default="[]"),
    *filled(JSON, "limits", default="{}"),
    *filled(Text, "tried", default=""),
    *filled(Integer, "asked", default="1"),
    Column("key", String, nullable=False, server_default="", index=True),
    *(Column(name, Moment) for name in ("tried_at", "closed_at", "asked_at")),
    Column("vector", LargeBinary),
)

# One person's word on one answer. ``body``: the values of ``feedback.py``, without words of
# sources: a sentence is named by its place and a hash, a better citation by its span and a hash.
# ``question``: as it is understood without earlier turns; ``vector``: its embedding, by
# ``embedder``, empty until it is looked up. ``expired``: why it counts no more, or empty.
feedback = table(
    "feedback",
    Column("id", String, primary_key=True),
    key_of("answers", column="answer_id", primary_key=False),
    *filled(String, "author"),
    *filled(Moment, "created_at", "updated_at"),
    *filled(Text, "question"),
    Column("score", Float),
    *filled(JSON, "body"),
    *filled(Text, "expired"),
    *filled(LargeBinary, "vector"),
    *filled(String, "embedder"),
    UniqueConstraint("answer_id", "author"),
)

# What feedback says of sentences and sources, to be looked up while a question is answered.
# ``kind``: ``harmful`` with the hash of a sentence, ``down`` and ``up`` with a document's id.
feedback_marks = table(
    "feedback_marks",
    key_of("feedback", column="feedback_id"),
    place("ordinal"),
    *filled(String, "kind"),
    Column("key", String, nullable=False, index=True),
)

# What a person is told when they come back: a correction that expired, a gap that closed.
notices = table(
    "notices",
    Column("id", Integer, primary_key=True),
    Column("owner", String, nullable=False, index=True),
    *filled(Moment, "created_at"),
    *filled(String, "kind", "target"),
    *filled(Text, "text"),
    Column("seen_at", Moment),
)

# The figures of an answer, so that metrics read no bodies. ``quoted`` to ``unsupported``: how many
# of its sentences have that verdict; ``gap``: the material did not answer it.
answer_facts = table(
    "answer_facts",
    key_of("answers", column="answer_id"),
    Column("at", Moment, nullable=False, index=True),
    *filled(String, "type", "mode", "answered_by", "band"),
    *filled(Float, "confidence", "seconds", "cost"),
    *filled(Integer, "citations", "input_tokens", "output_tokens"),
    *filled(Integer, "quoted", "supported", "partial", "not_checked", "uncited", "unsupported"),
    *filled(Boolean, "follow_up", "cached", "gap"),
)

TOTAL = "total"
# Seconds of each step of an answer, one row per name, and of all together. The moment stands here
# again, and so do moment and gap with the topics: one index holds all that is counted.
answer_steps = table(
    "answer_steps",
    key_of("answers", column="answer_id"),
    Column("name", String, primary_key=True),
    Column("at", Moment, nullable=False),
    *filled(Float, "seconds"),
    Index(None, "name", "seconds", "at"),
)

# What an answer was about. ``kind``: ``collection`` and ``field`` (``sectors: energy``) of what it
# cites, ``word`` of its question.
answer_topics = table(
    "answer_topics",
    key_of("answers", column="answer_id"),
    Column("kind", String, primary_key=True),
    Column("topic", String, primary_key=True),
    Column("at", Moment, nullable=False),
    *filled(Boolean, "gap"),
    Index(None, "kind", "topic", "at", "gap"),
)

# What a person likes. ``learned``: what feedback suggested, each with why, since when, whether it
# is in force.
preferences = table(
    "preferences",
    Column("owner", String, primary_key=True),
    *filled(Moment, "updated_at"),
    *filled(Boolean, "consent"),
    *filled(JSON, "body", "learned"),
)


# ``request`` and ``plan`` as plain values; ``report`` without its answer, which is ``answer_id``.
research_runs = table(
    "research_runs",
    Column("id", String, primary_key=True),
    Column("created_at", Moment, nullable=False, index=True),
    Column("finished_at", Moment),
    *filled(String, "owner", "state"),
    *filled(JSON, "request"),
    Column("plan", JSON),
    Column("report", JSON),
    *filled(String, "answer_id"),
    *filled(Text, "reason"),
    *filled(Float, "seconds"),
    *filled(String, "host"),
    *filled(Integer, "pid"),
    *filled(Boolean, "cancel"),
)

# What a step gave, so that a run that goes on does not do it again. No words of sources but those
# that a language model wrote; the steps go when the run ends.
research_steps = table(
    "research_steps",
    key_of("research_runs", column="run_id"),
    Column("key", String, primary_key=True),
    *filled(JSON, "result"),
)

research_events = table(
    "research_events",
    key_of("research_runs", column="run_id"),
    place("number"),
    *filled(String, "kind"),
    *filled(JSON, "body"),
)

# A run goes when a document goes that it read.
research_reads = table(
    "research_reads",
    key_of("research_runs", column="run_id"),
    Column("document_id", String, primary_key=True, index=True),
)


# ``password``: an argon2 hash, empty for who signs in elsewhere only. ``issuer`` and ``subject``:
# how an identity provider knows them, empty for local accounts.
users = table(
    "users",
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    *filled(String, "role", "password"),
    *filled(Boolean, "disabled"),
    *filled(Moment, "created_at"),
    *filled(String, "issuer", "subject"),
)

# ``source``: empty when made here, ``oidc`` when an identity provider named it.
user_groups = table(
    "user_groups",
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    *filled(String, "source"),
)

group_members = table(
    "group_members",
    key_of("user_groups", column="group_id"),
    key_of("users", column="user_id"),
    *filled(String, "source"),
)

# To a user or to a group; ``*`` stands for all collections.
grants = table(
    "grants",
    Column("id", Integer, primary_key=True),
    *filled(String, "collection", "role"),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), index=True),
    Column("group_id", String, ForeignKey("user_groups.id", ondelete="CASCADE"), index=True),
)

# ``digest``: a hash of the key, which is kept nowhere; ``start``: its first characters, by which
# its owner knows it again. ``collections``: none: all that its owner may read.
api_keys = table(
    "api_keys",
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *filled(String, "name", "start"),
    *filled(JSON, "scopes"),
    Column("collections", JSON(none_as_null=True)),
    *filled(Moment, "created_at"),
    Column("expires_at", Moment),
    Column("used_at", Moment),
    Index(None, "user_id"),
)

# Browsers that are signed in; ``digest``: a hash of what the cookie holds.
web_sessions = table(
    "web_sessions",
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("user_id", String, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *filled(Moment, "created_at", "used_at", "expires_at"),
    *filled(Text, "agent"),
    Index(None, "user_id"),
)

# Visits to an identity provider from which somebody has yet to come back.
sign_in_attempts = table(
    "sign_in_attempts",
    Column("digest", String, primary_key=True),
    *filled(Moment, "expires_at"),
    *filled(String, "state", "nonce", "verifier"),
    *filled(Text, "target"),
)

# Who did what. ``user_id`` is no foreign key: what was done stays when its doer goes, without a
# name. No words of questions: ``answer_id`` leads to them as long as they are there.
audit = table(
    "audit",
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    Column("user_id", String, nullable=False, index=True),
    *filled(String, "key_id", "address", "action"),
    *filled(Text, "target"),
    Column("answer_id", String, nullable=False, index=True),
    *filled(JSON, "documents"),
    *filled(String, "outcome"),
)
