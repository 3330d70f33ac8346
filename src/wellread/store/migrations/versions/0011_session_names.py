"""Two owners may have sessions of the same name."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """A session is known by its id and its owner."""
    _known_by("id", "owner")


def downgrade() -> None:
    """By its id alone; fails where two owners have one of the same name."""
    _known_by("id")


def _known_by(*columns: str) -> None:
    name = op.f("pk_sessions")
    with op.batch_alter_table("sessions") as changed:
        changed.drop_constraint(name, type_="primary")
        changed.create_primary_key(name, list(columns))
