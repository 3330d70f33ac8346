"""The tables of what is made of documents and done with them: runs, answers, mentions, stories."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from wellread.store.schema.document_tables import Moment, document_key, metadata

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    Column("action", String, nullable=False),
    Column("collection", String, nullable=False),
    Column("inputs", JSON, nullable=False),
    Column("state", String, nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("started_at", Moment, nullable=False, index=True),
    Column("finished_at", Moment),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("cancel", Boolean, nullable=False),
    Column("total", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("passages", Integer, nullable=False),
    Column("vectors", Integer, nullable=False),
)

# One row per source of a job, in the order in which they were done.
job_items = Table(
    "job_items",
    metadata,
    Column("job_id", String, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("uri", String, nullable=False),
    Column("status", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("documents", Integer, nullable=False),
    Column("passages", Integer, nullable=False),
)

# Documents whose passages are found by words already and by meaning not yet.
vector_debts = Table(
    "vector_debts",
    metadata,
    Column(
        "document_id",
        String,
        ForeignKey("documents.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("version", String, nullable=False),
    Column("passages", Integer, nullable=False),
)

# The passages of the index that is being made beside the live one; they take the place of
# ``passages`` when it is done. A document stands in ``next_documents`` with its version when its
# rows are in that index, and with an empty one while they may be half there.
next_documents = Table(
    "next_documents",
    metadata,
    Column("document_id", String, primary_key=True),
    Column("version", String, nullable=False),
    Column("facts", String, nullable=False),
)

next_passages = Table(
    "next_passages",
    metadata,
    Column("id", String, primary_key=True),
    Column("document_id", String, nullable=False, index=True),
    Column("version", String, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("context", Text, nullable=False),
    Column("speakers", JSON, nullable=False),
)


# The turns of a session are the answers that bear its id: what is forgotten there is forgotten.
sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False, index=True),
    Column("title", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("seen_at", Moment, nullable=False, index=True),
)

provider_calls = Table(
    "provider_calls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False, index=True),
    Column("purpose", String, nullable=False),
    Column("provider", String, nullable=False),
    Column("model", String, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    # US dollars.
    Column("cost", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    # Why it failed; empty when it did not.
    Column("error", Text, nullable=False),
)

cached_answers = Table(
    "cached_answers",
    metadata,
    # A hash of the question, its scope, the settings and the state of the material.
    Column("key", String, primary_key=True),
    Column(
        "answer_id",
        String,
        ForeignKey("answers.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("created_at", Moment, nullable=False),
)


# What a collection's settings file says (mapping of fields, relation types with inverses).
collections = Table(
    "collections",
    metadata,
    Column("name", String, primary_key=True),
    Column("settings", JSON, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

# Where a document names an entity of its collection.
mentions = Table(
    "mentions",
    metadata,
    document_key(primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("entity_id", String, nullable=False, index=True),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("name", String, nullable=False),
)

# With which names a version of a document was searched; another hash means: search again.
mention_scans = Table(
    "mention_scans",
    metadata,
    document_key(primary_key=True),
    Column("version", String, nullable=False),
    Column("names", String, nullable=False),
)

stories = Table(
    "stories",
    metadata,
    Column("id", String, primary_key=True),
    Column("collection", String, nullable=False, index=True),
    Column("title", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("terms", JSON, nullable=False),
    Column("centroid", LargeBinary, nullable=False),
    Column("embedder", String, nullable=False),
    Column("first_at", Moment),
    Column("last_at", Moment),
    Column("items", Integer, nullable=False),
    Column("sources", Integer, nullable=False),
    Column("novelty", Float, nullable=False),
    # Something it was made of changed or went: text and figures are to be made again.
    Column("dirty", Boolean, nullable=False),
)

# The parts of documents that stories are made of. Without a story: looked at, in none.
story_items = Table(
    "story_items",
    metadata,
    document_key(primary_key=True),
    Column("start", Integer, primary_key=True, autoincrement=False),
    Column("end", Integer, nullable=False),
    Column("version", String, nullable=False),
    Column("story_id", String, ForeignKey("stories.id", ondelete="SET NULL"), index=True),
    Column("published_at", Moment),
    Column("vector", LargeBinary, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    # ``document_id:start`` of the item that this one repeats; empty for an original.
    Column("repeats", String, nullable=False),
)
