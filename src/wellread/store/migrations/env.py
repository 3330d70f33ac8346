"""Alembic's entry: runs migrations on the connection that ``schema.upgrade`` hands over."""

from __future__ import annotations

from alembic import context

from wellread.store.schema import research_tables
from wellread.store.schema.learning_tables import metadata

assert research_tables.metadata is metadata  # both are loaded, so that all tables are known
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
