"""The tables of ingest runs: jobs, vectors that are still to come, an index in the making."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Integer, String, Table, Text

from wellread.store.schema.document_tables import Moment, metadata

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
