"""What tests of taking in share: an empty home, and what became of each source of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.retrieve.search import search
from wellread.ingest.pipeline.job_log import Report
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        yield opened


def statuses(report: Report) -> dict[str, str]:
    """The last part of each uri to how that source fared."""
    return {row.uri.rsplit("/", 1)[-1]: row.status for row in report.rows}


def found(kb: KnowledgeBase, words: str) -> list[str]:
    """The texts of all passages that a full-text search finds."""
    return [hit.passage.text for hit in search(kb, words, Filters(), mode="text")]


def index_ids(kb: KnowledgeBase) -> list[str]:
    """The passage of every row of the index."""
    rows = kb.index.keys()
    return sorted(row.passage_id for row in rows)
