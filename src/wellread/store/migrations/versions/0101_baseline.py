"""Creates all tables as the code declares them; a migration that adds one spells them out here."""

from __future__ import annotations

from alembic import op

from wellread.store.schema.tables import metadata

revision = "0101"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    metadata.create_all(op.get_bind())
