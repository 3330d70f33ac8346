"""Puts news items into stories, one after the other as they were published.

An item joins the story whose centre it is nearest to, if it is near enough and the story is not
over; else it starts one. A near-duplicate goes where its original is, and adds nothing to the
story's centre. What an item's words are worth is settled when it comes and stored with it, so that
a collection that grows day by day ends in the same stories as one read at once, as long as the
items come in the order of their dates. An item that comes late is put where it fits then; items
that were put before it stay where they are.

Words and pairs of neighbouring words gather news of one subject better than vectors of a small
general model do (docs/decisions/008-stories.md has the figures). A feature is known by a hash of 32
bits; postings stand in sorted arrays, which take a tenth of what dicts take. Copies are
found by MinHash (Broder, 1997) over runs of words, looked up in bands.
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

from wellread.text.english_common import COMMON_WORDS, NUMBERS_AND_TIMES, STORY_STOP_WORDS
from wellread.text.words import stem

LEAST_MERGED = 20_000  # codes; fewer wait in any case
SHARE_MERGED = 16

Codes = NDArray[np.uint64]
Numbers = NDArray[np.uint32]
Weights = NDArray[np.float64]


class Postings:
    """Which numbers each code has, each with a weight, in the order in which they were added."""

    def __init__(self) -> None:
        self._codes: Codes = np.empty(0, dtype=np.uint64)
        self._numbers: Numbers = np.empty(0, dtype=np.uint32)
        self._weights: Weights = np.empty(0, dtype=np.float64)
        self._pending: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        self._waiting = 0

    def add(self, number: int, weights: Mapping[int, float]) -> None:
        """``number`` has these codes, with these weights."""
        for code, weight in weights.items():
            self._pending[code].append((number, weight))
        self._waiting += len(weights)

    @property
    def full(self) -> bool:
        """Whether so much waits that ``merge`` is due."""
        return _due(self._waiting, len(self._codes))

    def merge(self, alive: NDArray[np.bool_] | None = None) -> None:
        """Sort in what waits; numbers that are not ``alive`` are dropped."""
        waiting = [
            (code, number, weight)
            for code, having in self._pending.items()
            for number, weight in having
        ]
        self._pending.clear()
        self._waiting = 0
        codes, numbers, weights = zip(*waiting, strict=True) if waiting else ((), (), ())
        new = np.array(codes, dtype=np.uint64)
        order = np.argsort(new, kind="stable")
        places = np.searchsorted(self._codes, new[order], side="right")
        self._codes = np.insert(self._codes, places, new[order])
        self._numbers = np.insert(self._numbers, places, np.array(numbers, np.uint32)[order])
        self._weights = np.insert(self._weights, places, np.array(weights, np.float64)[order])
        if alive is not None:
            kept = alive[self._numbers]
            self._codes, self._numbers = self._codes[kept], self._numbers[kept]
            self._weights = self._weights[kept]

    def products(self, weights: Mapping[int, float], least: float) -> list[tuple[int, float]]:
        """Each number with the sum of its weights times these, where that reaches ``least``.

        ``least`` is above zero: what has none of the codes is left out.
        """
        places, lengths = self._found(list(weights))
        factors = np.fromiter(weights.values(), dtype=np.float64, count=len(weights))
        products = self._weights[places] * np.repeat(factors, lengths)
        sums = np.asarray(np.bincount(self._numbers[places], products), dtype=np.float64)
        # A number is all in the arrays or all in the dict.
        waiting: defaultdict[int, float] = defaultdict(float)
        for code, factor in weights.items():
            for number, weight in self._pending.get(code, ()):
                waiting[number] += factor * weight
        reaching = np.flatnonzero(sums >= least)
        found = list(zip(reaching.tolist(), sums[reaching].tolist(), strict=True))
        return found + [(number, total) for number, total in waiting.items() if total >= least]

    def newest(self, codes: Sequence[int], most: int) -> list[int]:
        """The numbers that were added last for each code, at most so many, ascending."""
        waiting = [self._pending.get(code, [])[-most:] for code in codes]  # newer than the others
        places, _ = self._found(codes, [most - len(numbers) for numbers in waiting])
        found = {number for numbers in waiting for number, _ in numbers}
        return sorted(found.union(self._numbers[places].tolist()))

    def _found(
        self, codes: Sequence[int], most: Sequence[int] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the codes stand in the arrays, and in how many places each."""
        wanted = np.array(codes, dtype=np.uint64)
        starts = np.searchsorted(self._codes, wanted, side="left")
        ends = np.searchsorted(self._codes, wanted, side="right")
        if most is not None:
            starts = np.maximum(starts, ends - np.array(most, dtype=np.int64))
        lengths = ends - starts
        before = np.cumsum(lengths) - lengths
        return np.repeat(starts - before, lengths) + np.arange(lengths.sum()), lengths


