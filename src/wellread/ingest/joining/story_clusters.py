"""Puts news items into stories, one after the other as they were published.

An item joins the story whose centre it is nearest to, if it is near enough and the story is not
over; else it starts one. A near-duplicate goes where its original is, and adds nothing to the
story's centre. What an item's words are worth is settled when it comes and stored with it, so that
a collection that grows day by day ends in the same stories as one read at once, as long as the
items come in the order of their dates. An item that comes late is put where it fits then; items
that were put before it stay where they are.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from wellread.ingest.joining.sorted_postings import Postings
from wellread.ingest.joining.story_words import (
    HASHES,
    Frequencies,
    Signature,
    Vector,
    alike,
    bands,
    counts,
    packed,
    signature_of,
    unit,
    unpacked,
)

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
    """An item in its story.

    Attributes:
        story: its id; that of a new story is the one that was offered.
        repeats: the original of which it is a near-duplicate.
    """

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
