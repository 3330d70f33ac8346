"""Fuses ranked lists of hits, removes near-duplicates, reranks, and packs hits into evidence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ModelError
from wellread.kb import KnowledgeBase
from wellread.models.base import Excerpt, Ranking
from wellread.models.word_pieces import count_tokens
from wellread.store.catalogue.documents.relation_network import Path
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Candidate, Filters, Hit, ListRank, Span
from wellread.values.answers import Evidence
from wellread.values.locators import Marks
from wellread.values.question import Constraint

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The evidence found for a question, and how it was found.

    Attributes:
        strategy: how the evidence was found; ``paths``: the graph paths that explain it.
        relaxed: the question's limits that were left out, since nothing was found within them.
        failures: failed steps that were skipped, as text; ``notes``: other notes for readers.
        clusters: the number of stories that the evidence comes from.
        filters: the limits of the search.
    """

    strategy: str = ""
    hits: tuple[Hit, ...] = ()
    paths: tuple[Path, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: int = 0
    filters: Filters = field(default_factory=Filters)


NEAR_DUPLICATE = 0.85  # share of common words; a passage that reaches it adds nothing
MIN_SCORE_SHARE = 0.3  # of the best score; a passage below it is not shown to a model
MIN_SHOWN = 3  # best passages that are always shown; scaling gives the last of a few a score of 0
RRF_K = 60  # Cormack, Clarke, Büttcher (SIGIR 2009), "Reciprocal Rank Fusion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A candidate with its fused score (0-1 for ``weighted``) and its rank in every list."""

    candidate: Candidate
    score: float
    ranks: tuple[ListRank, ...]


RankedLists = Mapping[str, Sequence[Candidate]]


def weighted(
    lists: RankedLists, weights: Mapping[str, float], lowest: Mapping[str, float] | None = None
) -> list[Fused]:
    """Weighted sum of min-max normalised scores over the union of the lists, best first.

    A candidate that is missing in a list counts as having its lowest score.

    Args:
        lowest: the lowest possible score of a list, used in place of the lowest one in it (Bruch,
            Gai and Ingber, ACM TOIS 2023): 0 for BM25.
    """
    floors = lowest or {}
    scaled = {name: _min_max(candidates, floors.get(name)) for name, candidates in lists.items()}

    def score(passage_id: str) -> float:
        return sum(
            weights.get(name, 0.0) * scores.get(passage_id, 0.0) for name, scores in scaled.items()
        )

    return _join(lists, score)


def reciprocal_rank(lists: RankedLists) -> list[Fused]:
    """Reciprocal rank fusion with k = 60, best first."""
    ranks = [
        {candidate.passage_id: rank for rank, candidate in enumerate(candidates, 1)}
        for candidates in lists.values()
    ]
    return _join(
        lists, lambda key: sum(1 / (RRF_K + by_id[key]) for by_id in ranks if key in by_id)
    )


def diversify(
    scores: Sequence[float],
    alike: Callable[[int, int], float],
    *,
    limit: int,
    relevance: float,
) -> list[int]:
    """Positions in order of maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998)."""
    remaining = list(range(len(scores)))
    chosen: list[int] = []
    nearest = [0.0] * len(scores)
    while remaining and len(chosen) < limit:
        best = max(
            remaining, key=lambda i: (relevance * scores[i] - (1 - relevance) * nearest[i], -i)
        )
        remaining.remove(best)
        chosen.append(best)
        for other in remaining:
            nearest[other] = max(nearest[other], alike(best, other))
    return chosen


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity of two sets of words; 0 when either is empty."""
    if not one or not other:
        return 0.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _min_max(candidates: Sequence[Candidate], floor: float | None) -> dict[str, float]:
    if not candidates:
        return {}
    scores = [candidate.score for candidate in candidates]
    low, high = min(scores) if floor is None else floor, max(scores)
    if high == low:
        return dict.fromkeys((candidate.passage_id for candidate in candidates), 1.0)
    return {
        candidate.passage_id: (candidate.score - low) / (high - low) for candidate in candidates
    }


def _join(lists: RankedLists, score: Callable[[str], float]) -> list[Fused]:
    ranks: dict[str, list[ListRank]] = {}
    candidates: dict[str, Candidate] = {}
    for name, ranked in lists.items():
        for rank, candidate in enumerate(ranked, 1):
            candidates.setdefault(candidate.passage_id, candidate)
            ranks.setdefault(candidate.passage_id, []).append(
                ListRank(name=name, rank=rank, score=candidate.score)
            )
    fused = [
        Fused(candidate=candidate, score=score(passage), ranks=tuple(ranks[passage]))
        for passage, candidate in candidates.items()
    ]
    # The id breaks ties, so that the order does not depend on which list came first.
    return sorted(fused, key=lambda item: (-item.score, item.candidate.passage_id))


def varied(hits: Sequence[Hit], limit: int, relevance: float) -> list[Hit]:
    """The ``limit`` hits to use, by maximal marginal relevance, near-duplicates left out."""
    bags = [parse(hit.passage.text).stem_set for hit in hits]
    kept: list[int] = []
    for index, bag in enumerate(bags):
        if not any(overlap(bag, bags[other]) >= NEAR_DUPLICATE for other in kept):
            kept.append(index)
    order: Sequence[int] = range(min(limit, len(kept)))
    if relevance < 1:
        order = diversify(
            [hits[index].score for index in kept],
            lambda first, second: overlap(bags[kept[first]], bags[kept[second]]),
            limit=limit,
            relevance=relevance,
        )
    return [hits[kept[position]] for position in order]


def distinct(*groups: Sequence[T]) -> tuple[T, ...]:
    """The items of all groups in order, each once."""
    return tuple(dict.fromkeys(item for group in groups for item in group))


def merged(lists: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """The hits of several searches interleaved, best first, without duplicates."""
    chosen: dict[str, Hit] = {}
    for depth in range(max((len(hits) for hits in lists), default=0)):
        for hits in lists:
            if depth < len(hits):
                chosen.setdefault(hits[depth].passage.id, hits[depth])
    return list(chosen.values())[:limit]


def pack(kb: KnowledgeBase, hits: Sequence[Hit], sides: int = 1) -> list[Evidence]:
    """Make evidence of ``hits``, in order, until the token or character budget is spent.

    A piece that does not fit is cut after its last complete sentence that does; keys are
    ``e1``, ``e2``, ... in order.

    Args:
        sides: how many things the question compares. The first hits are about one side each, in
            turns (``direct.compare``); none of them takes more than its share of the budgets.
    """
    marks = kb.catalogue.marks_over([(hit.passage.document_id, hit.passage.span) for hit in hits])
    packed: list[Evidence] = []
    tokens, characters = 0, 0
    settings = kb.settings.context
    for number, (hit, document_marks) in enumerate(zip(hits, marks, strict=True)):
        shared = number < sides and sides > 1
        text = _fitting(
            hit.passage.text,
            (settings.max_characters - characters) // (sides - number if shared else 1),
            (settings.max_tokens - tokens) // (sides - number if shared else 1),
        )
        if not text and shared:
            continue
        if not text:
            break
        tokens += count_tokens(text)
        characters += len(text)
        packed.append(evidence_from(len(packed) + 1, hit, text, Marks(document_marks)))
        if len(text) < len(hit.passage.text) and not shared:
            break
    return packed


def evidence_from(number: int, hit: Hit, text: str, marks: Marks) -> Evidence:
    """Piece number ``number`` of the evidence: ``text`` from the start of the hit's passage."""
    span = Span(start=hit.passage.span.start, end=hit.passage.span.start + len(text))
    return Evidence(
        key=f"e{number}",
        hit=hit,
        text=text,
        span=span,
        locator=marks.locate(span),
        turns=marks.turns(span),
        tables=marks.tables(span),
    )


def with_neighbours(kb: KnowledgeBase, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence and the passages before and after its pieces, for a model that reads more.

    The neighbours follow with keys of their own, so that each can be cited at its place. Pieces
    with a score far below the best one are left out.
    """
    best = max((piece.hit.score for piece in evidence), default=0.0)
    best_pieces = [
        piece
        for index, piece in enumerate(evidence)
        if index < MIN_SHOWN or piece.hit.score >= MIN_SCORE_SHARE * best
    ]
    settings = kb.settings.context
    tokens = settings.max_tokens - sum(count_tokens(piece.text) for piece in best_pieces)
    characters = settings.max_characters - sum(len(piece.text) for piece in best_pieces)
    seen = {piece.hit.passage.id for piece in evidence}
    neighbours: list[Hit] = []
    for hit in [piece.hit for piece in best_pieces]:
        for passage in kb.catalogue.neighbours(hit.passage.id, 1, 1):
            size = count_tokens(passage.text)
            if passage.id in seen or size > tokens or len(passage.text) > characters:
                continue
            seen.add(passage.id)
            tokens, characters = tokens - size, characters - len(passage.text)
            neighbours.append(replace(hit, passage=passage, score=0.0, ranks=(), similarity=None))
    places = [(hit.passage.document_id, hit.passage.span) for hit in neighbours]
    marks = kb.catalogue.marks_over(places)
    first = len(evidence) + 1
    return best_pieces + [
        evidence_from(number, hit, hit.passage.text, Marks(document_marks))
        for number, (hit, document_marks) in enumerate(zip(neighbours, marks, strict=True), first)
    ]


def _fitting(text: str, room: int, room_tokens: int) -> str:
    """``text``, or as many of its first complete sentences as fit."""
    if len(text) <= room and count_tokens(text) <= room_tokens:
        return text
    fitting = ""
    for span in sentence_spans(text):
        longer = text[: span.end]
        if len(longer) > room or count_tokens(longer) > room_tokens:
            break
        fitting = longer
    return fitting


logger = logging.getLogger(__name__)

RERANK = "rerank"
MAX_CHARACTERS = 2_000
"""Of a hit with its title and headings; a passage has some 1,000, a joined one more."""


def reranked(
    reader: Ranking, query: str, hits: Sequence[Hit], depth: int, weight: float
) -> tuple[list[Hit], str]:
    """``hits`` (best first) with the first ``depth`` in a new order, and a note on a failure.

    The joined score is ``weight`` times the reader's plus ``1 - weight`` times the search's, each
    scaled to 0-1 over these hits. It is then mapped onto the range of the search's scores, so that
    scores still fall from the first hit to the last and can be compared with other searches.
    Each of these hits gets the reader's rank and score as one more list.
    """
    head, rest = list(hits[:depth]), list(hits[depth:])
    if len(head) < 2:
        return [*head, *rest], ""
    try:
        scores = reader.relevance(query, [_excerpt(hit) for hit in head])
        if scores.shape != (len(head),) or not np.isfinite(scores).all():
            raise ModelError(
                f"{reader.identity} gave scores of shape {scores.shape} for {len(head)} passages, "
                "or one that is not finite"
            )
    except ModelError as error:
        logger.warning("the reader failed, keeping the order of the search: %s", error)
        return [*head, *rest], f"the reader failed, so the order is the search's own: {error}"
    search_scores = np.asarray([hit.score for hit in head], dtype=np.float64)
    joined = weight * _scaled(scores.astype(np.float64)) + (1 - weight) * _scaled(search_scores)
    low, high = search_scores.min(), search_scores.max()
    mapped = low + _scaled(joined) * (high - low)
    ranks = {int(at): rank for rank, at in enumerate(np.argsort(-scores, kind="stable"), 1)}
    reordered = []
    for at in map(int, np.argsort(-joined, kind="stable")):
        by_reader = ListRank(name=RERANK, rank=ranks[at], score=float(scores[at]))
        others = [rank for rank in head[at].ranks if rank.name != RERANK]
        reordered.append(replace(head[at], score=float(mapped[at]), ranks=(*others, by_reader)))
    return [*reordered, *rest], ""


def _excerpt(hit: Hit) -> Excerpt:
    """The text that the reader scores for a hit: title, headings and passage."""
    passage = hit.passage
    # The context of a passage, if there is one, begins with the title.
    heading = passage.context or hit.document.title
    room = max(0, MAX_CHARACTERS - len(heading) - 1)
    return Excerpt(text=passage.text[:room], title=heading[:MAX_CHARACTERS])


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``values`` scaled to 0-1; equal values all become 1."""
    low, high = values.min(), values.max()
    if not high > low:
        return np.ones_like(values)
    scaled: NDArray[np.float64] = (values - low) / (high - low)
    return scaled
