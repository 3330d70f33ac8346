"""Backups of a catalogue's file: whole, named by their content, without what was deleted."""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wellread.config import BackupSettings
from wellread.errors import DamageError
from wellread.kb.home_catalogue import BACKUPS_FOLDER, CATALOGUE_FILE, CataloguePlace
from wellread.store.catalogue import Catalogue
from wellread.store.recovery import copies
from wellread.store.recovery.copies import (
    CatalogueCopy,
    copies_in,
    drop_copies,
    drop_set_aside,
    newest_sound,
    put_back,
    set_aside,
    take_copy,
)

pytestmark = pytest.mark.sqlite_only

OLD_HOME = Path(__file__).parent / "homes" / "0004.tar.gz"
KEEP = BackupSettings(keep=3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / CATALOGUE_FILE
    catalogue = Catalogue.open(path)
    catalogue.record_gap("Who painted the lighthouse?", "")
    catalogue.close()
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / BACKUPS_FOLDER


def gaps(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [question for (question,) in connection.execute("SELECT question FROM gaps")]


def aged(copy: CatalogueCopy, hours: int) -> Path:
    """The same copy, as if it had been made earlier."""
    made = datetime.now(UTC) - timedelta(hours=hours)
    return copy.path.rename(
        copy.path.with_name(f"catalogue-{made:{copies.MOMENT}}-{copy.digest}.db")
    )


def test_a_copy_is_whole_and_taken_beside_a_writer(file: Path, folder: Path) -> None:
    catalogue = Catalogue.open(file)
    with catalogue._database.write():  # a transaction that is not committed yet
        copy = take_copy(file, folder)
    catalogue.record_gap("Who came later?", "")
    assert copy.sound()
    assert copies_in(folder) == [copy]
    assert gaps(copy.path) == ["Who painted the lighthouse?"]
    assert copy.path.stat().st_mode & 0o777 == 0o600
    catalogue.close()


def test_a_copy_that_was_changed_is_not_sound(file: Path, folder: Path) -> None:
    older = aged(take_copy(file, folder), 3)
    newer = take_copy(file, folder)
    newer.path.write_bytes(newer.path.read_bytes()[:-100])
    found = newest_sound(folder)
    assert found is not None
    assert found.path == older


def test_the_oldest_copies_go_first(file: Path, folder: Path) -> None:
    for hours in (30, 20, 10):
        aged(take_copy(file, folder), hours)
    newest = take_copy(file, folder)
    drop_copies(folder, keep=2)
    assert len(copies_in(folder)) == 2
    assert copies_in(folder)[0] == newest
    drop_copies(folder, keep=0, besides=newest)
    assert copies_in(folder) == [newest]


def test_what_was_deleted_is_in_no_byte_of_a_copy(file: Path, folder: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:  # without secure_delete: bytes stay
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("INSERT INTO properties VALUES ('said', '\"a secret lamp\"')")
        connection.commit()
        connection.execute("DELETE FROM properties WHERE key = 'said'")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"a secret lamp" in file.read_bytes()
    assert b"a secret lamp" not in take_copy(file, folder).path.read_bytes()


def test_a_damaged_file_is_not_copied(file: Path, folder: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(DamageError, match="damaged"):
        take_copy(file, folder)
    assert list(folder.iterdir()) == []


def test_a_copy_is_put_back_and_the_old_file_kept_aside(file: Path, folder: Path) -> None:
    copy = take_copy(file, folder)
    catalogue = Catalogue.open(file)
    catalogue.record_gap("Who came later?", "")
    catalogue.close()
    aside = set_aside(file, folder)
    assert aside is not None
    assert len(gaps(file)) == 2  # until the other one is there
    put_back(copy, file)
    assert len(gaps(file)) == 1
    assert len(gaps(aside)) == 2
    drop_set_aside(folder)
    assert [path.name for path in folder.iterdir()] == [copy.name]


@pytest.mark.parametrize("links", [True, False])
def test_a_log_goes_aside_with_its_file(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:

        def refuse(*_: object) -> None:
            raise OSError("no links here")

        monkeypatch.setattr("os.link", refuse)
    log = file.with_name(f"{file.name}-wal")
    log.write_bytes(b"of another file")
    aside = set_aside(file, folder)
    assert aside is not None
    assert aside.read_bytes() == file.read_bytes()
    assert not log.exists()
    assert aside.with_name(f"{aside.name}-wal").read_bytes() == b"of another file"


def test_a_catalogue_is_backed_up_before_it_is_upgraded(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(OLD_HOME) as archive:
        archive.extractall(tmp_path / "old", filter="data")
    (tmp_path / "old" / "home" / CATALOGUE_FILE).rename(tmp_path / CATALOGUE_FILE)
    for _ in range(2):
        CataloguePlace(tmp_path, "").open(KEEP).close()
    (copy,) = copies_in(folder)
    with closing(sqlite3.connect(copy.path)) as read:
        assert read.execute("SELECT version_num FROM alembic_version").fetchall() == [("0004",)]


def test_backups_can_be_turned_off(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(OLD_HOME) as archive:
        archive.extractall(tmp_path / "old", filter="data")
    (tmp_path / "old" / "home" / CATALOGUE_FILE).rename(tmp_path / CATALOGUE_FILE)
    CataloguePlace(tmp_path, "").open(BackupSettings(keep=0)).close()
    assert not folder.exists()


def test_a_home_that_lost_its_catalogue_is_no_new_home(file: Path, folder: Path) -> None:
    take_copy(file, folder)
    file.unlink()
    for state, made in (("missing", False), ("empty", True)):
        if made:
            file.touch()
        with pytest.raises(DamageError, match=state):
            CataloguePlace(file.parent, "").open(KEEP)
    sqlite3.connect(file).execute("CREATE TABLE other (x)").connection.close()
    with pytest.raises(DamageError, match="tables are missing"):
        CataloguePlace(file.parent, "").open(KEEP)
