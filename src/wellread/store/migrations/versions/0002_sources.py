"""Jobs, several writers, collections with settings, mentions, stories, an index in the making."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from wellread.store.migrations.making import MOMENT, cascade, filled, make_table

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what sources need; nothing that is there is changed."""
    _source_columns()
    _jobs()
    _indexing()
    _collections()
    _mentions()
    _stories()


def downgrade() -> None:
    """Take it out again."""
    for table in (
        "story_items",
        "stories",
        "mention_scans",
        "mentions",
        "collections",
        "next_passages",
        "next_documents",
        "vector_debts",
        "job_items",
        "jobs",
    ):
        op.drop_table(table)
    for column in ("poll_after", "last_modified", "etag", "root"):
        op.drop_column("sources", column)


def _source_columns() -> None:
    for name in ("root", "etag", "last_modified"):
        column = sa.Column(name, sa.String(), nullable=False, server_default="")
        op.add_column("sources", column)
    op.add_column("sources", sa.Column("poll_after", MOMENT))


def _jobs() -> None:
    make_table(
        "jobs",
        *filled(sa.String, "id", "action", "collection"),
        *filled(sa.JSON, "inputs"),
        *filled(sa.String, "state"),
        *filled(sa.Text, "reason"),
        *filled(MOMENT, "started_at"),
        sa.Column("finished_at", MOMENT),
        *filled(sa.String, "host"),
        *filled(sa.Integer, "pid"),
        *filled(sa.Boolean, "cancel"),
        *filled(sa.Integer, "total", "done", "passages", "vectors"),
        indexes=("state", "started_at"),
    )
    make_table(
        "job_items",
        *filled(sa.String, "job_id"),
        *filled(sa.Integer, "ordinal"),
        *filled(sa.String, "uri", "status"),
        *filled(sa.Text, "reason"),
        *filled(sa.Float, "seconds"),
        *filled(sa.Integer, "documents", "passages"),
        cascade("fk_job_items_job_id_jobs", "job_id", "jobs"),
        key=("job_id", "ordinal"),
    )


def _indexing() -> None:
    make_table(
        "vector_debts",
        *filled(sa.String, "document_id", "version"),
        *filled(sa.Integer, "passages"),
        cascade("fk_vector_debts_document_id_documents"),
        key=("document_id",),
    )
    make_table(
        "next_documents",
        *filled(sa.String, "document_id", "version", "facts"),
        key=("document_id",),
    )
    make_table(
        "next_passages",
        *filled(sa.String, "id", "document_id", "version"),
        *filled(sa.Integer, "ordinal", "start", "end"),
        *filled(sa.Text, "context"),
        *filled(sa.JSON, "speakers"),
        indexes=("document_id",),
    )


def _collections() -> None:
    make_table(
        "collections",
        *filled(sa.String, "name"),
        *filled(sa.JSON, "settings"),
        *filled(MOMENT, "updated_at"),
        key=("name",),
    )


def _mentions() -> None:
    make_table(
        "mentions",
        *filled(sa.String, "document_id"),
        *filled(sa.Integer, "ordinal"),
        *filled(sa.String, "entity_id"),
        *filled(sa.Integer, "start", "end"),
        *filled(sa.String, "name"),
        cascade("fk_mentions_document_id_documents"),
        key=("document_id", "ordinal"),
        indexes=("entity_id",),
    )
    make_table(
        "mention_scans",
        *filled(sa.String, "document_id", "version", "names"),
        cascade("fk_mention_scans_document_id_documents"),
        key=("document_id",),
    )


def _stories() -> None:
    make_table(
        "stories",
        *filled(sa.String, "id", "collection"),
        *filled(sa.Text, "title", "summary"),
        *filled(sa.JSON, "terms"),
        *filled(sa.LargeBinary, "centroid"),
        *filled(sa.String, "embedder"),
        sa.Column("first_at", MOMENT),
        sa.Column("last_at", MOMENT),
        *filled(sa.Integer, "items", "sources"),
        *filled(sa.Float, "novelty"),
        *filled(sa.Boolean, "dirty"),
        indexes=("collection",),
    )
    make_table(
        "story_items",
        *filled(sa.String, "document_id"),
        *filled(sa.Integer, "start", "end"),
        *filled(sa.String, "version"),
        sa.Column("story_id", sa.String),
        sa.Column("published_at", MOMENT),
        *filled(sa.LargeBinary, "vector", "fingerprint"),
        *filled(sa.String, "repeats"),
        cascade("fk_story_items_document_id_documents"),
        sa.ForeignKeyConstraint(
            ["story_id"],
            ["stories.id"],
            name=op.f("fk_story_items_story_id_stories"),
            ondelete="SET NULL",
        ),
        key=("document_id", "start"),
        indexes=("story_id",),
    )
