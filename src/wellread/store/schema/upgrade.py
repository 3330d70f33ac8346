"""Brings a database to the newest schema with the migrations that ship in the package."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from wellread.errors import StoreError

MIGRATIONS = Path(__file__).parent.parent / "migrations"


def upgrade(connection: Connection) -> None:
    """Run the missing migrations inside the connection's transaction.

    Raises:
        StoreError: the database was written by a newer release.
    """
    config = Config()
    # Alembic reads % in options as interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreError(
            f"the catalogue's schema is not known here: {error}",
            hint="it was written by a newer Wellread; update this one",
        ) from error
