"""How well groups of items gather topics, when an item may have several topics.

Two items belong together when they share a topic. Purity and inverse purity (Zhao and Karypis,
2001) look at the largest share, pairwise precision and recall at all pairs, B-cubed (Bagga and
Baldwin, 1998) at every item's own group.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Groups = Sequence[Hashable]
Topics = Mapping[int, frozenset[str]]  # item to its topics; items without one are not judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """The figures of one grouping, and how many groups hold judged items."""

    purity: float
    inverse_purity: float
    precision: float
    recall: float
    f1: float
    bcubed_precision: float
    bcubed_recall: float
    bcubed_f1: float
    groups: int


def judge(groups: Groups, topics: Topics) -> Gathering:
    """The figures of ``groups`` (one for each item) over the items that have topics."""
    items = sorted(topics)
    same_group = _equal([groups[item] for item in items])
    same_topic = _sharing([topics[item] for item in items])
    both = same_group & same_topic
    alone = len(items)  # an item is always with itself, which is no pair
    pairs = (both.sum() - alone) / max(1, same_group.sum() - alone)
    found = (both.sum() - alone) / max(1, same_topic.sum() - alone)
    own = (both.sum(axis=1) / same_group.sum(axis=1)).mean()
    reached = (both.sum(axis=1) / same_topic.sum(axis=1)).mean()
    by_group: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
    by_topic: defaultdict[str, Counter[Hashable]] = defaultdict(Counter)
    for item in items:
        by_group[groups[item]].update(topics[item])
        for topic in topics[item]:
            by_topic[topic][groups[item]] += 1
    labelled = sum(count.total() for count in by_topic.values())
    return Gathering(
        purity=sum(max(count.values()) for count in by_group.values()) / len(items),
        inverse_purity=sum(max(count.values()) for count in by_topic.values()) / labelled,
        precision=float(pairs),
        recall=float(found),
        f1=harmonic(float(pairs), float(found)),
        bcubed_precision=float(own),
        bcubed_recall=float(reached),
        bcubed_f1=harmonic(float(own), float(reached)),
        groups=len(by_group),
    )


def harmonic(one: float, other: float) -> float:
    """The harmonic mean; 0 when both are."""
    return 2 * one * other / (one + other) if one + other else 0.0


def _equal(groups: Groups) -> NDArray[np.bool_]:
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
    same: NDArray[np.bool_] = codes[:, None] == codes[None, :]
    return same


def _sharing(topics: Sequence[frozenset[str]]) -> NDArray[np.bool_]:
    names = {name: place for place, name in enumerate(sorted(set().union(*topics)))}
    table = np.zeros((len(topics), len(names)), dtype=np.float32)
    for row, several in zip(table, topics, strict=True):
        row[[names[name] for name in several]] = 1
    shared: NDArray[np.bool_] = table @ table.T > 0
    return shared
