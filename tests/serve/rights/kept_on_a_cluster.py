"""Opens the homes of these tests: with the index on a cluster where one is named for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.doubles.named_cluster import CLUSTER, drop_all, place_of

from wellread.ingest.reindex import reindex
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder


@contextmanager
def opened(home: Path, overrides: dict[str, Any] | None = None) -> Iterator[KnowledgeBase]:
    """A home with the readable embedder.

    On a cluster its index is there as long as it is open: copies of a home have one each.
    """
    if not CLUSTER:
        with open_kb(home, embedder=ReadableEmbedder(), overrides=overrides) as kb:
            yield kb
        return
    base = f"rights-{uuid4().hex[:12]}"
    there = {**(overrides or {}), "index": {"url": place_of(base).url}}
    try:
        with open_kb(home, embedder=ReadableEmbedder(), overrides=there) as kb:
            assert reindex(kb).switched
            yield kb
        with open_kb(home, embedder=ReadableEmbedder()) as kb:
            assert reindex(kb).switched
    finally:
        drop_all(base)
