"""What is read of a damaged catalogue, row by row, and what a copy adds."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from wellread.store.catalogue import Catalogue
from wellread.store.recovery.database_file import inspect_file
from wellread.store.recovery.salvage import SavedTable, complete, make_like, save_rows
from wellread.store.schema.database import Database, upgrade

pytestmark = pytest.mark.sqlite_only

ROWS = 600
PAGE = 4096


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalogue with many gaps, on many pages."""
    path = tmp_path_factory.mktemp("filled") / "catalogue.db"
    Catalogue.open(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(sources)")]
        for number in range(ROWS):
            values: dict[str, object] = dict.fromkeys(names, "x" * 60)
            values |= {"collection": "c", "uri": f"file:///{number}", "size": 1, "mtime_ns": 1}
            values |= {"seen_at": "2026-01-01 00:00:00.000000", "poll_after": None}
            marks = ", ".join("?" * len(names))
            connection.execute(f"INSERT INTO sources VALUES ({marks})", list(values.values()))
    return path


@pytest.fixture
def damaged(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "damaged.db"))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    path = tmp_path / "fresh.db"
    Catalogue.open(path).close()
    return path


def leaves(path: Path, name: str) -> list[int]:
    """Where the pages of a table's rows begin in the file."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (root,) = connection.execute(query, (name,)).fetchone()
    content = path.read_bytes()
    start = (root - 1) * PAGE
    assert content[start] == 0x05  # an inner page
    count = int.from_bytes(content[start + 3 : start + 5], "big")
    cells = [
        int.from_bytes(content[start + 12 + 2 * at : start + 14 + 2 * at], "big")
        for at in range(count)
    ]
    children = [int.from_bytes(content[start + at : start + at + 4], "big") for at in cells]
    return [(child - 1) * PAGE for child in children]


def zero(path: Path, start: int) -> None:
    content = bytearray(path.read_bytes())
    content[start : start + PAGE] = bytes(PAGE)
    path.write_bytes(content)


def saved(tables: list[SavedTable], name: str) -> SavedTable:
    return next(table for table in tables if table.name == name)


def uris(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {uri for (uri,) in connection.execute("SELECT uri FROM sources")}


def test_a_sound_file_is_read_whole(damaged: Path, fresh: Path) -> None:
    assert inspect_file(damaged).lost == ""
    tables = save_rows(damaged, fresh)
    assert all(table.whole for table in tables)
    assert uris(fresh) == uris(damaged)


@pytest.mark.parametrize("place", [0, 3, -1], ids=["first page", "inside", "last but one"])
def test_rows_around_a_damaged_page_are_read(damaged: Path, fresh: Path, place: int) -> None:
    pages = leaves(damaged, "sources")
    before = uris(damaged)
    zero(damaged, pages[place])
    assert "damaged" in inspect_file(damaged).lost
    tables = save_rows(damaged, fresh)
    assert not saved(tables, "sources").whole
    assert saved(tables, "gaps").whole
    lost = before - uris(fresh)
    assert 0 < len(lost) <= ROWS / len(pages) * 2


def test_two_damaged_pages_lose_their_rows_alone(damaged: Path, fresh: Path) -> None:
    pages = leaves(damaged, "sources")
    for place in (1, 2, 6):
        zero(damaged, pages[place])
    save_rows(damaged, fresh)
    assert len(uris(fresh)) >= ROWS - ROWS / len(pages) * 4


def test_a_header_alone_is_mended(damaged: Path, fresh: Path) -> None:
    content = bytearray(damaged.read_bytes())
    content[:24] = b"0" * 24
    damaged.write_bytes(content)
    assert inspect_file(damaged).lost == "it is no database"
    tables = save_rows(damaged, fresh)
    assert all(table.whole for table in tables)
    assert len(uris(fresh)) == ROWS


def test_values_of_another_kind_are_left_out(damaged: Path, fresh: Path) -> None:
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("UPDATE sources SET seen_at = 'soon' WHERE uri = 'file:///7'")
        connection.execute("UPDATE sources SET size = 'big' WHERE uri = 'file:///8'")
        connection.execute(
            "UPDATE sources SET reason = CAST(x'ff41' AS TEXT) WHERE uri = 'file:///9'"
        )
    assert inspect_file(damaged).lost == "values in it cannot be read (rows of sources 3)"
    assert not saved(save_rows(damaged, fresh), "sources").whole
    assert uris(damaged) - uris(fresh) == {"file:///7", "file:///8", "file:///9"}


def test_a_copy_fills_what_could_not_be_read_and_nothing_else(
    filled: Path, damaged: Path, fresh: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copy(filled, tmp_path / "copy.db"))
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("INSERT INTO collections VALUES ('removed since', '{}', '2026-01-01')")
    before = uris(damaged)
    zero(damaged, leaves(damaged, "sources")[2])
    tables = save_rows(damaged, fresh)
    assert complete(fresh, copy, tables) == len(before) - saved(tables, "sources").rows
    assert uris(fresh) == before
    with closing(sqlite3.connect(fresh)) as connection:  # it was read whole, and had none
        assert connection.execute("SELECT count(*) FROM collections").fetchone() == (0,)


def test_an_older_releases_file_is_read_in_its_own_schema(tmp_path: Path) -> None:
    old, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    database = Database(old)
    with database.write() as connection:
        upgrade(connection, "0003")
    database.close()
    with closing(sqlite3.connect(old)) as raw, raw:
        raw.execute("INSERT INTO collections VALUES ('birds', '{}', '2026-01-01')")
    make_like(old, fresh)
    assert saved(save_rows(old, fresh), "collections").rows == 1
    catalogue = Catalogue.open(fresh)
    assert catalogue.forgetting.knows("birds")
    catalogue.close()


@pytest.mark.parametrize("tells", [True, False], ids=["tells its schema", "does not"])
def test_what_named_its_readers_is_not_opened_to_all(tmp_path: Path, tells: bool) -> None:
    old, fresh = tmp_path / "old.db", tmp_path / "fresh.db"
    database = Database(old)
    with database.write() as connection:
        upgrade(connection, "0007")
    database.close()
    with closing(sqlite3.connect(old)) as raw, raw:
        table = raw.execute("PRAGMA table_info(documents)").fetchall()
        values = {row[1]: 1 if row[2] == "INTEGER" else "x" for row in table}
        values |= dict.fromkeys(("authors", "taxonomy"), "[]")
        values |= {
            f"{name}_at": "2026-01-01 00:00:00" for name in ("published", "added", "updated")
        }
        values |= {"collection": "c", "readers": '["ana"]'}
        marks = ", ".join("?" * len(values))
        raw.execute(f"INSERT INTO documents VALUES ({marks})", list(values.values()))
        if not tells:
            raw.execute("DELETE FROM alembic_version")
    make_like(old, fresh)
    save_rows(old, fresh)
    catalogue = Catalogue.open(fresh)
    assert catalogue.collection_names() == ["c-restricted"]
    catalogue.close()


def test_nothing_is_read_of_what_is_no_database(fresh: Path, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"no such thing " * 900)
    tables = save_rows(garbage, fresh)
    assert not any(table.rows or table.whole for table in tables)
