"""Jobs, several writers, collections with settings, mentions, stories, an index in the making."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

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


def _document(*, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column("document_id", sa.String(), nullable=False, primary_key=primary_key)


def _of_document(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["document_id"],
        ["documents.id"],
        name=op.f(f"fk_{table}_document_id_documents"),
        ondelete="CASCADE",
    )


def _text(name: str, kind: type[sa.types.TypeEngine[str]] = sa.String) -> sa.Column[str]:
    return sa.Column(name, kind(), nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _moment(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _source_columns() -> None:
    for name in ("root", "etag", "last_modified"):
        column = sa.Column(name, sa.String(), nullable=False, server_default="")
        op.add_column("sources", column)
    op.add_column("sources", _moment("poll_after"))


def _jobs() -> None:
    op.create_table(
        "jobs",
        _text("id"),
        _text("action"),
        _text("collection"),
        sa.Column("inputs", sa.JSON(), nullable=False),
        _text("state"),
        _text("reason", sa.Text),
        _moment("started_at", nullable=False),
        _moment("finished_at"),
        _text("host"),
        _number("pid"),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        _number("total"),
        _number("done"),
        _number("passages"),
        _number("vectors"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_state"), "jobs", ["state"])
    op.create_index(op.f("ix_jobs_started_at"), "jobs", ["started_at"])
    op.create_table(
        "job_items",
        _text("job_id"),
        _number("ordinal"),
        _text("uri"),
        _text("status"),
        _text("reason", sa.Text),
        sa.Column("seconds", sa.Float(), nullable=False),
        _number("documents"),
        _number("passages"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_job_items_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "ordinal", name=op.f("pk_job_items")),
    )


def _indexing() -> None:
    op.create_table(
        "vector_debts",
        _document(),
        _text("version"),
        _number("passages"),
        _of_document("vector_debts"),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_vector_debts")),
    )
    op.create_table(
        "next_documents",
        _document(),
        _text("version"),
        _text("facts"),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_next_documents")),
    )
    op.create_table(
        "next_passages",
        _text("id"),
        _document(),
        _text("version"),
        _number("ordinal"),
        _number("start"),
        _number("end"),
        _text("context", sa.Text),
        sa.Column("speakers", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_next_passages")),
    )
    op.create_index(op.f("ix_next_passages_document_id"), "next_passages", ["document_id"])


def _collections() -> None:
    op.create_table(
        "collections",
        _text("name"),
        sa.Column("settings", sa.JSON(), nullable=False),
        _moment("updated_at", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_collections")),
    )


def _mentions() -> None:
    op.create_table(
        "mentions",
        _document(),
        _number("ordinal"),
        _text("entity_id"),
        _number("start"),
        _number("end"),
        _text("name"),
        _of_document("mentions"),
        sa.PrimaryKeyConstraint("document_id", "ordinal", name=op.f("pk_mentions")),
    )
    op.create_index(op.f("ix_mentions_entity_id"), "mentions", ["entity_id"])
    op.create_table(
        "mention_scans",
        _document(),
        _text("version"),
        _text("names"),
        _of_document("mention_scans"),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_mention_scans")),
    )


def _stories() -> None:
    op.create_table(
        "stories",
        _text("id"),
        _text("collection"),
        _text("title", sa.Text),
        _text("summary", sa.Text),
        sa.Column("terms", sa.JSON(), nullable=False),
        sa.Column("centroid", sa.LargeBinary(), nullable=False),
        _text("embedder"),
        _moment("first_at"),
        _moment("last_at"),
        _number("items"),
        _number("sources"),
        sa.Column("novelty", sa.Float(), nullable=False),
        sa.Column("dirty", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stories")),
    )
    op.create_index(op.f("ix_stories_collection"), "stories", ["collection"])
    op.create_table(
        "story_items",
        _document(),
        _number("start"),
        _number("end"),
        _text("version"),
        sa.Column("story_id", sa.String(), nullable=True),
        _moment("published_at"),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        _text("repeats"),
        _of_document("story_items"),
        sa.ForeignKeyConstraint(
            ["story_id"],
            ["stories.id"],
            name=op.f("fk_story_items_story_id_stories"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("document_id", "start", name=op.f("pk_story_items")),
    )
    op.create_index(op.f("ix_story_items_story_id"), "story_items", ["story_id"])
