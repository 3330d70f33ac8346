"""Clusters news items into stories, one item after the other in the order of publication.

An item joins the story with the nearest centre, if it is near enough and the story is still open;
otherwise it starts a new story. A near-duplicate joins the story of its original and does not
change the story's centre. The weights of an item's words are fixed when it arrives and stored with
it, so a collection that grows day by day gets the same stories as one read at once, as long as the
items arrive in the order of their dates. A late item joins the best story at that time; items
placed earlier do not move.

Words and word pairs group news of one subject better than vectors of a small general model do
(docs/decisions/008-stories.md has the figures). A feature is identified by a 32-bit hash; postings
are sorted arrays, which take a tenth of the memory of dicts. Copies are found by MinHash (Broder,
1997) over word n-grams, with locality-sensitive hashing in bands.
"""

from __future__ import annotations

import math
import re
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wellread.store.catalogue.documents.story_records import ItemKey
from wellread.text.english import COMMON_WORDS, NUMBERS_AND_TIMES, STORY_STOP_WORDS
from wellread.text.parsed import stem

MIN_MERGED = 20_000  # pending codes below which no merge is due
SHARE_MERGED = 16

Codes = NDArray[np.uint64]
Numbers = NDArray[np.uint32]
Weights = NDArray[np.float64]


