"""A small home for the serve layer: four files in two collections, and no real model."""

from __future__ import annotations

import functools
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from wellread import kb as kb_module
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.api.app import create_app
from wellread.testing.embedding import ReadableEmbedder

BASE_URL = "http://127.0.0.1"
FERRY = """# The ferry

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.

## Timetable

It leaves the harbour at six every morning. On Sundays it leaves at nine.
"""
NASTY = """Signs & symbols

The café's sign says <script>alert("hi")</script> & costs €5 😀 per </mark> visit.
"""
TALK = """WEBVTT

00:00:01.000 --> 00:00:05.000
<v Ana>Welcome to the meeting about the boathouse roof.

00:01:10.000 --> 00:01:16.000
<v Ben>The boathouse roof will be repaired in March.
"""
SEAGRASS = """# Seagrass

Seagrass meadows store carbon in the sediment. Volunteers planted two hectares of seagrass.
"""


def write_material(folder: Path) -> Path:
    """Put the three files of the town into ``folder``."""
    folder.mkdir()
    (folder / "ferry.md").write_text(FERRY, encoding="utf-8")
    (folder / "signs.txt").write_text(NASTY, encoding="utf-8")
    (folder / "talk.vtt").write_text(TALK, encoding="utf-8")
    return folder


@pytest.fixture
def material(tmp_path: Path) -> Path:
    """A folder with sources that the test may change."""
    return write_material(tmp_path / "material")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the knowledge base is made."""
    return tmp_path / "home"


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sources that no test changes."""
    return write_material(tmp_path_factory.mktemp("town") / "material")


@pytest.fixture(scope="session")
def filled_home(tmp_path_factory: pytest.TempPathFactory, town: Path) -> Path:
    """A home with the material in ``town`` and one more file in ``nature``; tests copy it."""
    root = tmp_path_factory.mktemp("serve")
    nature = root / "seagrass.md"
    nature.write_text(SEAGRASS, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as made:
        add(made, [str(town)], collection="town")
        add(made, [str(nature)], collection="nature")
    return root / "home"


@pytest.fixture
def kb(home: Path, filled_home: Path) -> Iterator[KnowledgeBase]:
    """The knowledge base of a copy of the filled home."""
    shutil.copytree(filled_home, home)
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
async def client(kb: KnowledgeBase) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application over ``kb``; an unexpected error comes back as a response."""
    transport = httpx.ASGITransport(create_app(kb), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as opened:
        yield opened


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, home: Path) -> CliRunner:
    """Runs commands in this process, on ``home``, with the readable embedder."""
    embedder = ReadableEmbedder()
    monkeypatch.setattr(kb_module, "open_kb", functools.partial(open_kb, embedder=embedder))
    monkeypatch.setenv("WELLREAD_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "100")
    return CliRunner()
