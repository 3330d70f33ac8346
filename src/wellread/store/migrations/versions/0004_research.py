"""Runs of deep research: what they did, told and read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from wellread.store.migrations.making import MOMENT, cascade, filled, make_table

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables."""
    make_table(
        "research_runs",
        *filled(sa.String, "id"),
        *filled(MOMENT, "created_at"),
        sa.Column("finished_at", MOMENT),
        *filled(sa.String, "owner", "state"),
        *filled(sa.JSON, "request"),
        sa.Column("plan", sa.JSON),
        sa.Column("report", sa.JSON),
        *filled(sa.String, "answer_id"),
        *filled(sa.Text, "reason"),
        *filled(sa.Float, "seconds"),
        *filled(sa.String, "host"),
        *filled(sa.Integer, "pid"),
        *filled(sa.Boolean, "cancel"),
        indexes=("created_at",),
    )
    make_table(
        "research_steps",
        *filled(sa.String, "run_id", "key"),
        *filled(sa.JSON, "result"),
        cascade("fk_research_steps_run_id_research_runs", "run_id", "research_runs"),
        key=("run_id", "key"),
    )
    make_table(
        "research_events",
        *filled(sa.String, "run_id"),
        *filled(sa.Integer, "number"),
        *filled(sa.String, "kind"),
        *filled(sa.JSON, "body"),
        cascade("fk_research_events_run_id_research_runs", "run_id", "research_runs"),
        key=("run_id", "number"),
    )
    make_table(
        "research_reads",
        *filled(sa.String, "run_id", "document_id"),
        cascade("fk_research_reads_run_id_research_runs", "run_id", "research_runs"),
        key=("run_id", "document_id"),
        indexes=("document_id",),
    )


def downgrade() -> None:
    """Take them out again."""
    for table in ("research_reads", "research_events", "research_steps", "research_runs"):
        op.drop_table(table)
