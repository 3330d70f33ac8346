"""The tables. Migrations build them; a test holds the two together.

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
HEAD = "0100"


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def filled(
    kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str, default: str | None = None
) -> list[Column[Any]]:
    """Columns of one kind that must have a value; ``default`` is that of rows from before."""
    return [Column(name, kind, nullable=False, server_default=default) for name in names]


def place(name: str) -> Column[int]:
    """The part of a primary key that counts the rows of one owner."""
    return Column(name, Integer, primary_key=True, autoincrement=False)


def key_of(parent: str, *, column: str = "document_id", primary_key: bool = True) -> Column[str]:
    """A column that points to a row of the table ``parent`` and goes with it."""
    goes = ForeignKey(f"{parent}.id", ondelete="CASCADE")
    return Column(column, String, goes, primary_key=primary_key, nullable=False)


# --- documents ---

documents = Table(
    "documents",
    metadata,
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

texts = Table("texts", metadata, key_of("documents"), place("piece"), *filled(Text, "text"))

marks = Table("marks", metadata, key_of("documents"), *filled(LargeBinary, "blob"))

passages = Table(
    "passages",
    metadata,
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
document_names = Table(
    "document_names",
    metadata,
    key_of("documents"),
    place("ordinal"),
    *filled(String, "collection", "sort", "key", "value"),
    Index(None, "sort", "key", "value", "collection"),
)

# ``root``: the input under which it was found (a folder, a feed, itself). ``etag``,
# ``last_modified``: what the web server said for the next conditional request.
sources = Table(
    "sources",
    metadata,
    Column("collection", String, primary_key=True),
    Column("uri", String, primary_key=True),
    *filled(BigInteger, "size", "mtime_ns"),
    *filled(String, "digest", "loader", "status"),
    *filled(Text, "reason"),
    *filled(Moment, "seen_at"),
    *filled(String, "root", "etag", "last_modified", default=""),
    Column("poll_after", Moment),
)

# What a collection's settings file says (mapping of fields, relation types with inverses).
collections = Table(
    "collections",
    metadata,
    Column("name", String, primary_key=True),
    *filled(JSON, "settings"),
    *filled(Moment, "updated_at"),
)

past_questions = Table(
    "past_questions",
    metadata,
    key_of("documents"),
    *filled(Text, "question"),
    Column("score", Integer),
    *filled(JSON, "body"),
)

# --- what joins documents ---

entities = Table(
    "entities",
    metadata,
    key_of("documents"),
    Column("entity_id", String, nullable=False, index=True),
    *filled(String, "entity_type"),
    *filled(JSON, "aliases"),
)

# ``target`` is not a foreign key: an edge may point to an entity that is not there yet.
relations = Table(
    "relations",
    metadata,
    key_of("documents"),
    place("ordinal"),
    Column("source", String, nullable=False, index=True),
    *filled(String, "type"),
    Column("target", String, nullable=False, index=True),
)

# Where a document names an entity of its collection.
mentions = Table(
    "mentions",
    metadata,
    key_of("documents"),
    place("ordinal"),
    Column("entity_id", String, nullable=False, index=True),
    *filled(Integer, "start", "end"),
    *filled(String, "name"),
)

# With which names a version of a document was searched; another hash means: search again.
mention_scans = Table(
    "mention_scans", metadata, key_of("documents"), *filled(String, "version", "names")
)

# ``dirty``: something it was made of changed or went; text and figures are to be made again.
stories = Table(
    "stories",
    metadata,
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
story_items = Table(
    "story_items",
    metadata,
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

# ``text``: with references in place of titles of documents (``answer_rows``), and so is ``body``,
# the rest of the answer.
answers = Table(
    "answers",
    metadata,
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
answer_sentences = Table(
    "answer_sentences",
    metadata,
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
# ``shape``: its title, blacked out, once it was removed; ``told``: kind and date of the source,
# relevance, verdict.
answer_citations = Table(
    "answer_citations",
    metadata,
    key_of("answers", column="answer_id"),
    place("ordinal"),
    Column("document_id", String, nullable=False, index=True),
    *filled(String, "version"),
    *filled(Integer, "start", "end", "number", "answer_start", "answer_end"),
    *filled(Text, "quote", "link", "url", "why", "shape"),
    *filled(JSON, "locator", "told"),
)

# ``key``: a hash of the question, its scope, the settings and the state of the material.
cached_answers = Table(
    "cached_answers",
    metadata,
    Column("key", String, primary_key=True),
    key_of("answers", column="answer_id", primary_key=False),
    *filled(Moment, "created_at"),
    Index(None, "answer_id"),
)

# The turns of a session are the answers that bear its id: what is forgotten there is forgotten.
# An id may be a name that its owner gave; another owner's session of that name is another one.
sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner", String, primary_key=True, index=True),
    *filled(Text, "title"),
    *filled(Moment, "created_at"),
    Column("seen_at", Moment, nullable=False, index=True),
    Index(None, "owner", "seen_at"),  # the newest of one owner, without looking at all
)

# ``cost`` in US dollars; ``error``: why it failed, empty when it did not.
provider_calls = Table(
    "provider_calls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    *filled(String, "purpose", "provider", "model"),
    *filled(Integer, "input_tokens", "output_tokens"),
    *filled(Float, "cost", "seconds"),
    *filled(Text, "error"),
)

# --- runs and the index ---

jobs = Table(
    "jobs",
    metadata,
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
job_items = Table(
    "job_items",
    metadata,
    key_of("jobs", column="job_id"),
    place("ordinal"),
    *filled(String, "uri", "status"),
    *filled(Text, "reason"),
    *filled(Float, "seconds"),
    *filled(Integer, "documents", "passages"),
)

index_writes = Table(
    "index_writes",
    metadata,
    Column("document_id", String, primary_key=True),
    Column("version", String, primary_key=True),
    *filled(String, "action", "run"),
)

properties = Table(
    "properties", metadata, Column("key", String, primary_key=True), *filled(JSON, "value")
)

# Documents whose passages are found by words already and by meaning not yet.
vector_debts = Table(
    "vector_debts",
    metadata,
    key_of("documents"),
    *filled(String, "version"),
    *filled(Integer, "passages"),
)

# The passages of the index that is being made beside the live one; they take the place of
# ``passages`` when it is done. A document stands in ``next_documents`` with its version when its
# rows are in that index, and with an empty one while they may be half there.
next_documents = Table(
    "next_documents",
    metadata,
    Column("document_id", String, primary_key=True),
    *filled(String, "version", "facts"),
)

next_passages = Table(
    "next_passages",
    metadata,
    Column("id", String, primary_key=True),
    Column("document_id", String, nullable=False, index=True),
    *filled(String, "version"),
    *filled(Integer, "ordinal", "start", "end"),
    *filled(Text, "context"),
    *filled(JSON, "speakers"),
)
