"""Plain BM25 as the floor: the passages' own texts, stemmed, stop words removed, nothing else."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.types import Candidate, Passage

K1, B = 1.2, 0.75  # Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009)


class PlainBM25:
    """BM25 over every passage of a home, in memory, without titles and headings."""

    def __init__(self, kb: KnowledgeBase) -> None:
        keys = kb.index.keys()
        ids = [key.passage_id for key in keys]
        self._passages: list[Passage] = list(kb.catalogue.live_passages(ids).values())
        counts = [Counter(parse(passage.text).stems) for passage in self._passages]
        lengths = np.array([sum(found.values()) for found in counts], dtype=np.float64)
        self._long = B * lengths / max(lengths.mean(), 1e-9)
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, found in enumerate(counts):
            for stem, times in found.items():
                places[stem].append((place, times))
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {
            stem: (
                np.array([place for place, _ in held]),
                np.array([times for _, times in held], dtype=np.float64),
            )
            for stem, held in places.items()
        }

    def search(self, text: str, limit: int) -> list[Candidate]:
        """The best ``limit`` passages that share a word with ``text``, best first."""
        scores = np.zeros(len(self._passages))
        for stem, times in Counter(parse(text).stems).items():
            if stem in self._postings:
                held, counts = self._postings[stem]
                rare = math.log(1 + (len(scores) - len(held) + 0.5) / (len(held) + 0.5))
                norm = counts + K1 * (1 - B + self._long[held])
                scores[held] += times * rare * counts * (K1 + 1) / norm
        best = np.argsort(-scores, kind="stable")[:limit]
        return [
            Candidate(
                passage_id=self._passages[place].id,
                document_id=self._passages[place].document_id,
                version=self._passages[place].version,
                span=self._passages[place].span,
                score=float(scores[place]),
            )
            for place in best.tolist()
            if scores[place] > 0
        ]
