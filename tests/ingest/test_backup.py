"""Export and import of a whole home."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.retrieve.search import search
from wellread.errors import SourceError, StoreError
from wellread.ingest.backup import export_home, import_home
from wellread.ingest.integrity.verify import verify
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("ferry", "mill", "quay"):
        (folder / f"{name}.txt").write_text(f"The {name} stands by the water.\n")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)])
        yield opened


@pytest.mark.parametrize("name", ["home.tar", "home.tar.gz"])
def test_an_imported_home_is_the_exported_one(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    (kb.home / "wellread.yaml").write_text("qa:\n  max_clusters: 2\n")
    report = export_home(kb, tmp_path / name)
    assert (report.documents, report.passages) == (3, 3)
    assert report.size == (tmp_path / name).stat().st_size
    brought = import_home(tmp_path / name, tmp_path / "moved", settings=True)
    assert (brought.files, brought.settings, brought.reaching) == (report.files, "taken", ())
    with open_kb(tmp_path / "moved", embedder=ReadableEmbedder()) as moved:
        assert verify(moved).problems == ()
        assert moved.settings.qa.max_clusters == 2
        for query in ("ferry", "water"):
            ours = [hit.passage for hit in search(kb, query, Filters())]
            assert [hit.passage for hit in search(moved, query, Filters())] == ours
        assert add(moved, [str(tmp_path / "papers")]).counts()["unchanged"] == 3


def test_nothing_is_overwritten(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "home.tar"
    export_home(kb, path)
    before = path.read_bytes()
    with pytest.raises(SourceError, match="exists already"):
        export_home(kb, path)
    assert path.read_bytes() == before
    with pytest.raises(StoreError, match="not empty"):
        import_home(path, kb.home)
    assert verify(kb).problems == ()


def changed(path: Path, name: str, content: bytes) -> None:
    """Put other content into one file of an archive."""
    with tarfile.open(path) as tar:
        entries = [(entry, tar.extractfile(entry)) for entry in tar]
        files = [(entry.name, stream.read()) for entry, stream in entries if stream]
    with tarfile.open(path, "w") as tar:
        for known, old in [*files, *([] if name in dict(files) else [(name, b"")])]:
            data = content if known == name else old
            entry = tarfile.TarInfo(known)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def test_damage_is_found_and_leaves_nothing_behind(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "home.tar"
    export_home(kb, path)
    whole = path.read_bytes()
    bad = json.dumps({"format": 1, "files": {"../outside.txt": "00"}}).encode()
    newer = json.dumps({"format": 99, "files": {}}).encode()
    for name, content, reason in (
        ("catalogue.db", b"not a database", "damaged: catalogue.db"),
        ("manifest.json", b"{", "damaged manifest"),
        ("manifest.json", bad, "not part of a home"),
        ("manifest.json", newer, "newer Wellread"),
        ("extra.txt", b"more", "not in its manifest"),
    ):
        path.write_bytes(whole)
        changed(path, name, content)
        with pytest.raises(SourceError, match=reason):
            import_home(path, tmp_path / "moved")
    for content, reason in ((whole[: len(whole) // 2], "import"), (b"no archive", "imported")):
        path.write_bytes(content)
        with pytest.raises(SourceError, match=reason):
            import_home(path, tmp_path / "moved")
    assert not (tmp_path / "moved").exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "home.tar", "papers"]
