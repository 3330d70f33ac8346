"""What documents are called, to be looked up by the words of a question."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from wellread.store.catalogue.documents.name_records import fill
from wellread.store.migrations.making import cascade, filled, make_table

revision = "0009"
down_revision = "0008"

_FOUND = ("sort", "key", "value", "collection")


def upgrade() -> None:
    """Add the table and fill it; an index of the newest documents of a collection."""
    make_table(
        "document_names",
        sa.Column("document_id", sa.String, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False, autoincrement=False),
        *filled(sa.String, "collection", "sort", "key", "value"),
        cascade("fk_document_names_document_id_documents"),
        key=("document_id", "ordinal"),
    )
    op.create_index(op.f("ix_document_names_sort_key_value_collection"), "document_names", _FOUND)
    newest = ("collection", "published_at")
    op.create_index(op.f("ix_documents_collection_published_at"), "documents", newest)
    fill(op.get_bind())


def downgrade() -> None:
    """Take them out again."""
    op.drop_index(op.f("ix_documents_collection_published_at"), "documents")
    op.drop_table("document_names")
