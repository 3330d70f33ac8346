"""Sessions, calls of models, answers that may be given again; disagreements with their views."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from wellread.store.migrations.making import MOMENT, cascade, filled, make_table

revision = "0003"
down_revision = "0002"

ANSWERS = sa.table("answers", sa.column("id", sa.String), sa.column("body", sa.JSON))


def upgrade() -> None:
    """Add what asking needs; what answers name becomes values of more than one part."""
    op.add_column("answers", sa.Column("owner", sa.String(), nullable=False, server_default=""))
    _tables()
    _rewrite(_parts)


def downgrade() -> None:
    """Take it out again."""
    _rewrite(_names)
    for table in ("cached_answers", "provider_calls", "sessions"):
        op.drop_table(table)
    op.drop_column("answers", "owner")


def _tables() -> None:
    make_table(
        "sessions",
        *filled(sa.String, "id", "owner"),
        *filled(sa.Text, "title"),
        *filled(MOMENT, "created_at", "seen_at"),
        indexes=("owner", "seen_at"),
    )
    make_table(
        "provider_calls",
        *filled(sa.Integer, "id"),
        *filled(MOMENT, "at"),
        *filled(sa.String, "purpose", "provider", "model"),
        *filled(sa.Integer, "input_tokens", "output_tokens"),
        *filled(sa.Float, "cost", "seconds"),
        *filled(sa.Text, "error"),
        indexes=("at",),
    )
    make_table(
        "cached_answers",
        *filled(sa.String, "key", "answer_id"),
        *filled(MOMENT, "created_at"),
        cascade("fk_cached_answers_answer_id_answers", "answer_id", "answers"),
        key=("key",),
        indexes=("answer_id",),
    )


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
