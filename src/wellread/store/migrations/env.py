"""Alembic's entry point: runs migrations on the connection that ``schema.upgrade`` hands over."""

from __future__ import annotations

from alembic import context

from wellread.store.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
