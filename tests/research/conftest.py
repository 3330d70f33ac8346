"""A small town's material in two collections, for tests of research with a model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.reports import Facet, ResearchPlan

FERRY = """# The ferry Osprey

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.

## Timetable

The ferry Osprey leaves the harbour at six every morning. On Sundays it leaves at nine.

## Captain

The captain of the Osprey is Mirela Dunn. She came from the shipyard Calder in 2019.
"""
YARD = """# The shipyard Calder

The shipyard Calder built eleven ferries. Its owner is Tom Brack.
"""
TALK = """WEBVTT

00:00:01.000 --> 00:00:05.000
<v Ana>Welcome to the meeting about the boathouse roof.

00:01:10.000 --> 00:01:16.000
<v Ben>The boathouse roof will be repaired in March.

00:02:10.000 --> 00:02:16.000
<v Ana>The ferry Osprey pays for half of the roof.
"""
CLUB = """---
id: rowing-club
type: club
relations:
  - type: uses
    target: boathouse
---

# The Rowing Club

The Rowing Club trains on the river. It uses the boathouse.
"""
HOUSE = """---
id: boathouse
type: building
---

# The Boathouse

The Boathouse stands by the river since 1912.
"""
NEWS: tuple[dict[str, Any], ...] = (
    {
        "title": "Ferry Osprey breaks down",
        "published_at": "2026-01-05",
        "url": "https://town.example/1",
        "text": "The ferry Osprey broke down in the harbour on Monday.",
    },
    {
        "title": "Ferry Osprey is repaired",
        "published_at": "2026-02-09",
        "url": "https://town.example/2",
        "text": "The ferry Osprey was repaired with a new engine.",
    },
)
SECRET = """# Secret ledger

The secret ledger of the ferry Osprey lists bribes of the harbour master. Ana signed it.
"""


def write_town(folder: Path) -> Path:
    """The files of the town."""
    folder.mkdir(parents=True)
    for name, text in {
        "ferry.md": FERRY,
        "yard.md": YARD,
        "roof.vtt": TALK,
        "club.md": CLUB,
        "boathouse.md": HOUSE,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    lines = "\n".join(json.dumps(item) for item in NEWS)
    (folder / "news.jsonl").write_text(lines + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def town_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the town, and a secret in another collection."""
    root = tmp_path_factory.mktemp("research")
    town = write_town(root / "town")
    secret = root / "secret.md"
    secret.write_text(SECRET, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        report = add(kb, [str(town)], collection="town")
        assert report.counts()["failed"] == 0
        add(kb, [str(secret)], collection="secret")
    return root / "home"


@pytest.fixture
def home(tmp_path: Path, town_home: Path) -> Path:
    """A copy of it."""
    shutil.copytree(town_home, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    """Opened without a language model."""
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


def plan_of(question: str, *titles: str) -> ResearchPlan:
    """A plan with a facet for the question and one for each title."""
    facets = [Facet(id="f1", kind="question", title="Answer", query=question)]
    facets += [
        Facet(id=f"f{place}", kind="section", title=title, query=title)
        for place, title in enumerate(titles, 2)
    ]
    return ResearchPlan(question=question, facets=tuple(facets), searches=9, seconds=9.0)
