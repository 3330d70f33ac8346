"""Packages that add an embedder, a reader or a language model by an entry point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.doubles.readers import relevance

from wellread.config import ReaderSettings
from wellread.errors import SettingsError
from wellread.kb import open_kb
from wellread.models.base import Prompt
from wellread.models.open_reader import open_reader
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import collect

AddPackage = Callable[[Path, str, str], None]

EMBEDDER = """
from wellread.testing.embedding import ReadableEmbedder

class Mine(ReadableEmbedder):
    identity = "mine/128"

def open_mine(settings, home):
    return Mine()
"""
READER = """
from wellread.testing.reader_contract import ReadableReader

class Mine(ReadableReader):
    identity = "mine"

def open_mine(settings, head):
    return Mine() if settings.relevance == "mine" else object()
"""
MODEL = """
from wellread.testing.llm import ScriptedModel

def open_mine(name, settings, environ):
    return ScriptedModel(["Hello."], identity=f"mine:{name}")
"""


def added(tmp_path: Path, add_package: AddPackage, code: str, group: str) -> None:
    module = tmp_path / f"my_{group.rpartition('.')[2]}.py"
    module.write_text(code, encoding="utf-8")
    add_package(module, group, f"mine = {module.stem}:open_mine")


def test_an_embedder(tmp_path: Path, add_package: AddPackage) -> None:
    added(tmp_path, add_package, EMBEDDER, "wellread.embedders")
    with open_kb(tmp_path / "home", overrides={"embedding": {"backend": "mine"}}) as kb:
        assert kb.embedder.identity == "mine/128"
    with open_kb(tmp_path / "home", overrides={"embedding": {"backend": "mine"}}) as kb:
        assert kb.live().fingerprint.embedder == "mine/128"


def test_a_reader(tmp_path: Path, add_package: AddPackage) -> None:
    added(tmp_path, add_package, READER, "wellread.readers")
    reader = open_reader(ReaderSettings(relevance="mine", answers="lexical"))
    assert reader.identity == "mine lexical"
    assert reader.reranks
    assert relevance(reader, "ferry", ["bread", "ferry"]).tolist() == [0.0, 1.0]
    with pytest.raises(SettingsError, match=r"'mine' has no method for reader\.answers"):
        open_reader(ReaderSettings(answers="mine"))


def test_a_language_model(tmp_path: Path, add_package: AddPackage) -> None:
    added(tmp_path, add_package, MODEL, "wellread.language_models")
    settings = {"generation": {"model": "mine:small"}}
    with open_kb(tmp_path / "home", overrides=settings, embedder=ReadableEmbedder()) as kb:
        assert kb.model is not None
        text, _ = asyncio.run(collect(kb.model, Prompt(system="s", user="u")))
        assert (text, kb.model.identity) == ("Hello.", "mine:small")
