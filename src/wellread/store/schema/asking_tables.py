"""The tables of asking: sessions, calls of models, answers that may be given again."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Integer, String, Table, Text

from wellread.store.schema.document_tables import Moment, metadata

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
