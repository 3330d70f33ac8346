"""The first schema: documents, passages, sources, the graph, answers, gaps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

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
    _answers()
    _documents()
    _gaps()
    _index_writes()
    _properties()
    _sources()
    _answer_evidence()
    _entities()
    _marks()
    _passages()
    _past_questions()
    _relations()
    _texts()


def downgrade() -> None:
    """Drop all tables, those that refer to others first."""
    for name in reversed(TABLES):
        op.drop_table(name)


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answered_by", sa.String(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_answers"),
    )
    op.create_index("ix_answers_created_at", "answers", ["created_at"])
    op.create_index("ix_answers_session_id", "answers", ["session_id"])


def _documents() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("collection", sa.String(), nullable=False),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("source_type", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("authors", sa.JSON(), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("media_url", sa.Text(), nullable=False),
        sa.Column("taxonomy", sa.JSON(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("facts", sa.String(), nullable=False),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column("passages", sa.Integer(), nullable=False),
        sa.Column("source_uri", sa.String(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sa.UniqueConstraint("collection", "uri", name="uq_documents_collection_uri"),
    )
    op.create_index("ix_documents_collection_source_uri", "documents", ["collection", "source_uri"])


def _gaps() -> None:
    op.create_table(
        "gaps",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_gaps"),
    )


def _index_writes() -> None:
    op.create_table(
        "index_writes",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", "version", name="pk_index_writes"),
    )


def _properties() -> None:
    op.create_table(
        "properties",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_properties"),
    )


def _sources() -> None:
    op.create_table(
        "sources",
        sa.Column("collection", sa.String(), nullable=False),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("loader", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("collection", "uri", name="pk_sources"),
    )


def _answer_evidence() -> None:
    op.create_table(
        "answer_evidence",
        sa.Column("answer_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["answer_id"], ["answers.id"], name="fk_answer_evidence_answer_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("answer_id", "ordinal", name="pk_answer_evidence"),
    )
    op.create_index("ix_answer_evidence_document_id", "answer_evidence", ["document_id"])


def _entities() -> None:
    op.create_table(
        "entities",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("entity_id", sa.String(), nullable=False),
        sa.Column("entity_type", sa.String(), nullable=False),
        sa.Column("aliases", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_entities_document_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_entities"),
    )
    op.create_index("ix_entities_entity_id", "entities", ["entity_id"])


def _marks() -> None:
    op.create_table(
        "marks",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_marks_document_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_marks"),
    )


def _passages() -> None:
    op.create_table(
        "passages",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("speakers", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_passages_document_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_passages"),
        sa.UniqueConstraint("document_id", "ordinal", name="uq_passages_document_id_ordinal"),
    )


def _past_questions() -> None:
    op.create_table(
        "past_questions",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=True),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name="fk_past_questions_document_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_past_questions"),
    )


def _relations() -> None:
    op.create_table(
        "relations",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_relations_document_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "ordinal", name="pk_relations"),
    )
    op.create_index("ix_relations_source", "relations", ["source"])
    op.create_index("ix_relations_target", "relations", ["target"])


def _texts() -> None:
    op.create_table(
        "texts",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("piece", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_texts_document_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "piece", name="pk_texts"),
    )
