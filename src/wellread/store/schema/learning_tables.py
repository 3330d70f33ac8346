"""The tables of what is learned by being asked: gaps, feedback, notices, figures, preferences."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from wellread.store.schema.database import Moment
from wellread.store.schema.tables import filled, key_of, metadata, place

__all__ = [
    "TOTAL",
    "answer_facts",
    "answer_steps",
    "answer_topics",
    "feedback",
    "feedback_marks",
    "gaps",
    "metadata",
    "notices",
    "preferences",
]

# Questions that were not answered, or not well. ``kind``: unanswered, declined, hedged,
# badly_rated, expired; ``status``: open, planned, closed. ``scope``: the collections that it was
# asked of, ``limits``: the other filters; ``answer_id``: what was answered; ``closed_by``: the
# answer that closed it, empty when a person did. ``tried``: why it stayed open when it was asked
# again. ``key``: of question, scope, limits and owner; who asks the same again makes ``asked`` more
# and ``asked_at`` later. ``vector``: the question's embedding, by ``embedder``, empty until then.
gaps = Table(
    "gaps",
    metadata,
    Column("id", Integer, primary_key=True),
    *filled(Text, "question", "reason"),
    *filled(Moment, "created_at"),
    *filled(String, "kind", default="unanswered"),
    Column("status", String, nullable=False, server_default="open", index=True),
    *filled(String, "answer_id", "closed_by", "owner", default=""),
    *filled(JSON, "scope", default="[]"),
    Column("tried_at", Moment),
    *filled(Text, "tried", default=""),
    Column("closed_at", Moment),
    Column("key", String, nullable=False, server_default="", index=True),
    *filled(Integer, "asked", default="1"),
    Column("asked_at", Moment),
    *filled(JSON, "limits", default="{}"),
    Column("vector", LargeBinary),
    *filled(String, "embedder", default=""),
)

# One person's word on one answer. ``body``: the values of ``feedback.py``, without words of
# sources: a sentence is named by its place and a hash, a better citation by its span and a hash.
# ``question``: as it is understood without earlier turns; ``vector``: its embedding, by
# ``embedder``, empty until it is looked up. ``expired``: why it counts no more, or empty.
feedback = Table(
    "feedback",
    metadata,
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
feedback_marks = Table(
    "feedback_marks",
    metadata,
    key_of("feedback", column="feedback_id"),
    place("ordinal"),
    *filled(String, "kind"),
    Column("key", String, nullable=False, index=True),
)

# What a person is told when they come back: a correction that expired, a gap that closed.
notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("owner", String, nullable=False, index=True),
    *filled(Moment, "created_at"),
    *filled(String, "kind", "target"),
    *filled(Text, "text"),
    Column("seen_at", Moment),
)

# The figures of an answer, so that metrics read no bodies. ``quoted`` to ``unsupported``: how many
# of its sentences have that verdict; ``gap``: the material did not answer it.
answer_facts = Table(
    "answer_facts",
    metadata,
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
answer_steps = Table(
    "answer_steps",
    metadata,
    key_of("answers", column="answer_id"),
    Column("name", String, primary_key=True),
    Column("at", Moment, nullable=False),
    *filled(Float, "seconds"),
    Index(None, "name", "seconds", "at"),
)

# What an answer was about. ``kind``: ``collection`` and ``field`` (``sectors: energy``) of what it
# cites, ``word`` of its question.
answer_topics = Table(
    "answer_topics",
    metadata,
    key_of("answers", column="answer_id"),
    Column("kind", String, primary_key=True),
    Column("topic", String, primary_key=True),
    Column("at", Moment, nullable=False),
    *filled(Boolean, "gap"),
    Index(None, "kind", "topic", "at", "gap"),
)

# What a person likes. ``learned``: what feedback suggested, each with why, since when, whether it
# is in force.
preferences = Table(
    "preferences",
    metadata,
    Column("owner", String, primary_key=True),
    *filled(Moment, "updated_at"),
    *filled(Boolean, "consent"),
    *filled(JSON, "body", "learned"),
)
