"""A process that re-indexes, or adds a folder, for test_reindex.py; some of them are killed at it.

It waits for a line ``action home shape folder point`` (JSON); the point is one of ``fault_points``,
after which it kills itself, or empty. It says ``begun`` when work begins and
``done`` when the home is closed. The embedders are readable ones of any size: ``embedding.model``
says how many dimensions.
"""

import json
import sys
from pathlib import Path
from unittest.mock import patch

from tests.ingest.fault_points import REINDEXING, strike

from wellread.config import EmbeddingSettings
from wellread.ingest import reindex as next_index
from wellread.ingest import run
from wellread.ingest.reindex import reindex
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder
from wellread.testing.embedding import ReadableEmbedder


def readable(settings: EmbeddingSettings, home: Path) -> Embedder:
    """The embedder that ``embedding.model`` names: a number of dimensions."""
    return ReadableEmbedder(int(settings.model))


def open_shaped(home: Path, shape: tuple[int, int]) -> KnowledgeBase:
    """The knowledge base with settings that ask for (dimensions, tokens)."""
    dimensions, tokens = shape
    embedding = {"backend": "http", "url": "http://127.0.0.1:9/v1", "model": str(dimensions)}
    return open_kb(home, overrides={"embedding": embedding, "chunking": {"tokens": tokens}})


class Begun:
    """Says so once."""

    def __init__(self) -> None:
        self.said = False

    def __call__(self, progress: object) -> None:
        if not self.said:
            self.said = True
            print("begun", flush=True)


def main() -> None:
    next_index.WINDOW_PASSAGES = 8
    action, home, shape, folder, point = json.loads(sys.stdin.readline())
    strike(REINDEXING, point, 1)
    with patch("wellread.kb.open_embedder", readable), open_shaped(Path(home), shape) as kb:
        if action == "add":
            run.WINDOW_PASSAGES = 8
            report = run.add(kb, [folder], on_progress=Begun())
            assert report.counts()["failed"] == 0
        else:
            assert reindex(kb, on_progress=Begun()).switched
    print("done", flush=True)


if __name__ == "__main__":
    main()
