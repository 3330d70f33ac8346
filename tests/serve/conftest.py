"""A small home for the serve layer: four files in two collections, and no real model."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import lxml.html
import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from typer.testing import CliRunner

from wellread import kb as kb_module
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.cli import app
from wellread.serve.http.app import create_app
from wellread.serve.views import view_of
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


def client_of(server: FastAPI, **headers: str) -> httpx.AsyncClient:
    """A client of an application; an unexpected error comes back as a response."""
    transport = httpx.ASGITransport(server, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)


@pytest.fixture
async def client(kb: KnowledgeBase) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application over ``kb``; an unexpected error comes back as a response."""
    server = create_app(kb)
    async with client_of(server) as opened:
        yield opened
    await server.state.runs.close()  # what was begun goes on otherwise, on a base that is closed
    await anyio.to_thread.run_sync(server.state.ingest.close)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, home: Path) -> CliRunner:
    """Runs commands in this process, on ``home``, with the readable embedder."""
    embedder = ReadableEmbedder()
    monkeypatch.setattr(kb_module, "open_kb", functools.partial(open_kb, embedder=embedder))
    monkeypatch.setenv("WELLREAD_HOME", str(home))
    monkeypatch.setenv("COLUMNS", "100")
    return CliRunner()


def run(runner: CliRunner, *words: str | Path, typed: str = "") -> tuple[int, str, str]:
    """The exit status of a command, what it printed and what it said beside."""
    result = runner.invoke(app, [str(word) for word in words], input=typed)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def printed(runner: CliRunner, *words: str | Path) -> str:
    """What a command printed that went well."""
    code, out, err = run(runner, *words)
    assert code == 0, out + err
    return out


# --- material for look-ups -------------------------------------------------------------------

NEWS: tuple[dict[str, Any], ...] = (
    {
        "title": "Ferry Osprey breaks down",
        "published_at": "2026-01-05",
        "authors": ["Ilse Marrane"],
        "sectors": ["transport"],
        "text": "The ferry Osprey broke down off the harbour on Monday. A tug towed the ferry home "
        "with ninety passengers, and nobody was hurt on board.",
    },
    {
        "title": "Bakery wins prize for rye bread",
        "published_at": "2026-02-10",
        "authors": ["Jon Tarn"],
        "sectors": ["food"],
        "language": "en",
        "text": "The village bakery won the national prize for its rye bread. The bakers use "
        "caraway seeds from the school garden in the bread, they said.",
    },
    {
        "title": "Ferry Osprey back in service",
        "published_at": "2026-03-20",
        "authors": ["Ilse Marrane", "Jon Tarn"],
        "sectors": ["transport"],
        "text": "The ferry Osprey is back in service with a new engine. Passengers of the ferry "
        "who lost a day get their fare back at the harbour office.",
    },
)
OSPREY = """---
id: fleet/osprey
type: vessel
title: Osprey
aliases: [the white ferry]
---
A vessel of the harbour.
"""
MEETING = """WEBVTT

NOTE
title: Harbour meeting
date: 2026-03-01
url: https://media.example/meeting.mp3

00:00:01.000 --> 00:00:05.000
<v Ana Holm>Welcome to the meeting about the engine.

00:00:06.000 --> 00:00:09.500
<v Ben Reed>The new engine is loud.

00:00:10.000 --> 00:00:14.000
<v Ana Holm>We will measure the noise in April.

00:00:14.500 --> 00:00:19.000
<v Ana Holm>The bakery has offered bread.

01:00:02.000 --> 01:00:06.000
<v Ana Weir>Good night to everyone on the pier.
"""
CAPTIONS = """WEBVTT

00:00:01.000 --> 00:00:04.000
A walk along the pier, with gulls.
"""
EPISODE: dict[str, Any] = {
    "title": "Sounds of the pier",
    "published_at": "2026-02-01",
    "media_url": "https://media.example/pier.mp3",
    "text": "An hour of waves, gulls and winches, recorded in January.",
}
SECTIONS = ("Ropes", "Anchors", "Lamps", "Pumps", "Bells")
HANDBOOK = "# Handbook\n\n" + "\n".join(
    f"## {name}\n\n"
    + " ".join(
        f"{name} of pattern {number} hang in the shed on hook {number}." for number in "123456"
    )
    + "\n"
    for name in SECTIONS
)
HILLS = """WEBVTT

NOTE
title: Hill meeting
date: 2026-03-02

00:00:01.000 --> 00:00:05.000
<v Cem Kaya>The Osprey nests on the hill, and the engine is far away.
"""


def write_harbour(folder: Path) -> Path:
    """News, an entity that they name, and recordings, in ``folder``."""
    folder.mkdir()
    lines = [
        {**item, "url": f"https://herald.example/{number}"}
        for number, item in enumerate((*NEWS, EPISODE))
    ]
    files = {
        "news.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "osprey.md": OSPREY,
        "meeting.vtt": MEETING,
        "captions.vtt": CAPTIONS,
        "handbook.md": HANDBOOK,
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def harbour_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the collections ``harbour`` and ``hills``; tests only read it."""
    root = tmp_path_factory.mktemp("lookups")
    (root / "hill.vtt").write_text(HILLS, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as made:
        add(made, [str(write_harbour(root / "harbour"))], collection="harbour")
        add(made, [str(root / "hill.vtt")], collection="hills")
    return root / "home"


@pytest.fixture(scope="module")
def harbour_kb(harbour_home: Path) -> Iterator[KnowledgeBase]:
    """The harbour and the hills, opened once."""
    with open_kb(harbour_home, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture
async def harbour(harbour_kb: KnowledgeBase) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application over the harbour and the hills."""
    async with client_of(create_app(harbour_kb)) as client:
        yield client


def schema_of(kind: Any) -> type[BaseModel]:
    """The schema by which a reply is described."""
    return kind if issubclass(kind, BaseModel) else view_of(kind).model(kind)


async def got(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    response = await client.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def events_in(text: str) -> list[tuple[int | None, str, Any]]:
    """Number, name and data of each server-sent event, by the rules of the standard."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            number = int(fields["id"]) if "id" in fields else None
            found.append((number, fields["event"], json.loads(fields["data"])))
    return found


async def page(client: httpx.AsyncClient, path: str, status: int = 200, **params: Any) -> Any:
    """A page as a browser reads it."""
    response = await client.get(path, params=params or None, headers={"accept": "text/html"})
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("text/html")
    return lxml.html.fromstring(response.text)


def words(element: Any) -> str:
    """The text of an element on one line."""
    return " ".join(element.text_content().split())
