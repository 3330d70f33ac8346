"""What a home and an export hold is for their owner alone, whatever rights files usually get."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doubles import forked

from wellread.ingest.backup import export_home, import_home
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights are other things there")


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """New files can be read by everybody, as on most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.sqlite_only
def test_a_home_and_its_export_are_for_their_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "ferry.txt").write_text("The ferry Osprey carries ninety passengers.")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(tmp_path / "ferry.txt")])
        export_home(kb, tmp_path / "kept.tar.gz")
    import_home(tmp_path / "kept.tar.gz", tmp_path / "moved")
    assert rights(tmp_path / "home") == 0o700
    assert rights(tmp_path / "kept.tar.gz") == 0o600
    assert rights(tmp_path / "moved") == 0o700


def test_a_home_that_was_opened_to_others_stays_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    open_kb(home, embedder=ReadableEmbedder()).close()
    assert rights(home) == 0o755


@pytest.mark.sqlite_only
def test_every_file_that_the_program_makes_is_for_its_user_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    code = f"import os; os.umask(0o022); {forked.PROGRAM}"
    assert forked.run(code, "--home", str(home), "jobs").returncode == 0
    made = [home, *home.rglob("*")]
    assert home / "catalogue.db" in made
    assert {path: oct(rights(path)) for path in made if rights(path) & 0o077} == {}
