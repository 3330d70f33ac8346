"""The index as one asker with limited rights may search it.

Every search is limited to the readable collections. BM25 counts words over the whole index, so the
order of what is found would tell of passages that are not readable; here passages are scored
again with counts of the readable ones only. How many of these hold a word is asked of the index
once, and kept as long as the material stays the same.
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA

from wellread.errors import StoreError
from wellread.store.base import HeldRow, IndexKey, KeptIndex
from wellread.store.catalogue.readable_catalogue import ReadableCatalogue
from wellread.text.english import STOP_WORDS
from wellread.text.words import snowball_stem, unaccented
from wellread.types import Candidate, Filters, Passage

K1, B = 1.2, 0.75  # as the back ends have them
DEEPER = 4  # times as many are fetched as are asked for, since another order may come out
LEAST = 400
MOST_COUNTED = 10_000  # passages with a word, from which it counts as one that so many have
MOST_KEPT = 20_000  # words whose counts are kept
LONG_LIST = 2_000  # passages; so many are wanted to be told which they are, and not to be ranked
MOST_DIFFERENCES = 2
_WORD = re.compile(r"[^\W_]+")


class ReadableIndex:
    """``store.base.KeptIndex`` over some collections; nothing is written through it.

    Args:
        catalogue: shows the readable passages only.
    """

    def __init__(
        self, whole: KeptIndex, collections: frozenset[str], catalogue: ReadableCatalogue
    ) -> None:
        self._whole = whole
        self._collections = collections
        self._all = Filters(collections=tuple(sorted(collections)))
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._stamp = ""
        self._counts: dict[str, int] = {}

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """See ``Index.search_text``."""
        within = self._within(filters)
        if within is None or limit < 1:
            return []
        if limit >= LONG_LIST:
            every = self._whole.search_text(query, within, limit, differences=differences)
            return sorted((replace(one, score=0.0) for one in every), key=_by_id)
        depth = max(LEAST, DEEPER * limit)
        found = self._whole.search_text(query, within, depth, differences=differences)
        if differences:
            passages = self._catalogue.live_passages([one.passage_id for one in found])
            held = [one for one in found if one.passage_id in passages]
            return _nearest_first(query, held, passages)[:limit]
        words = {snowball_stem(word): word for word in _plain_words(query)}
        counts, weights, mean = self._weights(words)
        if len(found) >= depth:  # all that have a rare word, wherever the whole index ranks them
            for stem, word in words.items():
                if counts[stem] <= LEAST:
                    found += self._whole.search_text(word, within, LEAST)
        known = {one.passage_id: one for one in found}
        passages = self._catalogue.live_passages(known)
        held = [one for name, one in known.items() if name in passages]
        scored = [
            replace(one, score=_score(passages[one.passage_id], weights, mean)) for one in held
        ]
        return sorted(scored, key=lambda one: (-one.score, one.passage_id))[:limit]

    def search_vector(
        self, vector: NDArray[np.float32], filters: Filters, limit: int
    ) -> list[Candidate]:
        """See ``Index.search_vector``."""
        within = self._within(filters)
        return self._whole.search_vector(vector, within, limit) if within else []

    def rows(self) -> int:
        """How many readable passages there are."""
        return self._catalogue.word_counts().passages

    def keys(self) -> Iterator[IndexKey]:
        """See ``Index.keys``: those of readable passages."""
        return self._catalogue.passage_keys()

    def held(self) -> Iterator[HeldRow]:
        """See ``Index.held``: rows of readable collections."""
        return (row for row in self._whole.held() if row.collection in self._collections)

    def purged(self) -> bool:
        """See ``Index.purged``."""
        return self._whole.purged()

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing is written in the name of a reader.

        Raises:
            StoreError: always.
        """
        raise StoreError(
            "the index cannot be changed in the name of a reader",
            hint="changes are made by jobs and by commands on the machine",
        )

    write = set_vectors = remove = _refused
    optimize = rebuild = purge = _refused

    def _within(self, filters: Filters) -> Filters | None:
        """``filters`` within what may be read; None when that leaves nothing."""
        asked = filters.collections
        names = self._collections.intersection(asked) if asked else self._collections
        return replace(filters, collections=tuple(sorted(names))) if names else None

    def _weights(self, words: Mapping[str, str]) -> tuple[dict[str, int], dict[str, float], float]:
        """How many readable passages have each word, how much it tells, and the mean length of
        one in characters.

        Args:
            words: each by its stem.
        """
        counted = self._catalogue.word_counts()
        with self._lock:
            if self._stamp != counted.stamp or len(self._counts) > MOST_KEPT:
                self._stamp, self._counts = counted.stamp, {}
            counts = self._counts
        for stem, word in words.items():
            if stem not in counts:
                counts[stem] = len(self._whole.search_text(word, self._all, MOST_COUNTED))
        total = max(counted.passages, 1)
        weights = {
            stem: math.log(1 + (total - held + 0.5) / (held + 0.5))
            for stem in words
            if (held := min(counts[stem], total))
        }
        return counts, weights, max(counted.characters / total, 1.0)


def _by_id(one: Candidate) -> str:
    return one.passage_id


def words_of(text: str) -> list[str]:
    """The stems of the words of ``text``, in order, without those that tell nothing."""
    return [snowball_stem(word) for word in _plain_words(text)]


def _plain_words(text: str) -> list[str]:
    plain = text.lower() if text.isascii() else unaccented(text.lower())
    return [word for word in _WORD.findall(plain) if word not in STOP_WORDS]


def _score(passage: Passage, weights: dict[str, float], mean: float) -> float:
    """BM25 of a passage with its context."""
    said = f"{passage.context}\n{passage.text}" if passage.context else passage.text
    held = Counter(words_of(said))
    length = K1 * (1 - B + B * len(said) / mean)
    return math.fsum(
        weight * held[word] * (K1 + 1) / (held[word] + length) for word, weight in weights.items()
    )


def _nearest_first(
    query: str, found: Sequence[Candidate], passages: dict[str, Passage]
) -> list[Candidate]:
    """Those in which a word is most like ``query``, one stem, first."""
    wanted = query.lower()

    def distance(one: Candidate) -> int:
        passage = passages[one.passage_id]
        words = set(words_of(f"{passage.context} {passage.text}"))
        near = (
            OSA.distance(wanted, word, score_cutoff=MOST_DIFFERENCES)
            for word in words
            if word[0] == wanted[:1] and abs(len(word) - len(wanted)) <= MOST_DIFFERENCES
        )
        return min(near, default=MOST_DIFFERENCES + 1)

    placed = [replace(one, score=-float(distance(one))) for one in found]
    return sorted(placed, key=lambda one: (-one.score, one.passage_id))
