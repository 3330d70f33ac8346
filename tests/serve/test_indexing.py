"""``wellread reindex``, and the notice of the other commands that it is needed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.serve import conftest
from typer.testing import CliRunner

from wellread import kb as kb_module
from wellread.config import EmbeddingSettings
from wellread.kb import open_kb
from wellread.models.base import Embedder
from wellread.testing.embedding import ReadableEmbedder

NOTICE = "the settings ask for"
SIZES = {"local": 128, "static": 96, "http": 64}


@pytest.fixture(autouse=True)
def niceness(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the priority of this process would have been lowered by."""
    lowered: list[int] = []
    monkeypatch.setattr(os, "nice", lowered.append, raising=False)
    return lowered


@pytest.fixture(autouse=True)
def own_home(home: Path, material: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the material, made with the embedder ``local`` (a readable one here)."""

    def opened(settings: EmbeddingSettings, folder: Path) -> Embedder:
        return ReadableEmbedder(SIZES[settings.backend])

    monkeypatch.setattr(kb_module, "open_embedder", opened)
    monkeypatch.setenv("WELLREAD_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "100")
    with open_kb(home) as kb:
        kb.live()
    code, _, _ = run("add", material)
    assert code == 0
    return home


def run(*words: str | Path) -> tuple[int, str, str]:
    return conftest.run(CliRunner(), *words)


def settings_say(home: Path, text: str) -> None:
    (home / "wellread.yaml").write_text(text, encoding="utf-8")


def test_commands_go_on_and_say_that_the_index_is_another(home: Path) -> None:
    for command in ("collections", "search ferry", "ask ferry"):
        assert NOTICE not in run(*command.split())[2]
    settings_say(home, "embedding: {backend: static}\nchunking: {tokens: 50}")
    commands: list[tuple[str, ...]] = [
        ("collections",),
        ("search", "ferry"),
        ("search", "ferry", "--mode", "vector"),
        ("ask", "What was the ferry Osprey bought for?"),
        ("ask", "--sources-only", "ferry"),
    ]
    for words in commands:
        code, out, err = run(*words)
        assert code == 0
        assert "wellread reindex" in err
        assert "embedder static, passages of 50" in err
        if words[0] != "collections":
            assert "Osprey" in out
    code, out, err = run("search", "ferry", "--json")
    assert json.loads(out)["items"]
    assert NOTICE in err


def test_reindex_follows_the_settings(home: Path, niceness: list[int]) -> None:
    settings_say(home, "embedding: {backend: static}\nchunking: {tokens: 20}")
    code, out, err = run("reindex")
    assert code == 0
    assert niceness == [3]  # half a share: a busy machine does not starve it
    assert re.search(r"in use: 3 documents, \d+ passages", out)
    assert "readable/96, passages of 20" in out
    code, out, err = run("collections")
    assert NOTICE not in err
    assert "readable/96" in out
    code, out, _ = run("search", "ferry osprey")
    assert "Osprey" in out
    code, out, _ = run("reindex")
    assert code == 0
    assert "Nothing to do" in out
