"""Commands on a damaged home: one line that says what mends it, never a traceback; ``restore``."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.serve.conftest import run
from typer.testing import CliRunner

from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import BACKUPS_FOLDER, CATALOGUE_FILE
from wellread.kb.index_parts import INDEX_FOLDER

COMMANDS = (
    ("ask", "What does the ferry cost?"),
    ("search", "ferry"),
    ("show", "document"),
    ("collections",),
    ("add", "no-such-folder"),
    ("remove", "--all", "--yes", "-c", "town"),
    ("answers",),
)


@pytest.fixture
def broken(kb: KnowledgeBase, runner: CliRunner) -> CliRunner:
    """A runner on the filled home, which the test damages."""
    kb.forget_catalogue()
    return runner


def cut_manifests(home: Path) -> None:
    for path in (home / INDEX_FOLDER).rglob("*.manifest"):
        path.write_bytes(path.read_bytes()[:50])


def told(err: str) -> list[str]:
    lines = [line for line in err.splitlines() if line.startswith(("Error", "Warning"))]
    assert "Traceback" not in err
    return lines


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("state", ["gone", "garbage"])
@pytest.mark.sqlite_only
def test_without_its_catalogue_every_command_says_what_mends_it(
    broken: CliRunner, home: Path, words: tuple[str, ...], state: str
) -> None:
    (home / CATALOGUE_FILE).unlink()
    if state == "garbage":
        (home / CATALOGUE_FILE).write_bytes(b"garbage " * 2000)
    code, out, err = run(broken, *words)
    assert (code, out) == (1, "")
    (line,) = told(err)
    assert "wellread verify --repair" in line


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_with_a_damaged_index_commands_say_what_mends_it(
    broken: CliRunner, home: Path, words: tuple[str, ...]
) -> None:
    cut_manifests(home)
    code, _, err = run(broken, *words)
    lines = told(err)
    assert all("wellread verify --repair" in line for line in lines)
    assert code == bool([line for line in lines if line.startswith("Error")])
    if words[0] in ("ask", "search", "add", "remove"):
        assert code == 1


@pytest.mark.sqlite_only
def test_rows_or_texts_that_are_gone_are_told_with_the_answer(
    kb: KnowledgeBase, runner: CliRunner
) -> None:
    (ferry,) = (each for each in kb.catalogue.documents("town") if "ferry" in each.uri)
    kb.index.remove([(ferry.id, ferry.version)])
    (line,) = told(run(runner, "ask", "What does the ferry cost?")[2])
    assert line.startswith("Warning: the index lacks 1 of 4 passages")
    assert "wellread verify --repair" in line
    with closing(sqlite3.connect(kb.home / CATALOGUE_FILE)) as connection, connection:
        connection.execute("DELETE FROM texts WHERE document_id = ?", (ferry.id,))
    lines = told(run(runner, "collections")[2])
    assert lines[0] == "Warning: the texts of 1 documents are missing; 'wellread verify' lists them"


@pytest.mark.sqlite_only
def test_an_export_of_a_damaged_home_says_what_mends_it(
    broken: CliRunner, home: Path, tmp_path: Path
) -> None:
    content = bytearray((home / CATALOGUE_FILE).read_bytes())
    content[-40 * 4096 :] = bytes(40 * 4096)
    (home / CATALOGUE_FILE).write_bytes(content)
    code, _, err = run(broken, "backup", "export", tmp_path / "home.tar")
    assert code == 1
    assert "wellread verify --repair" in told(err)[0]


def test_a_repair_says_in_a_line_what_it_did(broken: CliRunner, home: Path) -> None:
    cut_manifests(home)
    code, out, _ = run(broken, "verify", "--repair")
    assert code == 0
    assert "repaired  the index cannot be read" in out
    assert "Everything matches" in out
    assert ".lance" not in out


@pytest.mark.sqlite_only
def test_what_cannot_be_saved_is_not_called_whole(broken: CliRunner, home: Path) -> None:
    (home / CATALOGUE_FILE).unlink()
    for path in (home / BACKUPS_FOLDER).iterdir():
        path.unlink()
    code, out, _ = run(broken, "verify", "--repair")
    assert code == 1
    assert "there is no backup" in out
    assert "Everything matches" not in out
    assert not (home / CATALOGUE_FILE).exists()


@pytest.mark.sqlite_only
def test_a_backup_is_listed_and_restored(broken: CliRunner, home: Path) -> None:
    code, out, _ = run(broken, "backup", "restore", "--list", "--json")
    assert code == 0
    (backup,) = json.loads(out)["items"]
    assert backup["sound"]
    assert backup["name"] in run(broken, "backup", "restore", "--list")[1]
    (home / CATALOGUE_FILE).write_bytes(b"")
    code, out, _ = run(broken, "backup", "restore", backup["name"], "--yes")
    assert code == 0
    assert "Everything matches" in out
    assert run(broken, "show", "document")[0] == 0


@pytest.mark.sqlite_only
def test_a_restore_asks_first(broken: CliRunner, home: Path) -> None:
    before = (home / CATALOGUE_FILE).read_bytes()
    assert run(broken, "backup", "restore")[0] == 1  # the input of ``run`` is no yes
    assert (home / CATALOGUE_FILE).read_bytes() == before


class PanicException(BaseException):
    """Stands in for a panic."""


@pytest.mark.parametrize("error", [PanicException("bytes.rs:3"), KeyError("citations")])
def test_what_nobody_foresaw_is_one_line(
    broken: CliRunner, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr("wellread.serve.cli.home_cli.verify_home", fail)
    code, out, err = run(broken, "verify")
    assert (code, out) == (1, "")
    (line,) = told(err)
    assert "internal error" in line
    assert "-v shows the traceback" in line


def test_a_program_that_cannot_be_loaded_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['wellread.serve.cli.ask_cli'] = None; "
        "sys.argv = ['wellread', 'ask', 'x']; from wellread.serve.cli import main; main()"
    )
    call = [sys.executable, "-c", code]
    ended = subprocess.run(call, capture_output=True, text=True, check=False)
    assert "import of wellread.serve.cli.ask_cli halted" in ended.stderr.splitlines()[-1]