def _due(waiting: int, settled: int) -> bool:
    return waiting >= max(LEAST_MERGED, settled // SHARE_MERGED)


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
COUNTERS = 1 << 24  # of features; what is not used takes no memory
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
    """How many items have each feature, and from that what a feature is worth.

    Counted by some bits of a feature's code: two that share them, which is rare, count together.
    """

    def __init__(self) -> None:
        self._items = 0
        self._having: Numbers = np.zeros(COUNTERS, dtype=np.uint32)

    @property
    def youth(self) -> float:
        """1 before the first item, 0 after very many: how much is a guess what words are worth."""
        return PRIOR_ITEMS / (PRIOR_ITEMS + self._items)

    def add(self, codes: Iterable[int]) -> list[int]:
        """One more item has these features; how many have each now, in their order."""
        self._items += 1
        places = np.fromiter(codes, dtype=np.int64) % COUNTERS
        self._having[places] += 1
        having: list[int] = self._having[places].tolist()
        return having

    def weigh(self, features: Counter[str]) -> Vector:
        """The unit vector of an item, which is counted in; rounded as it will be stored.

        A feature that too many items have weighs nothing, and stays in to be counted again.
        """
        codes = [code_of(feature) for feature in features]
        everyday = _everyday_codes()
        vector: Vector = {}
        for feature, code, having in zip(features, codes, self.add(codes), strict=True):
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
    """The share of runs of words that a text has in common with others, as signatures tell."""
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


CENTRE_FEATURES = 80  # the heaviest ones of a story's centre; the rest says little
# In a young collection everything looks alike: the threshold is higher by this share of it, and
# sinks as it becomes known which words are common there.
YOUTH = 0.6
COPY = 0.7  # share of runs of words in common from which an item repeats another one
# Newest originals of a band that an item is compared with. Where more share one, it is of a form in
# which all of them are written, and without a bound the time grows with their square.
SAME_BAND = 32
LEAST_ROOM = 1_024  # signatures that room is made for at first

ItemKey = tuple[str, int]  # (document id, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedItem:
    """An item in its story; ``repeats`` is the original of a near-duplicate."""

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
    centre: int | None = None  # the number of the one that is in use
    first: datetime | None = None
    last: datetime | None = None

    def reach(self, moment: datetime | None) -> None:
        if moment is not None:
            self.first = min(self.first or moment, moment)
            self.last = max(self.last or moment, moment)

    def sum_up(self, vectors: Iterable[Vector]) -> Vector:
        """The sum with some vectors more."""
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
        threshold: least similarity (cosine of weighted words) at which an item joins a story of
            a large collection.
        window: a story without news for longer takes no more items; None: it always does.
    """

    def __init__(self, threshold: float, window: timedelta | None) -> None:
        self._threshold = threshold
        self._window = window
        self._frequencies = Frequencies()
        self._stories: list[_Story] = []  # in the order of founding, which breaks ties
        self._numbers: dict[str, int] = {}  # of stories
        # The features of centres. A story gets another centre with each item: the number of the
        # story that a centre is in use for, else -1.
        self._centres = Postings()
        self._centre_of = array("q")
        self._originals: list[tuple[ItemKey, int]] = []  # with the number of its story
        self._signatures = np.empty((0, HASHES), dtype=np.uint32)
        self._same: dict[bytes, int] = {}
        self._bands = Postings()

    def restore(self, items: Iterable[tuple[PlacedItem, datetime | None]]) -> None:
        """Take back items that were placed before, in the order of their dates."""
        packed_vectors: defaultdict[int, list[bytes]] = defaultdict(list)
        for item, moment in items:
            number = self._number(item.story)
            self._stories[number].reach(moment)
            if item.repeats is None:
                self._frequencies.add(item.vector)
                self._remember(item, number)
                packed_vectors[number].append(packed(item.vector))
        for number, vectors in packed_vectors.items():
            self._recentre(number, self._stories[number].sum_up(map(unpacked, vectors)))

    def place(
        self, key: ItemKey, title: str, text: str, moment: datetime | None, fresh: str
    ) -> PlacedItem:
        """Put one more item into a story, or into a new one with the id ``fresh``."""
        signature = signature_of(f"{title}\n{text}")
        original = self._original_of(signature, moment)
        if original is not None:
            known, number = self._originals[original]
            story = self._stories[number]
            story.reach(moment)
            return PlacedItem(
                key=key, story=story.name, vector={}, signature=signature, repeats=known
            )
        vector = self._frequencies.weigh(counts(title, text))
        nearest = self._nearest(vector, moment)
        number = self._number(fresh) if nearest is None else nearest
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

    def _open(self, story: _Story, moment: datetime | None) -> bool:
        """Whether an item of ``moment`` may join: not long after the last item or before the first.

        What has no date may join anything.
        """
        if self._window is None or moment is None or story.first is None or story.last is None:
            return True
        return story.first - self._window <= moment <= story.last + self._window

    def _nearest(self, vector: Vector, moment: datetime | None) -> int | None:
        threshold = self._threshold * (1 + YOUTH * self._frequencies.youth)
        weighty = {code: weight for code, weight in vector.items() if weight}
        near = [
            (-score, story)
            for centre, score in self._centres.products(weighty, threshold)
            if (story := self._centre_of[centre]) >= 0 and self._open(self._stories[story], moment)
        ]
        return min(near)[1] if near else None

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
        at = len(self._originals)
        if at == len(self._signatures):  # room for twice as many
            more = np.empty((max(at, LEAST_ROOM), HASHES), dtype=np.uint32)
            self._signatures = np.concatenate((self._signatures, more))
        self._signatures[at] = item.signature
        self._originals.append((item.key, number))
        self._same[_digest(item.signature)] = at
        self._bands.add(at, dict.fromkeys(bands(item.signature), 1.0))
        if self._bands.full:
            self._bands.merge()

    def _original_of(self, signature: Signature, moment: datetime | None) -> int | None:
        """The place of the item that this one repeats most, in a story that is not over."""
        same = self._same.get(_digest(signature))
        if same is not None and self._open(self._story_of(same), moment):
            return same
        near = self._bands.newest(bands(signature), SAME_BAND)
        if not near:
            return None
        shares = alike(signature, self._signatures[near])
        copies = [
            (-share, at)
            for at, share in enumerate(shares.tolist())
            if share >= COPY and self._open(self._story_of(near[at]), moment)
        ]
        return near[min(copies)[1]] if copies else None

    def _story_of(self, original: int) -> _Story:
        return self._stories[self._originals[original][1]]


def _digest(signature: Signature) -> bytes:
    return blake2b(signature.tobytes(), digest_size=16).digest()


def centre_of(total: Vector) -> Vector:
    """The unit vector of a sum of items' vectors, of its heaviest features alone."""
    weights = np.fromiter(total.values(), dtype=np.float64, count=len(total))
    least = 0.0
    if len(weights) > CENTRE_FEATURES:  # sorting a long story's thousands of features takes long
        least = float(np.partition(weights, -CENTRE_FEATURES)[-CENTRE_FEATURES])
    weighty = ((code, weight) for code, weight in total.items() if weight and weight >= least)
    heaviest = sorted(weighty, key=lambda pair: (-pair[1], pair[0]))
    return unit(dict(heaviest[:CENTRE_FEATURES]))
