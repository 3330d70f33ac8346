"""Ranking as pure functions over ranked lists: fusion, diversity, near-duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wellread.types import Candidate, ListRank

RRF_K = 60  # Cormack, Clarke, Büttcher (SIGIR 2009), "Reciprocal Rank Fusion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A candidate with its joined score (0-1 for ``weighted``) and its place in every list."""

    candidate: Candidate
    score: float
    ranks: tuple[ListRank, ...]


RankedLists = Mapping[str, Sequence[Candidate]]


def weighted(
    lists: RankedLists, weights: Mapping[str, float], lowest: Mapping[str, float] | None = None
) -> list[Fused]:
    """Weighted sum of min-max normalised scores over the union of the lists, best first.

    A candidate that a list lacks counts there as that list's lowest score.

    Args:
        lowest: of a list, the least score that could be, in place of the least one in it (Bruch,
            Gai and Ingber, ACM TOIS 2023): 0 for BM25.
    """
    floors = lowest or {}
    scaled = {name: _min_max(found, floors.get(name)) for name, found in lists.items()}

    def score(passage: str) -> float:
        return sum(
            weights.get(name, 0.0) * scores.get(passage, 0.0) for name, scores in scaled.items()
        )

    return _join(lists, score)


def reciprocal_rank(lists: RankedLists, weights: Mapping[str, float] | None = None) -> list[Fused]:
    """Reciprocal rank fusion with k = 60, best first."""
    places = {
        name: {candidate.passage_id: rank for rank, candidate in enumerate(found, 1)}
        for name, found in lists.items()
    }

    def score(passage: str) -> float:
        return sum(
            (weights or {}).get(name, 1.0) / (RRF_K + ranks[passage])
            for name, ranks in places.items()
            if passage in ranks
        )

    return _join(lists, score)


def diversify(
    scores: Sequence[float],
    alike: Callable[[int, int], float],
    *,
    limit: int,
    relevance: float,
) -> list[int]:
    """Positions in order of maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    Args:
        scores: relevance of each position, best first.
        alike: similarity (0-1) of two positions.
        relevance: lambda; 1 keeps the order of ``scores``.
    """
    left = list(range(len(scores)))
    chosen: list[int] = []
    nearest = [0.0] * len(scores)
    while left and len(chosen) < limit:
        best = max(left, key=lambda i: (relevance * scores[i] - (1 - relevance) * nearest[i], -i))
        left.remove(best)
        chosen.append(best)
        for other in left:
            nearest[other] = max(nearest[other], alike(best, other))
    return chosen


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity of two sets of words; 0 when either is empty."""
    if not one or not other:
        return 0.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _min_max(found: Sequence[Candidate], floor: float | None) -> dict[str, float]:
    if not found:
        return {}
    scores = [candidate.score for candidate in found]
    low, high = min(scores) if floor is None else floor, max(scores)
    if high == low:
        return dict.fromkeys((candidate.passage_id for candidate in found), 1.0)
    return {candidate.passage_id: (candidate.score - low) / (high - low) for candidate in found}


def _join(lists: RankedLists, score: Callable[[str], float]) -> list[Fused]:
    ranks: dict[str, list[ListRank]] = {}
    candidates: dict[str, Candidate] = {}
    for name, found in lists.items():
        for rank, candidate in enumerate(found, 1):
            candidates.setdefault(candidate.passage_id, candidate)
            ranks.setdefault(candidate.passage_id, []).append(
                ListRank(name=name, rank=rank, score=candidate.score)
            )
    fused = [
        Fused(candidate=candidate, score=score(passage), ranks=tuple(ranks[passage]))
        for passage, candidate in candidates.items()
    ]
    # The id breaks ties, so that the order does not hang on which list came first.
    return sorted(fused, key=lambda item: (-item.score, item.candidate.passage_id))
