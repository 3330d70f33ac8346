"""The reader that needs no model of its own: words, their order, and the embedder's cosines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wellread.models.base import Embedder
from wellread.models.reader import Excerpt, Head, Scores
from wellread.models.readers.proximity import closeness


class LexicalReader:
    """Relevance by how a question's words stand, answers by cosine.

    Relevance judges a word's rarity among the texts of one call, so they should be the candidates
    of one search.
    """

    identity = "lexical"
    heads: frozenset[Head] = frozenset()

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        """Prepare; ``embedder`` is called when vectors are needed."""
        self._embedder = embedder

    @property
    def embedder(self) -> Embedder:
        """The embedder whose cosines count."""
        return self._embedder()

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """How closely the question's words stand together in each of ``texts``, 0 to 1."""
        close = closeness(question, [(each.title, each.text) for each in texts])
        return np.asarray(close, dtype=np.float64)

    def answers(self, question: str, sentences: Sequence[Excerpt]) -> Scores:
        """The cosine of the question and each sentence.

        Raises:
            ModelError: the embedder could not be run or reached.
        """
        if not sentences:
            return np.empty(0, dtype=np.float64)
        embedder = self._embedder()
        # The question is embedded by itself: a cache may hold it already.
        asked = embedder.embed([question], "query")[0]
        vectors = embedder.embed([each.shown for each in sentences], "passage")
        return np.asarray(vectors @ asked, dtype=np.float64)
