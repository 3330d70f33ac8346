"""Which parts of a home are in use, and which ones the settings ask for."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from wellread import kb as kb_module
from wellread.config import EmbeddingSettings
from wellread.errors import FingerprintError, ModelError, StoreError
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.home_catalogue import ensure_home
from wellread.models.base import Embedder
from wellread.store.catalogue.documents.reindexing import LiveIndex
from wellread.testing.embedding import ReadableEmbedder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[EmbeddingSettings]:
    """Embedders of as many dimensions as ``embedding.model`` says; the settings of each opened."""
    seen: list[EmbeddingSettings] = []

    def open_readable(settings: EmbeddingSettings, home: Path) -> Embedder:
        seen.append(settings)
        time.sleep(0.01)
        return ReadableEmbedder(int(settings.model))

    monkeypatch.setattr(kb_module, "open_embedder", open_readable)
    return seen


def shaped(home: Path, dimensions: int, tokens: int = 200, **embedding: str) -> KnowledgeBase:
    given = {"backend": "http", "url": "http://one.example/v1", "model": str(dimensions)}
    return open_kb(home, overrides={"embedding": given | embedding, "chunking": {"tokens": tokens}})


def switch(kb: KnowledgeBase) -> None:
    kb.catalogue.reindexing.switch(kb.wanted_live())


def test_an_empty_home_takes_what_the_settings_ask_for(
    tmp_path: Path, opened: list[EmbeddingSettings]
) -> None:
    with shaped(tmp_path, 128, 90) as kb:
        assert not kb.reindex_needed
        assert kb.catalogue.reindexing.live() is None
        live = kb.live()
        assert live.fingerprint == kb.wanted
        assert kb.catalogue.reindexing.live() == kb.wanted_live()
        assert (live.fingerprint.embedder, live.tokens) == ("readable/128", 90)
        assert kb.live() is live
        assert kb.index is live.index
        assert kb.embedder is live.embedder
        assert len(opened) == 1


@pytest.mark.parametrize(
    ("dimensions", "tokens", "embedding", "needed"),
    [
        (128, 200, {}, False),
        (128, 200, {"url": "https://user:secret@one.example/v2"}, False),
        (128, 200, {"url": "http://two.example/v1"}, True),
        (128, 200, {"api_key_env": "OTHER_KEY"}, False),
        (96, 200, {}, True),
        (128, 100, {}, True),
        (128, 200, {"backend": "local"}, True),
    ],
)
def test_what_needs_a_new_index(
    tmp_path: Path,
    opened: list[EmbeddingSettings],
    dimensions: int,
    tokens: int,
    embedding: dict[str, str],
    needed: bool,
) -> None:
    with shaped(tmp_path, 128) as kb:
        kb.live()
    opened.clear()
    with shaped(tmp_path, dimensions, tokens, **embedding) as kb:
        assert kb.reindex_needed == needed
        assert opened == []  # an embedder may take many seconds to open for the first time


def test_the_live_embedder_is_opened_as_it_was_then(
    tmp_path: Path, opened: list[EmbeddingSettings]
) -> None:
    with shaped(tmp_path, 128, api_key_env="KEY_THEN") as kb:
        kb.live()
    opened.clear()
    with shaped(tmp_path, 96, 50, url="http://two.example/v1", threads="3") as kb:
        live = kb.live()
        assert (live.fingerprint.embedder, live.tokens) == ("readable/128", 200)
        (settings,) = opened
        assert (settings.model, settings.url) == ("128", "http://one.example/v1")
        assert settings.api_key_env == "KEY_THEN"
        assert settings.threads == 3  # not part of what shapes a vector: as it is today
        assert live.embedder.embed(["tide"], "query").shape == (1, 128)
        assert (kb.wanted.embedder, kb.wanted_parts().tokens) == ("readable/96", 50)


def test_a_switch_by_another_process_is_followed(
    tmp_path: Path, opened: list[EmbeddingSettings]
) -> None:
    with shaped(tmp_path, 128) as server, shaped(tmp_path, 96) as other:
        before = server.live()
        assert other.live().fingerprint == before.fingerprint
        switch(other)
        after = server.live()
        assert after.fingerprint == other.wanted
        assert after.embedder.dimensions == 96
        assert server.index is after.index
        assert server.reindex_needed


def test_many_threads_open_everything_once(tmp_path: Path, opened: list[EmbeddingSettings]) -> None:
    with shaped(tmp_path, 128) as kb:
        kb.live()
    opened.clear()
    with shaped(tmp_path, 128) as kb:
        assert kb.catalogue.reindexing.live()
        seen: list[int] = []
        threads = [threading.Thread(target=lambda: seen.append(id(kb.live()))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 8
        assert len(set(seen)) == 1
        assert len(opened) == 1


def test_a_stand_in_is_used_where_it_fits(tmp_path: Path) -> None:
    with open_kb(tmp_path, embedder=ReadableEmbedder()) as kb:
        kb.live()
        assert kb.catalogue.reindexing.live() == LiveIndex(fingerprint=kb.wanted)
    with open_kb(tmp_path, embedder=ReadableEmbedder()) as kb:
        assert not kb.reindex_needed
        assert kb.live().embedder.dimensions == 128
    with open_kb(tmp_path, embedder=ReadableEmbedder(96)) as kb:
        assert kb.reindex_needed
        with pytest.raises(FingerprintError, match="readable/128, which can no longer be opened"):
            kb.live()
        assert list(kb.index.keys()) == []


def test_an_embedder_that_is_gone_is_told_with_the_way_out(
    tmp_path: Path, opened: list[EmbeddingSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    with shaped(tmp_path, 128) as kb:
        kb.live()
    retryable = False

    def refuse(settings: EmbeddingSettings, home: Path) -> Embedder:
        if settings.model == "128":
            raise ModelError("the model file is gone", retryable=retryable)
        return ReadableEmbedder(int(settings.model))

    monkeypatch.setattr(kb_module, "open_embedder", refuse)
    with shaped(tmp_path, 96) as kb:
        with pytest.raises(FingerprintError, match="the model file is gone") as raised:
            kb.live()
        assert "wellread reindex" in raised.value.hint
        assert list(kb.index.keys()) == []
        retryable = True  # a server that is down for a moment is no reason to make an index anew
        with pytest.raises(ModelError, match="the model file is gone"):
            kb.live()


def test_the_settings_of_today_may_open_what_those_of_then_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model file that was moved, for example."""

    def open_moved(settings: EmbeddingSettings, home: Path) -> Embedder:
        if settings.model_path != there:
            raise ModelError(f"no model at {settings.model_path}")
        return ReadableEmbedder()

    monkeypatch.setattr(kb_module, "open_embedder", open_moved)
    there = "/old"
    with shaped(tmp_path, 128, model_path=there) as kb:
        kb.live()
    there = "/new"
    with shaped(tmp_path, 128, model_path=there) as kb:
        assert kb.live().embedder.identity == "readable/128"


def test_a_record_of_a_newer_release_is_no_obstacle(
    tmp_path: Path, opened: list[EmbeddingSettings], caplog: pytest.LogCaptureFixture
) -> None:
    with shaped(tmp_path, 128) as kb:
        later = LiveIndex(fingerprint=kb.wanted, embedder={"threads": "as many as it likes"})
        kb.catalogue.reindexing.claim(later)
        assert kb.live().embedder.identity == "readable/128"
        assert "newer release" in caplog.text


def test_two_processes_make_the_home_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "new" / "home"
    make = Path.mkdir

    def make_second(self: Path, *args: Any, **options: Any) -> None:
        if self == home and not home.exists():
            os.makedirs(home)
        make(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", make_second)
    assert ensure_home(home) == home


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be created.*exists"):
        ensure_home(tmp_path / "home")


@pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\x1b"])
def test_a_home_on_a_path_with_a_control_character_is_refused(tmp_path: Path, sign: str) -> None:
    with pytest.raises(StoreError, match="line break or another") as caught:
        open_kb(tmp_path / f"a{sign}home", embedder=ReadableEmbedder())
    assert sign not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
