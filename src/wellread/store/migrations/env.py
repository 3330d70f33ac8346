"""Alembic's entry: runs migrations on the connection that ``schema.upgrade`` hands over."""

from __future__ import annotations

from alembic import context

from wellread.store.schema import account_tables, research_tables
from wellread.store.schema.learning_tables import metadata

# All are loaded, so that all tables are known.
assert research_tables.metadata is metadata
assert account_tables.metadata is metadata
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
