"""Puts news items into stories, one after the other as they were published.

An item joins the story whose centre it is nearest to, if it is near enough and the story is not
over; else it starts one. A near-duplicate goes where its original is, and adds nothing to the
story's centre. What an item's words are worth is settled when it comes and stored with it, so that
a collection that grows day by day ends in the same stories as one read at once, as long as the
items come in the order of their dates. An item that comes late is put where it fits then; items
that were put before it stay where they are.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from wellread.ingest.joining.story_words import (
    Frequencies,
    Signature,
    Vector,
    alike,
    bands,
    counts,
    signature_of,
    unit,
)

CENTRE_FEATURES = 80  # the heaviest ones of a story's centre; the rest says little
# In a young collection everything looks alike: the threshold is higher by this share of it, and
# sinks as it becomes known which words are common there.
YOUTH = 0.6
COPY = 0.7  # share of runs of words in common from which an item repeats another one
# Newest originals of a band that an item is compared with. Where more share one, it is of a form in
# which all of them are written, and without a bound the time grows with their square.
SAME_BAND = 32

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
    number: int  # in the order of founding, which breaks ties
    total: Vector = field(default_factory=dict)
    centre: Vector = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None

    def reach(self, moment: datetime | None) -> None:
        if moment is not None:
            self.first = min(self.first or moment, moment)
            self.last = max(self.last or moment, moment)


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
        self._stories: dict[str, _Story] = {}
        self._having: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self._originals: dict[ItemKey, tuple[str, Signature]] = {}
        self._same: dict[bytes, ItemKey] = {}
        self._bands: defaultdict[tuple[int, bytes], deque[ItemKey]] = defaultdict(
            lambda: deque(maxlen=SAME_BAND)
        )

    def restore(self, items: Iterable[tuple[PlacedItem, datetime | None]]) -> None:
        """Take back items that were placed before, in the order of their dates."""
        for item, moment in items:
            story = self._story(item.story)
            story.reach(moment)
            if item.repeats is None:
                self._frequencies.add(list(item.vector))
                self._remember(item)
                for code, weight in item.vector.items():
                    story.total[code] = story.total.get(code, 0.0) + weight
        for name, story in self._stories.items():
            self._recentre(name, story)

    def place(
        self, key: ItemKey, title: str, text: str, moment: datetime | None, fresh: str
    ) -> PlacedItem:
        """Put one more item into a story, or into a new one with the id ``fresh``."""
        signature = signature_of(f"{title}\n{text}")
        original = self._original_of(signature, moment)
        if original is not None:
            name = self._originals[original][0]
            self._stories[name].reach(moment)
            return PlacedItem(key=key, story=name, vector={}, signature=signature, repeats=original)
        vector = self._frequencies.weigh(counts(title, text))
        name = self._nearest(vector, moment) or fresh
        item = PlacedItem(key=key, story=name, vector=vector, signature=signature)
        story = self._story(name)
        story.reach(moment)
        for code, weight in vector.items():
            story.total[code] = story.total.get(code, 0.0) + weight
        self._recentre(name, story)
        self._remember(item)
        return item

    def _story(self, name: str) -> _Story:
        found = self._stories.get(name)
        if found is None:
            found = self._stories[name] = _Story(number=len(self._stories))
        return found

    def _open(self, story: _Story, moment: datetime | None) -> bool:
        """Whether an item of ``moment`` may join: not long after the last item or before the first.

        What has no date may join anything.
        """
        if self._window is None or moment is None or story.first is None or story.last is None:
            return True
        return story.first - self._window <= moment <= story.last + self._window

    def _nearest(self, vector: Vector, moment: datetime | None) -> str | None:
        scores: defaultdict[str, float] = defaultdict(float)
        for code, weight in vector.items():
            for name, central in self._having.get(code, {}).items():
                scores[name] += weight * central
        threshold = self._threshold * (1 + YOUTH * self._frequencies.youth)
        near = [
            (-score, self._stories[name].number, name)
            for name, score in scores.items()
            if score >= threshold and self._open(self._stories[name], moment)
        ]
        return min(near)[2] if near else None

    def _recentre(self, name: str, story: _Story) -> None:
        for code in story.centre:
            del self._having[code][name]
        story.centre = centre_of(story.total)
        for code, weight in story.centre.items():
            self._having[code][name] = weight

    def _remember(self, item: PlacedItem) -> None:
        self._originals[item.key] = (item.story, item.signature)
        self._same[item.signature.tobytes()] = item.key
        for band in bands(item.signature):
            self._bands[band].append(item.key)

    def _original_of(self, signature: Signature, moment: datetime | None) -> ItemKey | None:
        """The item that this one repeats most, in a story that is not over."""
        same = self._same.get(signature.tobytes())
        if same is not None and self._open(self._story_of(same), moment):
            return same
        near = list(dict.fromkeys(key for band in bands(signature) for key in self._bands[band]))
        if not near:
            return None
        shares = alike(signature, np.stack([self._originals[key][1] for key in near]))
        copies = [
            (-share, at)
            for at, share in enumerate(shares.tolist())
            if share >= COPY and self._open(self._story_of(near[at]), moment)
        ]
        return near[min(copies)[1]] if copies else None

    def _story_of(self, key: ItemKey) -> _Story:
        return self._stories[self._originals[key][0]]


def centre_of(total: Vector) -> Vector:
    """The unit vector of a sum of items' vectors, of its heaviest features alone."""
    weights = np.fromiter(total.values(), dtype=np.float64, count=len(total))
    least = 0.0
    if len(weights) > CENTRE_FEATURES:  # sorting a long story's thousands of features takes long
        least = float(np.partition(weights, -CENTRE_FEATURES)[-CENTRE_FEATURES])
    weighty = ((code, weight) for code, weight in total.items() if weight and weight >= least)
    heaviest = sorted(weighty, key=lambda pair: (-pair[1], pair[0]))
    return unit(dict(heaviest[:CENTRE_FEATURES]))
