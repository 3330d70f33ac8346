"""How many sentences of an answer are quoted; those of before are counted as supported."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column; no answer of before has such a sentence."""
    op.add_column(
        "answer_facts", sa.Column("quoted", sa.Integer, nullable=False, server_default="0")
    )


def downgrade() -> None:
    """Take it out again."""
    with op.batch_alter_table("answer_facts") as changed:
        changed.drop_column("quoted")
