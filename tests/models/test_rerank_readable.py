"""The reranker of the tests keeps the contract, so that tests with it mean something."""

from __future__ import annotations

import pytest

from wellread.models.rerank import Reranker
from wellread.testing.rerank import ReadableReranker, RerankerContract


class TestReadableReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return ReadableReranker()
