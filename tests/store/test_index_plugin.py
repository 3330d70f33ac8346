"""A package adds a search index: it is opened by its name, and keeps the contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wellread import plugins
from wellread.ask.retrieve.search import search
from wellread.errors import SettingsError, StoreError
from wellread.ingest.integrity.verify import verify
from wellread.ingest.reindex import reindex
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.base import Fingerprint, IndexBackend
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.index import IndexContract
from wellread.testing.index_model import DIMENSIONS, OpenIndex
from wellread.types import Filters

PLUGIN = Path(__file__).parent.parent / "plugins" / "memory_index.py"
PRINT = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c1", backend="memory")

AddPackage = Callable[[Path, str, str], None]


@pytest.fixture
def backend(add_package: AddPackage) -> IndexBackend[Path]:
    add_package(PLUGIN, plugins.INDEXES, "memory = memory_index:MemoryIndex")
    found: IndexBackend[Path] = plugins.find(plugins.INDEXES, "memory", {}, "index.backend")
    return found


class TestMemoryContract(IndexContract):
    @pytest.fixture
    def open_index(self, tmp_path: Path, backend: IndexBackend[Path]) -> OpenIndex:
        return lambda name: backend.open(tmp_path / name, PRINT)


def home_with(home: Path, backend: str) -> KnowledgeBase:
    return open_kb(home, overrides={"index": {"backend": backend}}, embedder=ReadableEmbedder())


def found(kb: KnowledgeBase) -> list[str]:
    return [hit.passage.text for hit in search(kb, "When does the ferry leave?", Filters())]


@pytest.mark.usefixtures("backend")
def test_a_home_is_searched_in_the_index_that_its_settings_name(tmp_path: Path) -> None:
    note, home = tmp_path / "note.md", tmp_path / "home"
    note.write_text("The ferry leaves at noon.", encoding="utf-8")
    with home_with(home, "memory") as kb:
        add(kb, [str(note)])
        assert kb.live().fingerprint.backend == "memory"
        assert found(kb) == ["The ferry leaves at noon."]
    assert not list((home / INDEX_FOLDER).glob("*.lance"))
    with home_with(home, "lancedb") as kb:
        assert kb.reindex_needed
        assert found(kb) == ["The ferry leaves at noon."]  # in the index that is live still
        assert reindex(kb).switched
        assert kb.live().fingerprint.backend == "lancedb"
        assert found(kb) == ["The ferry leaves at noon."]


def test_where_the_index_in_use_is_gone_for_good_the_next_is_made_from_the_catalogue(
    tmp_path: Path, backend: IndexBackend[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in ("noon", "dusk"):
        (tmp_path / f"{name}.md").write_text(f"The ferry leaves at {name}.", encoding="utf-8")
    with home_with(home, "memory") as kb:
        add(kb, [str(tmp_path / "noon.md"), str(tmp_path / "dusk.md")])

    def gone(*_: object) -> None:
        raise StoreError("the server is gone")

    monkeypatch.setattr(backend, "open", gone)
    with home_with(home, "lancedb") as kb:
        kb.catalogue.remove_sources("default", [(tmp_path / "dusk.md").as_uri()])
        with pytest.raises(StoreError, match="gone"):
            found(kb)
        assert reindex(kb).switched
        assert found(kb) == ["The ferry leaves at noon."]
        assert verify(kb).clean


def test_a_back_end_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with home_with(tmp_path, "memory") as kb, pytest.raises(SettingsError, match="'memory'"):
        kb.live()
