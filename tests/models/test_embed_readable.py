"""The readable double meets the contract and can be predicted."""

from __future__ import annotations

import pytest

from wellread.models.base import Embedder
from wellread.testing.embedding import EmbedderContract, ReadableEmbedder


class TestReadableEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return ReadableEmbedder()


def similarity(left: str, right: str) -> float:
    vectors = ReadableEmbedder().embed([left, right], "passage")
    return float(vectors[0] @ vectors[1])


def test_forms_of_a_word_are_near() -> None:
    assert similarity("ferry", "The ferries") > 0.9
    assert similarity("vote", "voted") > 0.9


def test_stop_words_and_order_do_not_count() -> None:
    assert similarity("the harbour of the ferry", "ferry harbour") > 0.999
