"""Feedback, notices, figures of answers, preferences; gaps with a status."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from wellread.store.migrations.making import MOMENT, cascade, filled, make_table

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables, and what a gap is kept with."""
    make_table(
        "feedback",
        *filled(sa.String, "id", "answer_id", "author"),
        *filled(MOMENT, "created_at", "updated_at"),
        *filled(sa.Text, "question"),
        sa.Column("score", sa.Float),
        *filled(sa.JSON, "body"),
        *filled(sa.Text, "expired"),
        *filled(sa.LargeBinary, "vector"),
        *filled(sa.String, "embedder"),
        cascade("fk_feedback_answer_id_answers", "answer_id", "answers"),
        sa.UniqueConstraint("answer_id", "author", name=op.f("uq_feedback_answer_id_author")),
    )
    make_table(
        "feedback_marks",
        *filled(sa.String, "feedback_id"),
        *filled(sa.Integer, "ordinal"),
        *filled(sa.String, "kind", "key"),
        cascade("fk_feedback_marks_feedback_id_feedback", "feedback_id", "feedback"),
        key=("feedback_id", "ordinal"),
        indexes=("key",),
    )
    make_table(
        "notices",
        *filled(sa.Integer, "id"),
        *filled(sa.String, "owner"),
        *filled(MOMENT, "created_at"),
        *filled(sa.String, "kind", "target"),
        *filled(sa.Text, "text"),
        sa.Column("seen_at", MOMENT),
        indexes=("owner",),
    )
    _figures()
    make_table(
        "preferences",
        *filled(sa.String, "owner"),
        *filled(MOMENT, "updated_at"),
        *filled(sa.Boolean, "consent"),
        *filled(sa.JSON, "body", "learned"),
        key=("owner",),
    )
    _gaps()


def _figures() -> None:
    make_table(
        "answer_facts",
        *filled(sa.String, "answer_id"),
        *filled(MOMENT, "at"),
        *filled(sa.String, "type", "mode", "answered_by", "band"),
        *filled(sa.Float, "confidence", "shipped", "seconds", "cost"),
        *filled(sa.Integer, "citations", "input_tokens", "output_tokens"),
        *filled(sa.Integer, "supported", "partial", "not_checked", "uncited", "unsupported"),
        *filled(sa.Boolean, "follow_up", "cached", "gap"),
        cascade("fk_answer_facts_answer_id_answers", "answer_id", "answers"),
        key=("answer_id",),
        indexes=("at",),
    )
    make_table(
        "answer_steps",
        *filled(sa.String, "answer_id", "name"),
        *filled(MOMENT, "at"),
        *filled(sa.Float, "seconds"),
        cascade("fk_answer_steps_answer_id_answers", "answer_id", "answers"),
        key=("answer_id", "name"),
    )
    make_table(
        "answer_topics",
        *filled(sa.String, "answer_id", "kind", "topic"),
        *filled(MOMENT, "at"),
        *filled(sa.Boolean, "gap"),
        cascade("fk_answer_topics_answer_id_answers", "answer_id", "answers"),
        key=("answer_id", "kind", "topic"),
    )
    for table, *columns in _COVERING:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns)


_COVERING = (
    ("sessions", "owner", "seen_at"),
    ("answer_steps", "name", "seconds", "at"),
    ("answer_topics", "kind", "topic", "at", "gap"),
)


def _gaps() -> None:
    with op.batch_alter_table("gaps") as table:
        for name, default in _TEXTS.items():
            table.add_column(sa.Column(name, sa.String, nullable=False, server_default=default))
        table.add_column(sa.Column("scope", sa.JSON, nullable=False, server_default="[]"))
        table.add_column(sa.Column("limits", sa.JSON, nullable=False, server_default="{}"))
        table.add_column(sa.Column("asked", sa.Integer, nullable=False, server_default="1"))
        table.add_column(sa.Column("asked_at", MOMENT))
        table.add_column(sa.Column("vector", sa.LargeBinary))
        table.add_column(sa.Column("tried_at", MOMENT))
        table.add_column(sa.Column("tried", sa.Text, nullable=False, server_default=""))
        table.add_column(sa.Column("closed_at", MOMENT))
    for column in _INDEXED:
        op.create_index(op.f(f"ix_gaps_{column}"), "gaps", [column])


_TEXTS = {"kind": "unanswered", "status": "open"} | dict.fromkeys(
    ("answer_id", "closed_by", "owner", "key", "embedder"), ""
)
_MORE = ("scope", "limits", "asked", "asked_at", "vector", "tried_at", "tried", "closed_at")
_INDEXED = ("status", "key")


def downgrade() -> None:
    """Take them out again."""
    op.drop_index(op.f("ix_sessions_owner_seen_at"), "sessions")
    for column in _INDEXED:
        op.drop_index(op.f(f"ix_gaps_{column}"), "gaps")
    with op.batch_alter_table("gaps") as table:
        for name in (*_TEXTS, *_MORE):
            table.drop_column(name)
    for table_name in _TABLES:
        op.drop_table(table_name)


_TABLES = (
    "preferences",
    "answer_topics",
    "answer_steps",
    "answer_facts",
    "notices",
    "feedback_marks",
    "feedback",
)
