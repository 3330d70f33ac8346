"""Sessions, calls of models, answers that may be given again; disagreements with their views."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

ANSWERS = sa.table("answers", sa.column("id", sa.String), sa.column("body", sa.JSON))


def upgrade() -> None:
    """Add what asking needs; what answers name becomes values of more than one part."""
    op.add_column("answers", sa.Column("owner", sa.String(), nullable=False, server_default=""))
    _sessions()
    _provider_calls()
    _cached_answers()
    _rewrite(_parts)


def downgrade() -> None:
    """Take it out again."""
    _rewrite(_names)
    for table in ("cached_answers", "provider_calls", "sessions"):
        op.drop_table(table)
    op.drop_column("answers", "owner")


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_owner"), "sessions", ["owner"])
    op.create_index(op.f("ix_sessions_seen_at"), "sessions", ["seen_at"])


def _provider_calls() -> None:
    op.create_table(
        "provider_calls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_provider_calls")),
    )
    op.create_index(op.f("ix_provider_calls_at"), "provider_calls", ["at"])


def _cached_answers() -> None:
    op.create_table(
        "cached_answers",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("answer_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["answer_id"],
            ["answers.id"],
            name=op.f("fk_cached_answers_answer_id_answers"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_cached_answers")),
    )
    op.create_index(op.f("ix_cached_answers_answer_id"), "cached_answers", ["answer_id"])


def _rewrite(change: Any) -> None:
    connection = op.get_bind()
    for known in connection.execute(sa.select(ANSWERS.c.id)).scalars().all():
        body = connection.execute(sa.select(ANSWERS.c.body).where(ANSWERS.c.id == known)).scalar()
        if isinstance(body, dict):
            changed = change(body)
            connection.execute(sa.update(ANSWERS).where(ANSWERS.c.id == known).values(body=changed))


def _parts(body: dict[str, Any]) -> dict[str, Any]:
    related = [{"kind": "document", "title": each} for each in body.get("related", [])]
    conflicts = [{"about": each} for each in body.get("conflicts", [])]
    return {**body, "related": related, "conflicts": conflicts}


def _names(body: dict[str, Any]) -> dict[str, Any]:
    new = {"premises", "suggestions", "type", "standalone", "owner", "cached"}
    new |= {"repaired_citations", "dropped_sentences"}
    kept = {name: value for name, value in body.items() if name not in new}
    related = [each["title"] for each in body.get("related", [])]
    conflicts = [each["about"] for each in body.get("conflicts", [])]
    return {**kept, "related": related, "conflicts": conflicts}
