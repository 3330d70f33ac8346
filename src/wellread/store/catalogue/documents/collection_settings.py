"""What is kept of a collection as a whole: what its settings file says, as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, insert, select

from wellread.store.catalogue.documents.vocabularies import touch
from wellread.store.schema.database import Database
from wellread.store.schema.graph_tables import collections


class Collections:
    """Settings of collections by name. Every method raises StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def settings(self, name: str) -> dict[str, Any] | None:
        """The settings of the collection, or None when it has none."""
        statement = select(collections.c.settings).where(collections.c.name == name)
        with self._database.read() as connection:
            found: dict[str, Any] | None = connection.execute(statement).scalar()
        return found

    def set_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """Keep these settings; they take the place of earlier ones."""
        row = {"name": name, "settings": dict(settings), "updated_at": datetime.now(UTC)}
        with self._database.write() as connection:
            connection.execute(delete(collections).where(collections.c.name == name))
            connection.execute(insert(collections), row)
            touch(connection, [name])

    def forget(self, name: str) -> None:
        """Drop the settings of the collection; no error when it has none."""
        with self._database.write() as connection:
            connection.execute(delete(collections).where(collections.c.name == name))
            touch(connection, [name])
