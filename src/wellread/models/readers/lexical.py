"""The reader that needs no model of its own: words, their order, and the embedder's cosines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wellread.models.base import Embedder
from wellread.models.reader import Case, Entailment, Excerpt, Head, Limits, Scores
from wellread.models.readers.proximity import closeness
from wellread.models.readers.support_score import Support, Weights, learned, support


class LexicalReader:
    """Relevance by how a question's words stand, answers by cosine, support by learned features.

    Relevance judges a word's rarity among the texts of one call, so they should be the candidates
    of one search. What it says of claims that it leaves open has not been learned.
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

    def entails(self, cases: Sequence[Case]) -> list[Entailment]:
        """How far each claim is borne out by words, names, numbers and meaning.

        Raises:
            ModelError: the embedder could not be run or reached.
        """
        found = (support(case.claim, case.passages, self._embedder()) for case in cases)
        return [entailment_of(each, each.score, learned()) for each in found]


def entailment_of(found: Support, score: float, weights: Weights) -> Entailment:
    """What words, names and numbers say of a claim whose support is ``score`` by ``weights``."""
    if found.source is None:
        return Entailment(neither=1.0, reason="no word of it stands there")
    against = ""
    if found.readings["denied"]:
        against = "one of the two is negated"
    elif found.readings["opposed"]:
        against = "the passage says the opposite direction"
    return Entailment(
        supports=score,
        contradicts=1 - score if against else 0.0,
        neither=0.0 if against else 1 - score,
        reason=f"{found.readings['cover_plain']:.0%} of its words stand in the passage",
        against=against,
        literal=found.contained,
        source=found.source,
        span=found.span,
        limits=Limits(supported=weights.supported, partial=weights.partial),
    )
