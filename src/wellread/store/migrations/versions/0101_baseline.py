"""All tables, as the code declares them. The next migration has to write them out here."""

from __future__ import annotations

from alembic import op

from wellread.store.schema.tables import metadata

revision = "0101"
down_revision = None


def upgrade() -> None:
    """Make them."""
    metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop them."""
    metadata.drop_all(op.get_bind())
