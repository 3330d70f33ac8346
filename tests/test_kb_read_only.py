"""A home that may only be read is asked, and nothing in it changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.conftest import FERRY

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.errors import StoreError
from wellread.ingest.pipeline.commit import writing
from wellread.ingest.run import add, sync
from wellread.kb import open_kb
from wellread.kb.home_catalogue import CATALOGUE_FILE
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question

QUESTION = "What did the ferry Osprey cost?"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source, and the home in ``home``."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "ferry.md").write_text(FERRY, encoding="utf-8")
    with open_kb(folder / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(folder / "ferry.md")])
    return folder


@pytest.fixture
def home(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it that may not be written, also not by root."""
    home = Path(shutil.copytree(filled / "home", tmp_path / "home"))
    real = os.access

    def access(path: Path, mode: int) -> bool:
        return real(path, mode) and not (mode & os.W_OK and Path(path).is_relative_to(home))

    monkeypatch.setattr("wellread.kb.home_catalogue.os.access", access)
    every = [home, *home.rglob("*")]
    for path in every:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield home
    for path in every:
        path.chmod(0o755 if path.is_dir() else 0o644)


def state(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else b""
        for path in home.rglob("*")
    }


async def test_it_is_asked_and_searched_and_nothing_in_it_changes(home: Path) -> None:
    before = state(home)
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        assert kb.read_only
        first = await final(answer(kb, Question(text=QUESTION)))
        again = await final(answer(kb, Question(text="How many passengers does the ferry carry?")))
        assert search(kb, "ferry Osprey", Filters())
        assert len(kb.catalogue.answers()) == 2
        copy = kb.place._copy
        assert copy is not None
        assert copy.path.exists()
    assert "2.6 million" in first.text
    assert "ninety" in again.text
    assert state(home) == before
    assert not copy.path.parent.exists()


async def test_what_another_process_wrote_last_is_read_too(filled: Path, home: Path) -> None:
    """What stands in SQLite's log is not in the file yet."""
    home.chmod(0o755)
    (home / CATALOGUE_FILE).chmod(0o644)
    with open_kb(filled / "home", embedder=ReadableEmbedder()) as writer:
        await final(answer(writer, Question(text=QUESTION)))
        for name in (CATALOGUE_FILE, f"{CATALOGUE_FILE}-wal"):
            shutil.copy(filled / "home" / name, home / name)
        with open_kb(home, embedder=ReadableEmbedder()) as kb:
            assert kb.read_only
            assert [one.question for one in kb.catalogue.answers()] == [QUESTION]


def test_what_would_change_it_is_refused(filled: Path, home: Path) -> None:
    before = state(home)
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        for run in (add, sync):
            with pytest.raises(StoreError, match="is read-only") as caught:
                run(kb, [str(filled / "ferry.md")])
            assert "can be asked" in caught.value.hint
        with pytest.raises(StoreError, match="is read-only"), writing(kb):
            pass
    assert state(home) == before


def test_a_catalogue_that_is_none_is_told(home: Path) -> None:
    (home / CATALOGUE_FILE).chmod(0o644)
    (home / CATALOGUE_FILE).write_bytes(b"not a database at all" * 100)
    with (
        open_kb(home, embedder=ReadableEmbedder()) as kb,
        pytest.raises(StoreError, match="cannot be copied"),
    ):
        kb.catalogue.answers()


@pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\x1b"])
def test_a_home_on_a_path_with_a_control_character_is_refused(tmp_path: Path, sign: str) -> None:
    with pytest.raises(StoreError, match="line break or another") as caught:
        open_kb(tmp_path / f"a{sign}home", embedder=ReadableEmbedder())
    assert sign not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
