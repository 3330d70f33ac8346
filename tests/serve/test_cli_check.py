"""``wellread check``."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from tests.serve.conftest import run
from typer.testing import CliRunner

from wellread.serve.cli import check_cli
from wellread.testing.embedding import ReadableEmbedder

FERRY = "The ferry Osprey was bought for 2.6 million euros in 2021."


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A text with one right sentence and one wrong one."""
    path = tmp_path / "draft.md"
    path.write_text(f"# Ferry\n\n{FERRY}\n\nIt carries forty passengers [1].\n", encoding="utf-8")
    return path


@pytest.fixture
def filled(runner: CliRunner, home: Path, filled_home: Path) -> CliRunner:
    """Runs commands on a copy of the filled home."""
    shutil.copytree(filled_home, home)
    return runner


@pytest.fixture
def readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No real model for sources that are read for one check."""
    monkeypatch.setattr(check_cli, "open_embedder", lambda *_: ReadableEmbedder())


def test_signs_quotes_reasons_and_counts(filled: CliRunner, draft: Path) -> None:
    code, out, _ = run(filled, "check", draft)
    assert code == 1
    assert f"❞ {FERRY}" in out
    assert "~ It carries forty passengers [1]." in out
    assert "the number forty stands nowhere in the cited text (number)" in " ".join(out.split())
    assert "nearest: “It carries ninety passengers.”" in out
    assert "§ The ferry" in out
    assert out.split("\n\n")[-1].split() == [
        *("❞", "quoted", "1", "✓", "supported", "0", "~", "supported", "in", "part", "1"),
        *("✗", "unsupported", "0", "·", "not", "checked", "0"),
    ]


def test_everything_borne_out_ends_with_0(filled: CliRunner) -> None:
    code, out, _ = run(filled, "check", "-", "--against", "town", typed=FERRY)
    assert (code, out.count("❞")) == (0, 2)
    code, _, _ = run(filled, "check", "-", "--against", "nature", typed=FERRY)
    assert code == 1


@pytest.mark.usefixtures("readable")
def test_against_files_that_are_read_for_it_alone(
    runner: CliRunner, home: Path, town: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = draft.parent / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    code, out, _ = run(runner, "check", draft, "--against", town, "--json")
    body = json.loads(out)
    assert code == 1
    assert [one["verdict"] for one in body["sentences"]] == ["quoted", "partial"]
    assert {one["viewUrl"] for one in body["citations"]} == {""}
    assert body["citations"][0]["locator"] == "§ The ferry"
    assert not home.exists()
    assert list(room.iterdir()) == []


@pytest.mark.usefixtures("readable")
@pytest.mark.parametrize("strict", [False, True])
def test_strict_fails_what_nobody_has_judged(
    runner: CliRunner, tmp_path: Path, strict: bool
) -> None:
    source = tmp_path / "source.txt"
    source.write_text("The council approved the third turbine.", encoding="utf-8")
    words = ["check", "-", "-a", str(source), *(["--strict"] if strict else [])]
    code, out, _ = run(runner, *words, typed="The council approved the third turbine in Skerrick.")
    assert "· The council" in out
    assert code == int(strict)


@pytest.mark.usefixtures("readable")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.md"], "nowhere.md: No such file"),
        (["-"], "no text in it"),
        (["DRAFT", "--against", "nowhere"], "no collection named 'nowhere'"),
        (["DRAFT", "--against", "town", "--against", "DRAFT"], "is no file, folder or web address"),
        (["DRAFT", "--against", "EMPTY"], "nothing to read"),
        (["BINARY"], "not UTF-8"),
        (["DRAFT", "--against", "BINARY"], "bytes.bin"),
    ],
)
def test_what_is_wrong_is_named(
    filled: CliRunner, draft: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    binary = tmp_path / "bytes.bin"
    binary.write_bytes(b"\xff\xfe\x00\x80" * 9)
    (tmp_path / "empty").mkdir()
    places = {"DRAFT": draft, "BINARY": binary, "EMPTY": tmp_path / "empty"}
    code, _, err = run(filled, "check", *(places.get(word, word) for word in words))
    assert code == 1
    assert message in " ".join(err.split())
