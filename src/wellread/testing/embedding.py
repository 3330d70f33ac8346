"""Contract tests for embedders, and an embedder for tests that needs no model."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.models.base import Embedder, Purpose

DIMENSIONS = 128
TRIGRAM_WEIGHT = 0.25
STOP_WORDS = frozenset(
    "a an and are as at be but by for from has have how in is it its of on or that the this to "
    "was were what when where which who why will with".split()
)
ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "ly", "s", "y", "e")


class ReadableEmbedder:
    """A deterministic embedder: texts that share words are similar, others not (cosine near 0).

    Each word without its ending, and each of its letter trigrams, adds to or subtracts from one
    dimension, chosen by CRC-32; stop words are ignored.
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        """Return vectors of ``dimensions`` numbers (below 64, chance collisions are likely)."""
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        """The name of the method with the number of dimensions."""
        return f"readable/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:  # noqa: ARG002
        """Embed ``texts`` as unit vectors, in order, shape ``(len(texts), dimensions)``."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for feature, weight in _features(text).items():
                code = zlib.crc32(feature.encode("utf-8", "ignore"))
                vector[(code >> 1) % self._dimensions] += weight if code & 1 else -weight
            norm = np.linalg.norm(vector)
            if norm > 0:
                vector /= norm
            else:
                vector[0] = 1.0
        return vectors


def _features(text: str) -> dict[str, float]:
    features: defaultdict[str, float] = defaultdict(float)
    for word in re.findall(r"\w+", text.lower()):
        if word in STOP_WORDS:
            continue
        stem = _stem(word)
        features[f"word {stem}"] += 1
        padded = f"^{stem}$"
        for start in range(len(padded) - 2):
            features[padded[start : start + 3]] += TRIGRAM_WEIGHT
    return features


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


class EmbedderContract:
    """Tests that every embedder must pass. Inherit the class and define a fixture ``embedder``::

    class TestMine(EmbedderContract):
        @pytest.fixture
        def embedder(self) -> Embedder:
            return MyEmbedder()
    """

    TEXTS = (
        "The ferry leaves the harbour at seven in the morning.",
        "Bread dough rises because yeast makes carbon dioxide.",
        "Interest rates were raised by a quarter of a point.",
        "ferry",
    )
    NEAR = 1e-3

    def test_shape(self, embedder: Embedder) -> None:
        """One float32 row for each text, as long as ``dimensions`` says."""
        vectors = embedder.embed(self.TEXTS, "passage")
        assert vectors.shape == (len(self.TEXTS), embedder.dimensions)
        assert vectors.dtype == np.float32

    def test_norm(self, embedder: Embedder) -> None:
        """Rows have L2 norm 1."""
        for purpose in _PURPOSES:
            vectors = embedder.embed(self.TEXTS, purpose)
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)

    def test_no_texts(self, embedder: Embedder) -> None:
        """No texts give shape ``(0, dimensions)``."""
        for purpose in _PURPOSES:
            vectors = embedder.embed([], purpose)
            assert vectors.shape == (0, embedder.dimensions)
            assert vectors.dtype == np.float32

    def test_order(self, embedder: Embedder) -> None:
        """Reversed texts give reversed vectors."""
        forward = embedder.embed(self.TEXTS, "passage")
        backward = embedder.embed(self.TEXTS[::-1], "passage")
        self._assert_same(forward, backward[::-1])

    def test_batch_independence(self, embedder: Embedder) -> None:
        """A text has the same vector alone and among 40 texts of various lengths."""
        filler = [
            f"{'Filler that makes the batch long. ' * (n % 20)}Number {n}." for n in range(40)
        ]
        for purpose in _PURPOSES:
            alone = np.concatenate([embedder.embed([text], purpose) for text in self.TEXTS])
            crowded = embedder.embed([*filler[:20], *self.TEXTS, *filler[20:]], purpose)
            self._assert_same(alone, crowded[20 : 20 + len(self.TEXTS)])

    def test_repeated_text(self, embedder: Embedder) -> None:
        """The same text twice in a call gives the same vector twice."""
        vectors = embedder.embed([self.TEXTS[0], self.TEXTS[1], self.TEXTS[0]], "passage")
        self._assert_same(vectors[:1], vectors[2:])

    def test_any_text(self, embedder: Embedder) -> None:
        """Texts without words, with any characters and of any length give unit vectors."""
        odd = [
            "",
            " \n\t  \r\n",
            "\u00a0\u3000",
            "\u200b",
            "\x00",
            "…!?",
            "🦭🦭 🚢",
            "e\u0301" * 50,
        ]
        odd += ["日本語の文章", "نص عربي", "lone \ud83d surrogate \udc00", "\ufffe\uffff\U0010ffff"]
        odd += ["[CLS] [SEP] <|endoftext|>", "x" * 100_000, f"{self.TEXTS[0]} " * 1_900]
        for purpose in _PURPOSES:
            vectors = embedder.embed(odd, purpose)
            assert vectors.shape == (len(odd), embedder.dimensions)
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)

    def test_identity(self, embedder: Embedder) -> None:
        """Identity and dimensions do not change with calls."""
        identity, dimensions = embedder.identity, embedder.dimensions
        embedder.embed(self.TEXTS, "passage")
        embedder.embed(self.TEXTS, "query")
        assert identity
        assert (embedder.identity, embedder.dimensions) == (identity, dimensions)

    def test_related_texts_are_near(self, embedder: Embedder) -> None:
        """A question is nearest to the passage that answers it."""
        passages = embedder.embed(self.TEXTS[:3], "passage")
        questions = embedder.embed(
            [
                "When does the ferry leave the harbour?",
                "Why does bread dough rise?",
                "By how much were interest rates raised?",
            ],
            "query",
        )
        assert (questions @ passages.T).argmax(axis=1).tolist() == [0, 1, 2]

    def _assert_same(self, left: NDArray[np.float32], right: NDArray[np.float32]) -> None:
        assert float((left * right).sum(axis=1).min()) >= 1 - self.NEAR


_PURPOSES: tuple[Purpose, ...] = ("query", "passage")
