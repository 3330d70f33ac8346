"""Contract tests for readers, and a reader for tests that needs no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from wellread.models.base import Excerpt, Ranking, Scores, excerpts


class ReadableReader:
    """Scores a text by the share of the question's words that it contains."""

    reranks = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    @property
    def identity(self) -> str:
        """The name of the method."""
        return "readable"

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """The share of words for each text, 0 to 1; 0 for a question without words."""
        visible = tuple(excerpt.shown for excerpt in texts)
        self.asked.append((question, visible))
        return np.asarray([_share(question, text) for text in visible], dtype=np.float64)


def words_of(text: str) -> set[str]:
    """The words of ``text`` in lower case."""
    return set(re.findall(r"\w+", text.lower()))


def _share(question: str, text: str) -> float:
    words = words_of(question)
    return len(words & words_of(text)) / max(len(words), 1)


ODD = (
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
)


class ReaderContract:
    """Tests that every reader must pass. Inherit the class and define the fixture ``reader``::

    class TestMine(ReaderContract):
        @pytest.fixture
        def reader(self) -> Reader:
            return MyReader()

    Attributes:
        ALONE: whether a text has the same score alone and among others.
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
    ALONE = True

    @pytest.fixture
    def scores(self, reader: Ranking) -> Callable[[str, Sequence[str]], Scores]:
        """A function that returns the scores of plain texts."""

        def score(question: str, texts: Sequence[str]) -> Scores:
            values = reader.relevance(question, excerpts(*texts))
            assert values.shape == (len(texts),)
            assert values.dtype == np.float64
            assert np.isfinite(values).all()
            return values

        return score

    def test_no_texts(self, scores: Callable[[str, Sequence[str]], Scores]) -> None:
        """No texts give shape ``(0,)``."""
        assert scores(self.QUERIES[0], []).shape == (0,)

    def test_the_text_that_answers_is_first(
        self, scores: Callable[[str, Sequence[str]], Scores]
    ) -> None:
        """Larger scores are better."""
        best = [int(scores(query, self.TEXTS).argmax()) for query in self.QUERIES]
        assert best == [0, 1, 2]

    def test_order(self, scores: Callable[[str, Sequence[str]], Scores]) -> None:
        """Reversed texts give reversed scores."""
        forward = scores(self.QUERIES[1], self.TEXTS)
        backward = scores(self.QUERIES[1], self.TEXTS[::-1])
        np.testing.assert_allclose(forward, backward[::-1], atol=self.NEAR)

    def test_many_texts(self, scores: Callable[[str, Sequence[str]], Scores]) -> None:
        """A text gets the same score alone and among 149 texts of various lengths."""
        filler = [f"{'Filler makes a text long. ' * (n % 20)}Number {n}." for n in range(149)]
        crowded = scores(self.QUERIES[0], [*filler[:75], self.TEXTS[0], *filler[75:]])
        alone = scores(self.QUERIES[0], self.TEXTS[:1])
        assert crowded.argmax() == 75
        if self.ALONE:
            np.testing.assert_allclose(crowded[75], alone[0], atol=self.NEAR)

    def test_any_text(self, scores: Callable[[str, Sequence[str]], Scores]) -> None:
        """Empty, odd and very long texts and questions get scores too."""
        for query in (self.QUERIES[0], "", "\ud83d", "ferry " * 20_000):
            scores(query, ODD)

    def test_identity(self, reader: Ranking) -> None:
        """The identity is not empty and does not change."""
        identity = reader.identity
        reader.relevance(self.QUERIES[0], excerpts(*self.TEXTS))
        assert identity.strip() == reader.identity == identity
        assert identity
