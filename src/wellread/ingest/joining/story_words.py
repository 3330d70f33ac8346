"""What a news item is about, as weighted words; and what tells a copy of it from another text.

Words and pairs of neighbouring words gather news of one subject better than vectors of a small
general model do (docs/decisions/008-stories.md has the figures). A feature is known by a hash of
32 bits, so that an item's vector is stored in about a kilobyte. Copies are found by MinHash
(Broder, 1997) over runs of words, looked up in bands (Leskovec, Rajaraman, Ullman, "Mining of
Massive Datasets", 3.4).
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wellread.ingest.joining.sorted_postings import Tally
from wellread.text.english_common import COMMON_WORDS, NUMBERS_AND_TIMES, STORY_STOP_WORDS
from wellread.text.words import stem

SCHEME = "words-pairs/1"  # another name: stories that were made by other rules are made anew
LEAD_CHARACTERS = 1_000  # of an item: what it is about is said first
PAIR_WEIGHT = 0.7
RARITY = 1.5  # power of the inverse document frequency
# Items that are taken to be there before the first one, and how many of them have an everyday word.
PRIOR_ITEMS = 100
PRIOR_HAVING = 10
UNSEEN_WEIGHT = 0.5  # of a feature that no item before had
COMMON_SHARE = 0.2  # of the items: what more of them have says nothing
COMMON_FROM = 50  # items from which on that is judged
RUN_WORDS = 4
HASHES = 64
BANDS = 16

Vector = dict[int, float]
Signature = NDArray[np.uint32]

_WORD = re.compile(r"[^\W_]+(?:[_'’][^\W_]+)*")
_SEED = 20_240_501


def counts(title: str, text: str) -> Counter[str]:
    """How often each word stem and each pair of neighbouring ones is in title and lead."""
    stems = [one for one, _ in spoken(text[:LEAD_CHARACTERS])]
    found = Counter(stems)
    found.update(f"{one} {other}" for one, other in pairwise(stems))
    found.update(one for one, _ in spoken(title))
    return found


def spoken(text: str) -> Iterator[tuple[str, str]]:
    """Stem and written form of each word that says something, in order."""
    for word in _WORD.findall(text):
        plain = word.lower().replace("’", "'").removesuffix("'s")
        if len(plain) > 1 and plain not in STORY_STOP_WORDS and not plain.isdigit():
            yield stem(plain), word


def code_of(feature: str) -> int:
    """The hash by which a feature is known."""
    return zlib.crc32(feature.encode("utf-8", "replace"))


class Frequencies:
    """How many items have each feature, and from that what a feature is worth."""

    def __init__(self) -> None:
        self._items = 0
        self._having = Tally()

    @property
    def youth(self) -> float:
        """1 before the first item, 0 after very many: how much is a guess what words are worth."""
        return PRIOR_ITEMS / (PRIOR_ITEMS + self._items)

    def add(self, codes: Iterable[int]) -> None:
        """One more item has these features."""
        self._items += 1
        self._having.add(codes)

    def weigh(self, features: Counter[str]) -> Vector:
        """The unit vector of an item, which is counted in; rounded as it will be stored.

        A feature that too many items have weighs nothing, and stays in to be counted again.
        """
        codes = [code_of(feature) for feature in features]
        self.add(codes)
        everyday = _everyday_codes()
        vector: Vector = {}
        for feature, code, having in zip(features, codes, self._having.of(codes), strict=True):
            if self._items >= COMMON_FROM and having > COMMON_SHARE * self._items:
                vector[code] = 0.0
                continue
            weight = 1 + math.log(features[feature])
            prior = PRIOR_HAVING if code in everyday else 0
            weight *= math.log((self._items + PRIOR_ITEMS) / (having + prior)) ** RARITY
            weight *= PAIR_WEIGHT if " " in feature else 1.0
            vector[code] = weight * (UNSEEN_WEIGHT if having == 1 else 1.0)
        return unpacked(packed(unit(vector)))


def unit(vector: Vector) -> Vector:
    """``vector`` with the length 1; an empty one stays empty."""
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {code: weight / length for code, weight in vector.items()} if length else {}


def packed(vector: Vector) -> bytes:
    """Six bytes for each feature: its code, then its weight as a half-precision number."""
    codes = np.fromiter(vector, dtype="<u4", count=len(vector))
    weights = np.fromiter(vector.values(), dtype="<f2", count=len(vector))
    return codes.tobytes() + weights.tobytes()


def unpacked(data: bytes) -> Vector:
    """The vector that ``packed`` made the bytes of."""
    count = len(data) // 6
    codes = np.frombuffer(data, dtype="<u4", count=count)
    weights = np.frombuffer(data, dtype="<f2", count=count, offset=4 * count)
    return dict(zip(codes.tolist(), weights.tolist(), strict=True))


def packed_signature(signature: Signature) -> bytes:
    """Four bytes for each hash."""
    return signature.astype("<u4").tobytes()


def unpacked_signature(data: bytes) -> Signature:
    """The signature that ``packed_signature`` made the bytes of."""
    return np.frombuffer(data, dtype="<u4").astype(np.uint32)


def signature_of(text: str) -> Signature:
    """MinHash of the runs of words in ``text``; of fewer words than a run, of them all."""
    words = [word.lower() for word in _WORD.findall(text)]
    runs = {
        " ".join(words[start : start + RUN_WORDS])
        for start in range(max(1, len(words) - RUN_WORDS + 1))
    }
    codes = np.fromiter((code_of(run) for run in runs), dtype=np.uint64, count=len(runs))
    multipliers, offsets = _permutations()
    # Modulo 2^64, as unsigned numbers are anyway; the upper half is well mixed (Dietzfelbinger).
    mixed = (codes[None, :] * multipliers[:, None] + offsets[:, None]) >> np.uint64(32)
    smallest: Signature = mixed.min(axis=1).astype(np.uint32)
    return smallest


def alike(one: Signature, others: NDArray[np.uint32]) -> NDArray[np.float64]:
    """The share of runs of words that a text has in common with others, as signatures tell.

    Args:
        others: their signatures, one a row; shape (texts, ``HASHES``).
    """
    shares: NDArray[np.float64] = (others == one).mean(axis=1)
    return shares


def bands(signature: Signature) -> list[int]:
    """Codes of which two texts share one, nearly always when they are alike by more than 0.7."""
    rows = signature.reshape(BANDS, HASHES // BANDS).astype(np.uint64)
    multipliers, offsets = _permutations()
    rows = rows * multipliers[: rows.shape[1]] + offsets[:BANDS, None]
    mixed: list[int] = np.bitwise_xor.reduce(rows ^ (rows >> np.uint64(32)), axis=1).tolist()
    return mixed


@lru_cache(maxsize=1)
def _everyday_codes() -> frozenset[int]:
    return frozenset(code_of(stem(word)) for word in COMMON_WORDS | NUMBERS_AND_TIMES)


@lru_cache(maxsize=1)
def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    generator = np.random.Generator(np.random.PCG64(_SEED))
    multipliers = generator.integers(0, 1 << 63, HASHES, dtype=np.uint64) * np.uint64(2)
    return multipliers + np.uint64(1), generator.integers(0, 1 << 63, HASHES, dtype=np.uint64)
