"""The tables that join documents: collections and their settings, mentions, stories."""

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
