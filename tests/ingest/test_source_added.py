"""A source that another installed package adds; ``tests/plugins/tiny_notes.py`` is its module."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.doubles.web_server import Reply, WebServer

from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase
from wellread.plugins import SOURCES

AddPackage = Callable[[Path, str, str], None]
MODULE = Path(__file__).parents[1] / "plugins" / "tiny_notes.py"

HALF_OPEN = """
from wellread.ingest.sources.stores import Entry
class Shelf:
    def __init__(self, address): pass
    def close(self): pass
    def entries(self, folder):
        if folder:
            if SHUT.exists():
                raise RuntimeError("cannot be listed now")
            return [Entry(path="b/two.txt", name="two.txt")]
        half = Entry(path="half.txt", name="half.txt", size=99)  # less comes than was said
        folder = Entry(path="b", name="b", is_folder=True)
        return [half, Entry(path="one.txt", name="one.txt"), folder]
    def fetch(self, entry, path, limit):
        path.write_text(f"The {entry.name} is here.")
"""


def test_a_package_adds_a_source(kb: KnowledgeBase, add_package: AddPackage) -> None:
    add_package(MODULE, SOURCES, "notes = tiny_notes:Notes")

    def serve(edits: dict[str, int]) -> None:
        items = [{"id": each, "title": f"Note {each}", "edit": edits[each]} for each in edits]
        server.pages = {"/team": Reply(body=json.dumps(items).encode())}
        for each, edit in edits.items():
            server.pages[f"/team/{each}"] = Reply(body=f"# Note {each}\n\nEdit {edit}.\n".encode())

    with WebServer() as server:
        address = server.url("/team").replace("http:", "notes:")
        serve({"a": 1, "b": 1, "c": 1})
        assert [row.status for row in add(kb, [address]).rows] == ["added"] * 3
        serve({"a": 1, "b": 2})
        rows = {row.uri.removeprefix(address): row.status for row in sync(kb, [address]).rows}
        assert rows == {"/a": "unchanged", "/b": "updated", "/c": "removed"}
        assert server.paths().count("/team/a") == 1
        server.pages = {}
        (row,) = sync(kb, [address]).rows
        assert (row.status, "404" in row.reason) == ("failed", True)
    assert [each.title for each in kb.catalogue.documents("default")] == ["Note a", "Note b"]


def test_a_folder_that_cannot_be_listed_keeps_what_is_in_it(
    kb: KnowledgeBase, add_package: AddPackage, tmp_path: Path
) -> None:
    module, shut = tmp_path / "half_open.py", tmp_path / "shut"
    module.write_text(f"from pathlib import Path\nSHUT = Path({str(shut)!r})\n{HALF_OPEN}")
    add_package(module, SOURCES, "shelf = half_open:Shelf")
    add(kb, ["shelf://here"])
    shut.touch()
    rows = {row.uri: row.status for row in sync(kb, ["shelf://here"]).rows}
    assert rows == {
        "shelf://here/one.txt": "unchanged",
        "shelf://here/half.txt": "failed",
        "shelf://here/b": "failed",
    }
    assert len(kb.catalogue.documents("default")) == 2
