"""The ranking that needs no model: how a question's words stand in each text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wellread.models.reader import Excerpt, Scores
from wellread.models.readers.proximity import closeness


class LexicalReader:
    """Relevance by how a question's words stand.

    A word's rarity is judged among the texts of one call, so they should be the candidates of one
    search.
    """

    identity = "lexical"
    reranks = False

    def relevance(self, question: str, texts: Sequence[Excerpt]) -> Scores:
        """How closely the question's words stand together in each of ``texts``, 0 to 1."""
        close = closeness(question, [(each.title, each.text) for each in texts])
        return np.asarray(close, dtype=np.float64)
