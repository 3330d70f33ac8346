"""A loader that another installed package adds; ``tests/plugins/tiny_epub.py`` is its module."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from tests.conftest import PlaceModel

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.pipeline import kinds
from wellread.ingest.pipeline.parse import no_loader
from wellread.testing.loader import LoaderContract, Quote

MODULE = Path(__file__).parents[1] / "plugins" / "tiny_epub.py"
GROUP = "wellread.loaders"
CHAPTER = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>The Lock Keepers</title></head>'
    "<body><h1>{heading}</h1><p>{text}</p></body></html>"
)

AddPackage = Callable[[Path, str, str], None]


def book(**chapters: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, text in chapters.items():
            archive.writestr(f"text/{name}.xhtml", CHAPTER.format(heading=name.title(), text=text))
    return held.getvalue()


BOOK = book(
    locks="The lock at Aldermoor was dug by forty navvies in 1812.",
    wharves="Coal was landed at the wharf of Pyne until the frost of 1895.",
)


def source_of(name: str, data: bytes) -> Source:
    return Source(uri=f"file:///{name}", name=name, data=data, collection="books")


class TestAddedLoader(LoaderContract):
    good: ClassVar = source_of("locks.epub", BOOK)
    expected_kind: ClassVar = "page"
    quotes: ClassVar[tuple[Quote, ...]] = (
        ("dug by forty navvies", {"heading": ("Locks",)}),
        ("the frost of 1895", {"heading": ("Wharves",)}),
    )
    broken: ClassVar = (
        source_of("cut.epub", BOOK[: len(BOOK) // 2]),
        source_of("empty.epub", book()),
    )

    @pytest.fixture(autouse=True)
    def _installed(self, add_package: AddPackage) -> None:
        add_package(MODULE, GROUP, "epub = tiny_epub:load")

    def test_it_gets_the_files_of_its_extension_and_no_other(self) -> None:
        assert kinds.kind_of(replace(self.good, name="locks.bin")) == ""
        assert kinds.kind_of(replace(self.good, name="Locks.EPUB")) == "epub"


def test_what_was_skipped_before_is_looked_at_again(add_package: AddPackage) -> None:
    assert kinds.loader_name(source_of("locks.epub", BOOK)) == ""
    before = no_loader()
    add_package(MODULE, GROUP, "epub = tiny_epub:load")
    assert no_loader() != before


def test_a_loader_that_cannot_be_imported_fails_its_own_files(
    tmp_path: Path, add_package: AddPackage
) -> None:
    module = tmp_path / "broken_tide.py"
    module.write_text("raise RuntimeError('too old')")
    add_package(module, GROUP, "tide = broken_tide:load")
    with pytest.raises(SourceError, match="too old"):
        kinds.load(source_of("a.tide", b"high water"), LoaderLimits())
    assert kinds.load(source_of("a.txt", b"high water"), LoaderLimits())


def test_the_command_adds_what_the_package_reads(
    tmp_path: Path, add_package: AddPackage, place_model: PlaceModel
) -> None:
    """In the parser processes as well, which are started by the command."""
    place_model(tmp_path / "home")
    (tmp_path / "locks.epub").write_bytes(BOOK)
    add_package(MODULE, GROUP, "epub = tiny_epub:load")
    assert added(tmp_path, times=2) == ["added", "unchanged"]


def added(folder: Path, times: int = 1) -> list[str]:
    """What became of the book each time that one process ran the command."""
    words = ["--json", "add", str(folder / "locks.epub")]
    program = f"from wellread.serve.cli import app\nfor _ in range({times}):\n"
    program += f"    app({words!r}, standalone_mode=False)\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "WELLREAD_HOME": str(folder / "home")},
        check=False,
    )
    return re.findall(r'"status": "(\w+)",?\n', done.stdout)
