"""How migrations write tables down: what most of their columns and constraints have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

MOMENT = sa.DateTime(timezone=True)


def filled(
    kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]], *names: str
) -> list[sa.Column[Any]]:
    """Columns of one kind that must have a value."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def cascade(name: str, column: str = "document_id", to: str = "documents") -> sa.Constraint:
    """The constraint ``name``: a row goes with the one of table ``to`` that it points to."""
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=op.f(name), ondelete="CASCADE")


def make_table(
    name: str,
    *parts: sa.Column[Any] | sa.Constraint,
    key: Sequence[str] = ("id",),
    indexes: Iterable[str] = (),
) -> None:
    """Create a table with its primary key, and an index for each of ``indexes`` (columns)."""
    op.create_table(name, *parts, sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{name}")))
    for column in indexes:
        op.create_index(op.f(f"ix_{name}_{column}"), name, [column])
