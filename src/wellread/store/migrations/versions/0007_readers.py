"""Who may read a document, of those who may read its collection."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_TABLES = ("documents", "sources", "job_items")
_INDEXES = (("documents", ("readers", "collection")), ("job_items", ("job_id",)))


def upgrade() -> None:
    """Add the columns, and indexes of the few rows that name somebody."""
    for name in _TABLES:
        op.add_column(name, sa.Column("readers", sa.Text))
    few = sa.text("readers IS NOT NULL")
    for table, columns in _INDEXES:
        name = op.f(f"ix_{table}_{'_'.join(columns)}")
        op.create_index(name, table, columns, sqlite_where=few, postgresql_where=few)


def downgrade() -> None:
    """Take them out again."""
    for table, columns in _INDEXES:
        op.drop_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table)
    for name in _TABLES:
        with op.batch_alter_table(name) as changed:
            changed.drop_column("readers")
