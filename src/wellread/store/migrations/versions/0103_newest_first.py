"""Adds the index over all documents in the order of their list."""

from __future__ import annotations

from alembic import op

from wellread.store.schema.tables import NEWEST_FIRST

revision = "0103"
down_revision = "0102"


def upgrade() -> None:
    """Create the index of this database where it is missing."""
    for index in NEWEST_FIRST:
        index.create(op.get_bind(), checkfirst=True)
