"""The embedder of the tests, and the cache of query vectors."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.models.base import Embedder, Purpose
from wellread.models.embedders.open_embedder import FEW, CachedEmbedder
from wellread.testing.embedding import EmbedderContract, ReadableEmbedder


class Counting(ReadableEmbedder):
    """Remembers the texts it was asked for; fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.broken = False

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        if self.broken:
            raise ModelError("broken")
        self.asked += texts
        return super().embed(texts, purpose)


class TestReadableEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return ReadableEmbedder()


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(ReadableEmbedder(), capacity=3)


def test_a_query_is_embedded_once() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = cached.embed(["ferry", "bread", "ferry"], "query")
    second = cached.embed(["bread", "ferry"], "query")
    assert inner.asked == ["ferry", "bread"]
    assert np.array_equal(second, first[[1, 0]])


def test_the_passages_of_a_document_that_comes_in_are_not_remembered() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    many = [f"passage {number}" for number in range(FEW + 1)]
    cached.embed(many, "passage")
    cached.embed(many[:1], "passage")
    assert inner.asked == [*many, many[0]]


def test_a_failure_is_not_remembered() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    inner.broken = True
    with pytest.raises(ModelError):
        cached.embed(["ferry"], "query")
    inner.broken = False
    assert cached.embed(["ferry"], "query").shape == (1, inner.dimensions)


def test_threads_get_the_right_vectors() -> None:
    cached = CachedEmbedder(ReadableEmbedder(), capacity=5)
    texts = [f"query {n % 12}" for n in range(600)]
    with ThreadPoolExecutor(8) as pool:
        found = np.concatenate(list(pool.map(lambda text: cached.embed([text], "query"), texts)))
    assert np.array_equal(found, ReadableEmbedder().embed(texts, "query"))