class Postings:
    """An inverted index: for each code the numbers that have it, with weights, oldest first."""

    def __init__(self) -> None:
        self._codes: Codes = np.empty(0, dtype=np.uint64)
        self._numbers: Numbers = np.empty(0, dtype=np.uint32)
        self._weights: Weights = np.empty(0, dtype=np.float64)
        self._pending: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        self._waiting = 0

    def add(self, number: int, weights: Mapping[int, float]) -> None:
        """Add ``number`` under each of the codes, with the code's weight."""
        for code, weight in weights.items():
            self._pending[code].append((number, weight))
        self._waiting += len(weights)

    @property
    def full(self) -> bool:
        """Whether so many entries are pending that ``merge`` is due."""
        return self._waiting >= max(MIN_MERGED, len(self._codes) // SHARE_MERGED)

    def merge(self, alive: NDArray[np.bool_] | None = None) -> None:
        """Sort pending entries into the arrays and drop numbers that are not ``alive``."""
        pending = [
            (code, number, weight)
            for code, entries in self._pending.items()
            for number, weight in entries
        ]
        self._pending.clear()
        self._waiting = 0
        codes, numbers, weights = zip(*pending, strict=True) if pending else ((), (), ())
        new = np.array(codes, dtype=np.uint64)
        order = np.argsort(new, kind="stable")
        places = np.searchsorted(self._codes, new[order], side="right")
        self._codes = np.insert(self._codes, places, new[order])
        self._numbers = np.insert(self._numbers, places, np.array(numbers, np.uint32)[order])
        self._weights = np.insert(self._weights, places, np.array(weights, np.float64)[order])
        if alive is not None:
            mask = alive[self._numbers]
            self._codes, self._numbers = self._codes[mask], self._numbers[mask]
            self._weights = self._weights[mask]

    def products(self, weights: Mapping[int, float], minimum: float) -> list[tuple[int, float]]:
        """Return the numbers whose dot product with ``weights`` reaches ``minimum``, with it.

        ``minimum`` is above zero, so numbers that have none of the codes are left out.
        """
        places, lengths = self._positions(list(weights))
        factors = np.fromiter(weights.values(), dtype=np.float64, count=len(weights))
        products = self._weights[places] * np.repeat(factors, lengths)
        sums = np.asarray(np.bincount(self._numbers[places], products), dtype=np.float64)
        # All entries of a number are in the arrays, or all are in the dict.
        pending: defaultdict[int, float] = defaultdict(float)
        for code, factor in weights.items():
            for number, weight in self._pending.get(code, ()):
                pending[number] += factor * weight
        reaching = np.flatnonzero(sums >= minimum)
        results = list(zip(reaching.tolist(), sums[reaching].tolist(), strict=True))
        return results + [(number, total) for number, total in pending.items() if total >= minimum]

    def newest(self, codes: Sequence[int], limit: int) -> list[int]:
        """Return the newest numbers of each code, at most ``limit``, merged and ascending."""
        pending = [self._pending.get(code, [])[-limit:] for code in codes]
        places, _ = self._positions(codes, [limit - len(numbers) for numbers in pending])
        newest_numbers = {number for numbers in pending for number, _ in numbers}
        return sorted(newest_numbers.union(self._numbers[places].tolist()))

    def _positions(
        self, codes: Sequence[int], limits: Sequence[int] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of the codes in the arrays, and the number of positions of each."""
        sought = np.array(codes, dtype=np.uint64)
        starts = np.searchsorted(self._codes, sought, side="left")
        ends = np.searchsorted(self._codes, sought, side="right")
        if limits is not None:
            starts = np.maximum(starts, ends - np.array(limits, dtype=np.int64))
        lengths = ends - starts
        before = np.cumsum(lengths) - lengths
        return np.repeat(starts - before, lengths) + np.arange(lengths.sum()), lengths


SCHEME = "words-pairs/1"  # change it when the rules change: all stories are rebuilt then
LEAD_CHARACTERS = 1_000  # characters read at the start of an item, where its subject is stated
PAIR_WEIGHT = 0.7
RARITY = 1.5  # power of the inverse document frequency
# Prior: assumed number of earlier items, and how many of them contain an everyday word.
PRIOR_ITEMS = 100
PRIOR_HAVING = 10
UNSEEN_WEIGHT = 0.5  # factor for a feature that no earlier item had
COMMON_SHARE = 0.2  # a feature in more than this share of the items weighs nothing …
COMMON_FROM = 50  # … once there are this many items
COUNTERS = 1 << 24  # counters of features; unused ones take no memory
RUN_WORDS = 4
HASHES = 64
BANDS = 16

Vector = dict[int, float]
Signature = NDArray[np.uint32]

_WORD = re.compile(r"[^\W_]+(?:[_'’][^\W_]+)*")
_SEED = 20_240_501


def feature_counts(title: str, text: str) -> Counter[str]:
    """Count word stems of title and lead, and pairs of neighbouring stems of the lead."""
    stems = [word for word, _ in content_words(text[:LEAD_CHARACTERS])]
    frequencies = Counter(stems)
    frequencies.update(f"{word} {following}" for word, following in pairwise(stems))
    frequencies.update(word for word, _ in content_words(title))
    return frequencies


def content_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield stem and written form of each word that is not a stop word or a number, in order."""
    for word in _WORD.findall(text):
        plain = word.lower().replace("’", "'").removesuffix("'s")
        if len(plain) > 1 and plain not in STORY_STOP_WORDS and not plain.isdigit():
            yield stem(plain), word


def code_of(feature: str) -> int:
    """Return the 32-bit hash that identifies a feature."""
    return zlib.crc32(feature.encode("utf-8", "replace"))


class Frequencies:
    """Document frequencies of features, from which their weights are computed.

    Counters are indexed by some bits of the code; features that collide, which is rare, share one.
    """

    def __init__(self) -> None:
        self._items = 0
        self._having: Numbers = np.zeros(COUNTERS, dtype=np.uint32)

    @property
    def prior_weight(self) -> float:
        """Weight of the prior: 1 before the first item, falling towards 0 as items arrive."""
        return PRIOR_ITEMS / (PRIOR_ITEMS + self._items)

    def add(self, codes: Iterable[int]) -> list[int]:
        """Count an item with these features; return the new counts of the features, in order."""
        self._items += 1
        places = np.fromiter(codes, dtype=np.int64) % COUNTERS
        self._having[places] += 1
        item_counts: list[int] = self._having[places].tolist()
        return item_counts

    def weigh(self, features: Counter[str]) -> Vector:
        """Count an item and return its unit vector, rounded to the precision it is stored with.

        A too common feature stays in with weight 0, so that ``restore`` counts it again.
        """
        codes = [code_of(feature) for feature in features]
        everyday = _everyday_codes()
        vector: Vector = {}
        for feature, code, item_count in zip(features, codes, self.add(codes), strict=True):
            if self._items >= COMMON_FROM and item_count > COMMON_SHARE * self._items:
                vector[code] = 0.0
                continue
            weight = 1 + math.log(features[feature])
            prior = PRIOR_HAVING if code in everyday else 0
            weight *= math.log((self._items + PRIOR_ITEMS) / (item_count + prior)) ** RARITY
            weight *= PAIR_WEIGHT if " " in feature else 1.0
            vector[code] = weight * (UNSEEN_WEIGHT if item_count == 1 else 1.0)
        return unpack_vector(pack_vector(unit_vector(vector)))


def unit_vector(vector: Vector) -> Vector:
    """Normalise ``vector`` to length 1; an empty one stays empty."""
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {code: weight / length for code, weight in vector.items()} if length else {}


def pack_vector(vector: Vector) -> bytes:
    """Encode a vector: first all codes (four bytes each), then all weights (half precision)."""
    codes = np.fromiter(vector, dtype="<u4", count=len(vector))
    weights = np.fromiter(vector.values(), dtype="<f2", count=len(vector))
    return codes.tobytes() + weights.tobytes()


def unpack_vector(data: bytes) -> Vector:
    """Decode a vector that ``pack_vector`` encoded."""
    count = len(data) // 6
    codes = np.frombuffer(data, dtype="<u4", count=count)
    weights = np.frombuffer(data, dtype="<f2", count=count, offset=4 * count)
    return dict(zip(codes.tolist(), weights.tolist(), strict=True))


def pack_signature(signature: Signature) -> bytes:
    """Encode a signature, four bytes per hash."""
    return signature.astype("<u4").tobytes()


def unpack_signature(data: bytes) -> Signature:
    """Decode a signature that ``pack_signature`` encoded."""
    return np.frombuffer(data, dtype="<u4").astype(np.uint32)


def signature_of(text: str) -> Signature:
    """Return the MinHash signature of the word runs in ``text`` (a short text is one run)."""
    words = [word.lower() for word in _WORD.findall(text)]
    word_runs = {
        " ".join(words[start : start + RUN_WORDS])
        for start in range(max(1, len(words) - RUN_WORDS + 1))
    }
    codes = np.fromiter((code_of(run) for run in word_runs), dtype=np.uint64, count=len(word_runs))
    multipliers, offsets = _permutations()
    # Multiply-add hashing modulo 2^64; the upper half is well mixed (Dietzfelbinger).
    mixed = (codes[None, :] * multipliers[:, None] + offsets[:, None]) >> np.uint64(32)
    smallest: Signature = mixed.min(axis=1).astype(np.uint32)
    return smallest


def similarities(signature: Signature, others: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Estimate the share of word runs that a text has in common with each of the others."""
    shares: NDArray[np.float64] = (others == signature).mean(axis=1)
    return shares


def bands(signature: Signature) -> list[int]:
    """Return LSH codes; texts with a similarity above 0.7 nearly always share one of them."""
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


CENTRE_FEATURES = 80  # features kept in a story's centre, the heaviest ones
# In a new collection all items look similar: the threshold starts higher by this share and falls
# as the frequencies of words become known.
NEW_COLLECTION_SHARE = 0.6
MIN_COPY_SHARE = 0.7  # share of common word runs that makes an item a copy of another
# Newest originals of a band that an item is compared with. A band shared by more of them comes from
# a fixed text form, and without a limit the time would grow with the square of their number.
MAX_BAND_CANDIDATES = 32
MIN_SIGNATURES = 1_024  # signatures that memory is first allocated for


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedItem:
    """A news item with its story; ``repeats`` is the original of a near-duplicate."""

    key: ItemKey
    story: str
    vector: Vector
    signature: Signature
    repeats: ItemKey | None = None


@dataclass(slots=True)
class _Story:
    """A story in memory; ``codes`` and ``weights`` are the sum of its items' vectors."""

    name: str
    codes: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0, dtype=np.float64))
    centre: int | None = None  # the number of the current centre
    first: datetime | None = None
    last: datetime | None = None

    def reach(self, moment: datetime | None) -> None:
        if moment is not None:
            self.first = min(self.first or moment, moment)
            self.last = max(self.last or moment, moment)

    def sum_up(self, vectors: Iterable[Vector]) -> Vector:
        """Add ``vectors`` to the story's sum and return the new sum."""
        total = dict(zip(self.codes.tolist(), self.weights.tolist(), strict=True))
        for vector in vectors:
            for code, weight in vector.items():
                total[code] = total.get(code, 0.0) + weight
        self.codes = np.fromiter(total, dtype=np.uint32, count=len(total))
        self.weights = np.fromiter(total.values(), dtype=np.float64, count=len(total))
        return total


class Clusters:
    """The stories of one collection in memory.

    Args:
        threshold: least cosine similarity at which an item joins a story in a large collection.
        window: a story without news for longer than this is closed; None: stories stay open.
    """

    def __init__(self, threshold: float, window: timedelta | None) -> None:
        self._threshold = threshold
        self._window = window
        self._frequencies = Frequencies()
        self._stories: list[_Story] = []  # oldest first; the order breaks ties
        self._numbers: dict[str, int] = {}  # story id to story number
        # Features of the centres. A story gets a new centre with each item; ``_centre_of`` maps a
        # centre to the number of its story, or to -1 if it has been replaced.
        self._centres = Postings()
        self._centre_of = array("q")
        self._originals: list[tuple[ItemKey, int]] = []  # item and story number
        self._signatures = np.empty((0, HASHES), dtype=np.uint32)
        self._by_digest: dict[bytes, int] = {}
        self._bands = Postings()

    def restore(self, items: Iterable[tuple[PlacedItem, datetime | None]]) -> None:
        """Load items that were placed in earlier runs, in the order of their dates."""
        packed_vectors: defaultdict[int, list[bytes]] = defaultdict(list)
        for item, moment in items:
            number = self._number(item.story)
            self._stories[number].reach(moment)
            if item.repeats is None:
                self._frequencies.add(item.vector)
                self._remember(item, number)
                packed_vectors[number].append(pack_vector(item.vector))
        for number, vectors in packed_vectors.items():
            self._recentre(number, self._stories[number].sum_up(map(unpack_vector, vectors)))

    def place(
        self, key: ItemKey, title: str, text: str, moment: datetime | None, new_story_id: str
    ) -> PlacedItem:
        """Add an item to the best story, or to a new one with the id ``new_story_id``."""
        signature = signature_of(f"{title}\n{text}")
        original = self._original_of(signature, moment)
        if original is not None:
            original_key, number = self._originals[original]
            story = self._stories[number]
            story.reach(moment)
            return PlacedItem(
                key=key, story=story.name, vector={}, signature=signature, repeats=original_key
            )
        vector = self._frequencies.weigh(feature_counts(title, text))
        nearest = self._nearest(vector, moment)
        number = self._number(new_story_id) if nearest is None else nearest
        story = self._stories[number]
        item = PlacedItem(key=key, story=story.name, vector=vector, signature=signature)
        story.reach(moment)
        self._recentre(number, story.sum_up([vector]))
        self._remember(item, number)
        return item

    def _number(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self._stories))
        if number == len(self._stories):
            self._stories.append(_Story(name))
        return number

    def _is_open(self, story: _Story, moment: datetime | None) -> bool:
        """Whether ``moment`` is in the story's window; items without a date may join any story."""
        if self._window is None or moment is None or story.first is None or story.last is None:
            return True
        return story.first - self._window <= moment <= story.last + self._window

    def _nearest(self, vector: Vector, moment: datetime | None) -> int | None:
        threshold = self._threshold * (1 + NEW_COLLECTION_SHARE * self._frequencies.prior_weight)
        weighty = {code: weight for code, weight in vector.items() if weight}
        candidates = [
            (-score, story)
            for centre, score in self._centres.products(weighty, threshold)
            if (story := self._centre_of[centre]) >= 0
            and self._is_open(self._stories[story], moment)
        ]
        return min(candidates)[1] if candidates else None

    def _recentre(self, number: int, total: Vector) -> None:
        story = self._stories[number]
        if story.centre is not None:
            self._centre_of[story.centre] = -1
        story.centre = len(self._centre_of)
        self._centre_of.append(number)
        self._centres.add(story.centre, centre_of(total))
        if self._centres.full:
            self._centres.merge(np.array(self._centre_of) >= 0)

    def _remember(self, item: PlacedItem, number: int) -> None:
        position = len(self._originals)
        if position == len(self._signatures):  # room for twice as many
            free_rows = np.empty((max(position, MIN_SIGNATURES), HASHES), dtype=np.uint32)
            self._signatures = np.concatenate((self._signatures, free_rows))
        self._signatures[position] = item.signature
        self._originals.append((item.key, number))
        self._by_digest[_digest(item.signature)] = position
        self._bands.add(position, dict.fromkeys(bands(item.signature), 1.0))
        if self._bands.full:
            self._bands.merge()

    def _original_of(self, signature: Signature, moment: datetime | None) -> int | None:
        """Return the position of the most similar original in an open story, if it is a copy."""
        position = self._by_digest.get(_digest(signature))
        if position is not None and self._is_open(self._story_of(position), moment):
            return position
        candidates = self._bands.newest(bands(signature), MAX_BAND_CANDIDATES)
        if not candidates:
            return None
        shares = similarities(signature, self._signatures[candidates])
        copies = [
            (-share, index)
            for index, share in enumerate(shares.tolist())
            if share >= MIN_COPY_SHARE and self._is_open(self._story_of(candidates[index]), moment)
        ]
        return candidates[min(copies)[1]] if copies else None

    def _story_of(self, original: int) -> _Story:
        return self._stories[self._originals[original][1]]


def _digest(signature: Signature) -> bytes:
    return blake2b(signature.tobytes(), digest_size=16).digest()


def centre_of(total: Vector) -> Vector:
    """Return the unit vector of the heaviest features in a sum of item vectors."""
    weights = np.fromiter(total.values(), dtype=np.float64, count=len(total))
    minimum = 0.0
    if len(weights) > CENTRE_FEATURES:  # sorting thousands of features would be slow
        minimum = float(np.partition(weights, -CENTRE_FEATURES)[-CENTRE_FEATURES])
    heavy = ((code, weight) for code, weight in total.items() if weight and weight >= minimum)
    heaviest = sorted(heavy, key=lambda pair: (-pair[1], pair[0]))
    return unit_vector(dict(heaviest[:CENTRE_FEATURES]))
