"""The reranker seam: its contract as tests, and a double that needs no model."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.models.rerank import Reranker


class ReadableReranker:
    """Scores a text by the share of the query's words that it holds.

    Attributes:
        asked: the queries and texts of every call, in order.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    @property
    def identity(self) -> str:
        """Names the method."""
        return "readable"

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """The shares, 0 to 1; 0 for a query without a word."""
        self.asked.append((query, tuple(texts)))
        wanted = words_of(query)
        shares = [len(wanted & words_of(text)) / max(len(wanted), 1) for text in texts]
        return np.asarray(shares, dtype=np.float32)


def words_of(text: str) -> set[str]:
    """The words of ``text`` in lower case."""
    return set(re.findall(r"\w+", text.lower()))


class RerankerContract:
    """What every reranker must do. Inherit it and give a fixture ``reranker``::

    class TestMine(RerankerContract):
        @pytest.fixture
        def reranker(self) -> Reranker:
            return MyReranker()
    """

    TEXTS = (
        "The ferry leaves the harbour at seven in the morning.",
        "Bread dough rises because yeast makes carbon dioxide.",
        "Interest rates were raised by a quarter of a point.",
    )
    QUERIES = (
        "When does the ferry leave the harbour?",
        "Why does bread dough rise?",
        "By how much were interest rates raised?",
    )
    NEAR = 1e-3

    def test_shape(self, reranker: Reranker) -> None:
        """One finite float32 for each text."""
        scores = reranker.rerank(self.QUERIES[0], self.TEXTS)
        assert scores.shape == (len(self.TEXTS),)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_no_texts(self, reranker: Reranker) -> None:
        """No texts give shape ``(0,)``."""
        scores = reranker.rerank(self.QUERIES[0], [])
        assert scores.shape == (0,)
        assert scores.dtype == np.float32

    def test_the_text_that_answers_is_first(self, reranker: Reranker) -> None:
        """Larger is better."""
        found = [int(reranker.rerank(query, self.TEXTS).argmax()) for query in self.QUERIES]
        assert found == [0, 1, 2]

    def test_order(self, reranker: Reranker) -> None:
        """Turning the texts around turns the scores around."""
        forward = reranker.rerank(self.QUERIES[1], self.TEXTS)
        backward = reranker.rerank(self.QUERIES[1], self.TEXTS[::-1])
        np.testing.assert_allclose(forward, backward[::-1], atol=self.NEAR)

    def test_many_texts(self, reranker: Reranker) -> None:
        """A text of 150 of all lengths gets the score that it gets alone."""
        filler = [f"{'Filler makes a text long. ' * (n % 20)}Number {n}." for n in range(149)]
        crowded = reranker.rerank(self.QUERIES[0], [*filler[:75], self.TEXTS[0], *filler[75:]])
        alone = reranker.rerank(self.QUERIES[0], self.TEXTS[:1])
        assert crowded.shape == (150,)
        np.testing.assert_allclose(crowded[75], alone[0], atol=self.NEAR)

    def test_any_text(self, reranker: Reranker) -> None:
        """Empty, odd and very long texts get scores too, and odd queries give some."""
        odd = [
            "",
            " \n\t",
            "\u200b",
            "\x00",
            "…!?",
            "🦭🚢",
            "日本語の文章",
            "lone \ud83d surrogate \udc00",
            "[CLS] [SEP] <|endoftext|>",
            "x" * 100_000,
            "ferry " * 20_000,
        ]
        for query in (self.QUERIES[0], "", "\ud83d", "ferry " * 20_000):
            scores = reranker.rerank(query, odd)
            assert scores.shape == (len(odd),)
            assert np.isfinite(scores).all()

    def test_identity(self, reranker: Reranker) -> None:
        """It has a name, and keeps it."""
        identity = reranker.identity
        reranker.rerank(self.QUERIES[0], self.TEXTS)
        assert identity.strip() == reranker.identity == identity
        assert identity
