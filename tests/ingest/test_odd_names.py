"""Names of files at the edge of what a file system takes, and clocks that go backwards."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from wellread.ask.retrieve.search import search
from wellread.ingest.backup import export_home, import_home
from wellread.ingest.integrity.verify import verify
from wellread.ingest.remove import remove_named
from wellread.ingest.run import add, sync
from wellread.kb import open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

SAID = "The ferry Osprey carries ninety passengers."
NAMES = (
    f"{'x' * 251}.txt",  # 255 bytes
    f"{'é' * 125}y.txt",  # the same in letters of two
    "🚢 with 👨‍👩‍👧‍👦.txt",
    "100 % of #1?&a=b;c'd\"e.txt",
    "--help.txt",
    "  ferry .txt",
)


@pytest.mark.sqlite_only
def test_files_of_any_name_are_found_moved_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(f"{SAID} {len(name)}", encoding="utf-8")
    wanted = {(folder / name).as_uri() for name in NAMES}
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert add(kb, [str(folder)]).counts()["added"] == len(NAMES)
        assert sync(kb, [str(folder)]).counts()["unchanged"] == len(NAMES)
        export_home(kb, tmp_path / "kept.tar.gz")
    import_home(tmp_path / "kept.tar.gz", tmp_path / "moved")
    with open_kb(tmp_path / "moved", embedder=ReadableEmbedder()) as kb:
        assert {one.document.uri for one in search(kb, "ferry Osprey", Filters())} == wanted
        for name in NAMES:
            remove_named(kb, "default", [str(folder / name)])
        assert search(kb, "ferry Osprey", Filters()) == []
        assert verify(kb).problems == ()


def test_a_file_that_was_changed_while_the_clock_went_back_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "ferry.txt"
    path.write_text(SAID, encoding="utf-8")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(path)])
        path.write_text(SAID.replace("ninety", "eighty"), encoding="utf-8")  # of the same length
        yesterday = time.time() - 86_400
        os.utime(path, (yesterday, yesterday))
        assert [row.status for row in add(kb, [str(path)]).rows] == ["updated"]
        (hit,) = search(kb, "ferry Osprey", Filters())
        assert "eighty" in hit.passage.text


def test_a_change_of_equal_size_whose_time_was_set_back_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "ferry.txt"
    path.write_text(SAID, encoding="utf-8")
    before = path.stat()
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(path)])
        path.write_text(SAID.replace("ninety", "eighty"), encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert [row.status for row in add(kb, [str(path)]).rows] == ["updated"]
