"""The migrations that ship in the package, and opening at every stage of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from wellread.store.catalogue import Catalogue
from wellread.store.schema.tables import metadata

pytestmark = pytest.mark.sqlite_only


def test_the_migrated_schema_is_that_of_the_code(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    Catalogue.open(path).close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        found = set(inspect(connection).get_table_names())
    engine.dispose()
    assert found == {*metadata.tables, "alembic_version"}


def test_an_empty_and_an_up_to_date_database_both_open(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "catalogue.db"
    for expected in (1, 2):
        catalogue = Catalogue.open(path)
        catalogue.record_gap(f"Who is {expected}?", "")
        assert len(catalogue.gaps()) == expected
        catalogue.close()


def test_an_up_to_date_database_opens_without_alembic(tmp_path: Path) -> None:
    Catalogue.open(tmp_path / "catalogue.db").close()
    code = (
        "import pathlib, sys\n"
        "from wellread.store.catalogue import Catalogue\n"
        "Catalogue.open(pathlib.Path(sys.argv[1])).close()\n"
        "sys.exit('alembic' in sys.modules)\n"
    )
    path = str(tmp_path / "catalogue.db")
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == 0


def test_processes_can_open_a_new_catalogue_at_once(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys\n"
        "from wellread.store.catalogue import Catalogue\n"
        "Catalogue.open(pathlib.Path(sys.argv[1])).record_gap(sys.argv[2], '')\n"
    )
    path = tmp_path / "catalogue.db"
    running = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", code, str(path), f"Who is {n}?"])
        for n in range(3)
    ]
    assert [process.wait(timeout=600) for process in running] == [0, 0, 0]
    catalogue = Catalogue.open(path)
    assert len(catalogue.gaps()) == 3
    catalogue.close()


def test_a_catalogue_of_0101_loses_the_tables_that_nothing_uses(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    Catalogue.open(path).close()
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE notices (text VARCHAR)"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0101'"))
    Catalogue.open(path).close()
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}
    engine.dispose()
