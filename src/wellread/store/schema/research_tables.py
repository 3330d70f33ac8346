"""The tables of deep research: runs, what they did, the events they told, what they read."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Float, Integer, String, Table, Text

from wellread.store.schema.database import Moment
from wellread.store.schema.tables import filled, key_of, metadata, place

__all__ = ["metadata", "research_events", "research_reads", "research_runs", "research_steps"]

# ``request`` and ``plan`` as plain values; ``report`` without its answer, which is ``answer_id``.
research_runs = Table(
    "research_runs",
    metadata,
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
research_steps = Table(
    "research_steps",
    metadata,
    key_of("research_runs", column="run_id"),
    Column("key", String, primary_key=True),
    *filled(JSON, "result"),
)

research_events = Table(
    "research_events",
    metadata,
    key_of("research_runs", column="run_id"),
    place("number"),
    *filled(String, "kind"),
    *filled(JSON, "body"),
)

# A run goes when a document goes that it read.
research_reads = Table(
    "research_reads",
    metadata,
    key_of("research_runs", column="run_id"),
    Column("document_id", String, primary_key=True, index=True),
)
