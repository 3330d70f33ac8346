"""A small town to put questions to: pages, a recording, a paper and a feed in two collections."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder

FERRY = """# The ferry

The ferry Osprey was bought for 2.6 million euros in 2021. It carries ninety passengers.

## Timetable

The ferry leaves the harbour at six every morning. On Sundays the ferry leaves at nine.
"""
ROOF = """WEBVTT

00:00:01.000 --> 00:00:05.000
<v Ana>Welcome to the meeting about the boathouse roof.

00:01:10.000 --> 00:01:16.000
<v Ben>The boathouse roof will be repaired in March by volunteers.

00:02:05.000 --> 00:02:09.000
<v Ana>The tool library lends ladders to members free of charge.
"""
NEWS = [
    {
        "url": "https://news.example/2025/lighthouse/",
        "title": "Lighthouse lamp replaced",
        "text": "The lighthouse lamp was replaced by divers of the coast guard on Tuesday.",
    },
    {
        "url": "https://news.example/2025/old-lighthouse/",
        "title": "Bakery opens",
        "text": "A bakery with a stone oven opened on Quay Street, and sells rye bread.",
    },
]


@pytest.fixture(scope="session")
def town_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home; tests do not change it."""
    root = tmp_path_factory.mktemp("evaluation")
    material = root / "my material"
    material.mkdir()
    (material / "ferry.md").write_text(FERRY, encoding="utf-8")
    (material / "roof.vtt").write_text(ROOF, encoding="utf-8")
    lines = "\n".join(json.dumps(item) for item in NEWS)
    (material / "news.jsonl").write_text(lines, encoding="utf-8")
    copy = root / "copy"
    copy.mkdir()
    (copy / "ferry.md").write_text(FERRY, encoding="utf-8")
    with (
        open_kb(root / "home", embedder=ReadableEmbedder()) as kb,
        as_file(files("wellread.sample") / "papers" / "seagrass.pdf") as paper,
    ):
        add(kb, [str(material)], collection="town")
        add(kb, [str(paper), str(copy)], collection="archive")
    return root / "home"


@pytest.fixture(scope="module")
def town(town_home: Path) -> Iterator[KnowledgeBase]:
    """The knowledge base."""
    with open_kb(town_home, embedder=ReadableEmbedder()) as kb:
        yield kb
