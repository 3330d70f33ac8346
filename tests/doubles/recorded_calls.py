"""The model calls that a catalogue has recorded, read and deleted by tests."""

from __future__ import annotations

from sqlalchemy import delete, select

from wellread.store.catalogue import Catalogue
from wellread.store.schema.database import rows_to_values
from wellread.store.schema.tables import provider_calls
from wellread.values.calls import Call


def newest_calls(catalogue: Catalogue, limit: int) -> list[Call]:
    """The newest calls, newest first."""
    columns = [provider_calls.c[name] for name in Call.__dataclass_fields__]
    statement = select(*columns).order_by(provider_calls.c.id.desc()).limit(limit)
    with catalogue.snapshot() as connection:
        return rows_to_values(Call, connection.execute(statement))


def forget_calls(catalogue: Catalogue) -> None:
    """Delete all calls, and with them the amount spent."""
    catalogue.calls._run(delete(provider_calls))
