"""The first schema: documents, passages, sources, the graph, answers, gaps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from wellread.store.migrations.making import MOMENT, cascade, filled, make_table

revision = "0001"
down_revision = None

TABLES = (
    "answers",
    "documents",
    "gaps",
    "index_writes",
    "properties",
    "sources",
    "answer_evidence",
    "entities",
    "marks",
    "passages",
    "past_questions",
    "relations",
    "texts",
)


def upgrade() -> None:
    """Make all tables, those that others refer to first."""
    _own_tables()
    _document_tables()
    _more_document_tables()


def downgrade() -> None:
    """Drop all tables, those that refer to others first."""
    for name in reversed(TABLES):
        op.drop_table(name)


def _own_tables() -> None:
    make_table(
        "answers",
        *filled(sa.String, "id"),
        *filled(MOMENT, "created_at"),
        *filled(sa.String, "session_id"),
        *filled(sa.Text, "question"),
        *filled(sa.String, "answered_by"),
        *filled(sa.Float, "confidence"),
        *filled(sa.Boolean, "stale"),
        *filled(sa.JSON, "body"),
        indexes=("created_at", "session_id"),
    )
    make_table(
        "documents",
        *filled(sa.String, "id", "collection", "uri", "kind"),
        *filled(sa.Text, "title", "url"),
        *filled(sa.String, "source_type", "language"),
        *filled(sa.JSON, "authors"),
        sa.Column("published_at", MOMENT),
        *filled(sa.Text, "summary", "media_url"),
        *filled(sa.JSON, "taxonomy"),
        *filled(sa.String, "version", "facts"),
        *filled(sa.Integer, "characters", "passages"),
        *filled(sa.String, "source_uri"),
        *filled(MOMENT, "added_at", "updated_at"),
        sa.UniqueConstraint("collection", "uri", name="uq_documents_collection_uri"),
    )
    op.create_index("ix_documents_collection_source_uri", "documents", ["collection", "source_uri"])
    make_table(
        "gaps",
        *filled(sa.Integer, "id"),
        *filled(sa.Text, "question", "reason"),
        *filled(MOMENT, "created_at"),
    )
    make_table(
        "index_writes",
        *filled(sa.String, "document_id", "version", "action", "run"),
        key=("document_id", "version"),
    )
    make_table("properties", *filled(sa.String, "key"), *filled(sa.JSON, "value"), key=("key",))
    make_table(
        "sources",
        *filled(sa.String, "collection", "uri"),
        *filled(sa.BigInteger, "size", "mtime_ns"),
        *filled(sa.String, "digest", "loader", "status"),
        *filled(sa.Text, "reason"),
        *filled(MOMENT, "seen_at"),
        key=("collection", "uri"),
    )


def _document_tables() -> None:
    make_table(
        "answer_evidence",
        *filled(sa.String, "answer_id"),
        *filled(sa.Integer, "ordinal"),
        *filled(sa.String, "document_id", "version"),
        *filled(sa.Integer, "start", "end"),
        cascade("fk_answer_evidence_answer_id", "answer_id", "answers"),
        key=("answer_id", "ordinal"),
        indexes=("document_id",),
    )
    make_table(
        "entities",
        *filled(sa.String, "document_id", "entity_id", "entity_type"),
        *filled(sa.JSON, "aliases"),
        cascade("fk_entities_document_id"),
        key=("document_id",),
        indexes=("entity_id",),
    )
    make_table(
        "marks",
        *filled(sa.String, "document_id"),
        *filled(sa.LargeBinary, "blob"),
        cascade("fk_marks_document_id"),
        key=("document_id",),
    )
    make_table(
        "passages",
        *filled(sa.String, "id", "document_id", "version"),
        *filled(sa.Integer, "ordinal", "start", "end"),
        *filled(sa.Text, "context"),
        *filled(sa.JSON, "speakers"),
        cascade("fk_passages_document_id"),
        sa.UniqueConstraint("document_id", "ordinal", name="uq_passages_document_id_ordinal"),
    )


def _more_document_tables() -> None:
    make_table(
        "past_questions",
        *filled(sa.String, "document_id"),
        *filled(sa.Text, "question"),
        sa.Column("score", sa.Integer),
        *filled(sa.JSON, "body"),
        cascade("fk_past_questions_document_id"),
        key=("document_id",),
    )
    make_table(
        "relations",
        *filled(sa.String, "document_id"),
        *filled(sa.Integer, "ordinal"),
        *filled(sa.String, "source", "type", "target"),
        cascade("fk_relations_document_id"),
        key=("document_id", "ordinal"),
        indexes=("source", "target"),
    )
    make_table(
        "texts",
        *filled(sa.String, "document_id"),
        *filled(sa.Integer, "piece"),
        *filled(sa.Text, "text"),
        cascade("fk_texts_document_id"),
        key=("document_id", "piece"),
    )
