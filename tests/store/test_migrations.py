"""The migration that ships in the package, and opening a catalogue of this or another schema."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text
from typer.testing import CliRunner

from wellread.kb import open_kb
from wellread.serve.cli import app
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


@pytest.mark.parametrize("schema", ["0100", "9999"])
@pytest.mark.parametrize(
    "command",
    [["show", "document"], ["ask", "Who?"], ["verify", "--repair"], ["add", __file__]],
    ids=lambda words: words[0],
)
def test_a_home_of_another_schema_is_refused_untouched(
    tmp_path: Path, command: list[str], schema: str
) -> None:
    home = tmp_path / "home"
    with open_kb(home) as kb:
        kb.catalogue.record_gap("Who?", "")
    engine = create_engine(f"sqlite:///{home / 'catalogue.db'}")
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{schema}'"))
    engine.dispose()
    before = fingerprint(home)
    result = CliRunner().invoke(app, ["--home", str(home), *command])
    assert result.exit_code
    said = " ".join(result.stderr.split())
    assert f"has the schema {schema}" in said
    assert "newer Wellread" in said
    assert fingerprint(home) == before


def fingerprint(home: Path) -> dict[str, bytes]:
    """Every file with its bytes; locks may come."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(home)): path.read_bytes() for path in files}
