from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from wellread.ask.retrieve import direct as finding
from wellread.ask.retrieve.direct import FoundStory, find_stories
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.schema.database import Database
from wellread.store.schema.tables import story_items
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters

NOW = datetime(2026, 4, 1, tzinfo=UTC)
FERRY_QUESTION = "engine of the ferry Osprey"
LONG = "The council talked about the second ferry again. " * 60
NEWS = [
    ("Ferry Osprey breaks down", "2026-01-05", "The ferry Osprey broke down. Its engine failed."),
    ("Ferry Osprey is back", "2026-03-20", "The ferry Osprey is back with a new engine."),
    ("Ferry Osprey is full", "2026-03-25", "The ferry Osprey was full on Sunday, at last."),
    ("Rye bread wins prize", "2026-03-22", "The bakery won a prize for rye bread with caraway."),
    ("Second ferry for the harbour", "2026-03-28", LONG),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the news, and a copy of one item at another address."""
    root = tmp_path_factory.mktemp("stories")
    lines = [
        {"title": title, "published_at": day, "text": text, "url": f"https://a.example/{number}"}
        for number, (title, day, text) in enumerate(NEWS)
    ]
    lines.append({**lines[1], "url": "https://b.example/copy", "published_at": "2026-03-21"})
    file = root / "news.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(file)], collection="news")
    return root / "home"


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


def find(kb: KnowledgeBase, text: str, **limits: Any) -> list[FoundStory]:
    return find_stories(kb, text, Filters(**limits), now=NOW)


def titles(found: FoundStory) -> list[str]:
    return [document.title for document, _ in found.items]


def test_a_question_finds_its_story_and_the_best_news_of_the_last_30_days(
    kb: KnowledgeBase,
) -> None:
    first = find(kb, FERRY_QUESTION)[0]
    assert first.story.title.startswith("Ferry Osprey")
    assert titles(first)[0] == "Ferry Osprey is back"
    assert "Ferry Osprey breaks down" not in titles(first)  # in January
    assert first.similarity is not None
    assert first.similarity >= 0.3


def test_a_window_that_is_asked_for_is_kept_to(kb: KnowledgeBase) -> None:
    first = find(
        kb, FERRY_QUESTION, published_from=datetime(2026, 1, 1, tzinfo=UTC), published_to=NOW
    )[0]
    assert set(titles(first)[:2]) == {"Ferry Osprey breaks down", "Ferry Osprey is back"}
    january = datetime(2026, 1, 31, tzinfo=UTC)
    (only,) = find(kb, FERRY_QUESTION, published_to=january)
    assert titles(only) == ["Ferry Osprey breaks down"]
    assert find(kb, FERRY_QUESTION, published_from=NOW) == []


def test_long_news_is_cut(kb: KnowledgeBase) -> None:
    (span,) = [
        span
        for found in find(kb, "council talked second ferry")
        for document, span in found.items
        if document.title.startswith("Second ferry")
    ]
    assert len(span) == finding.ITEM_CHARACTERS


def test_what_is_unlike_every_story_finds_none(kb: KnowledgeBase, home: Path) -> None:
    assert find(kb, "quantum chromodynamics lattice") == []
    strict = {"retrieval": {"min_similarity": 0.99}}
    with open_kb(home, overrides=strict, embedder=ReadableEmbedder()) as other:
        assert find(other, FERRY_QUESTION) == []


def test_an_item_of_another_version_than_the_hit_is_not_given(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home")
    database = Database(tmp_path / "home" / "catalogue.db")
    with database.write() as connection:
        connection.execute(update(story_items).values(version="ver_old"))
    database.close()
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert find(kb, FERRY_QUESTION) == []
