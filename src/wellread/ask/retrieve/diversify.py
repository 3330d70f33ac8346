"""Chooses among hits: near-duplicates go, and what is left varies."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.retrieve import fuse
from wellread.ask.retrieve.retrieval import Dropped
from wellread.text.parsed import parse
from wellread.types import Hit

NEAR_DUPLICATE = 0.85  # share of words in common from which a passage adds nothing


def varied(hits: Sequence[Hit], limit: int, relevance: float) -> tuple[list[Hit], list[Dropped]]:
    """The ``limit`` hits to use, in order of maximal marginal relevance, and those left out.

    Args:
        relevance: 1 keeps the order of ``hits``, whatever their scores; less makes them differ
            more.
    """
    bags = [parse(hit.passage.text).stem_set for hit in hits]
    kept: list[int] = []
    dropped: list[Dropped] = []
    for place, bag in enumerate(bags):
        twin = next(
            (other for other in kept if fuse.overlap(bag, bags[other]) >= NEAR_DUPLICATE), None
        )
        if twin is None:
            kept.append(place)
        else:
            why = f"nearly the same text as a passage of “{hits[twin].document.title}”"
            dropped.append(Dropped(hit=hits[place], why=why))
    order: Sequence[int] = range(min(limit, len(kept)))
    if relevance < 1:
        order = fuse.diversify(
            [hits[place].score for place in kept],
            lambda one, other: fuse.overlap(bags[kept[one]], bags[kept[other]]),
            limit=limit,
            relevance=relevance,
        )
    chosen = [kept[place] for place in order]
    left = [place for place in kept if place not in set(chosen)]
    dropped += [Dropped(hit=hits[place], why=f"not among the best {limit}") for place in left]
    return [hits[place] for place in chosen], dropped


def merged(lists: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """The hits of several searches in turns, best of each first, none twice."""
    chosen: dict[str, Hit] = {}
    for depth in range(max((len(hits) for hits in lists), default=0)):
        for hits in lists:
            if depth < len(hits):
                chosen.setdefault(hits[depth].passage.id, hits[depth])
    return list(chosen.values())[:limit]
