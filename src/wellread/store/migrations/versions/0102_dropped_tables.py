"""Drops two tables that nothing uses: notices to users, and the documents of the next index."""

from __future__ import annotations

from alembic import op

revision = "0102"
down_revision = "0101"


def upgrade() -> None:
    """Drop the tables where they exist."""
    for name in ("notices", "next_documents"):
        op.execute(f"DROP TABLE IF EXISTS {name}")
