"""From words to ranked passages: candidates of each list, fusion, the live-version check."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

from wellread.ask import rank, words
from wellread.ask.rank import Fused
from wellread.config import RetrievalSettings
from wellread.errors import StoreError, UnknownCollectionError
from wellread.kb import KnowledgeBase, Parts
from wellread.questions import Analysis
from wellread.types import KINDS, Candidate, DocumentFacts, Filters, Hit, Passage

logger = logging.getLogger(__name__)

SearchMode = Literal["hybrid", "text", "vector"]
SOURCE_KINDS = tuple(kind for kind in KINDS if kind != "qa")
TEXT, VECTOR = "text", "vector"
TRIES = 3  # of a search that runs into a switch to another index
NEAR_DUPLICATE = 0.85  # share of words in common from which a passage adds nothing

# Both lists are fetched at the same time; the back ends release the interpreter while they work.
_lists = ThreadPoolExecutor(max_workers=4, thread_name_prefix="wellread-list")


def search(
    kb: KnowledgeBase,
    text: str,
    filters: Filters,
    *,
    mode: SearchMode = "hybrid",
    limit: int = 10,
) -> list[Hit]:
    """The best ``limit`` passages for ``text``, best first, with their place in every list.

    Raises:
        UnknownCollectionError: ``filters.collections`` names one that does not exist.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    check_collections(kb, filters)
    settings = kb.settings.retrieval
    for _ in range(TRIES):
        parts = kb.live()
        try:
            lists = _candidates(parts, text, filters, mode, max(settings.candidates, limit))
            hits = _hits(kb, _fuse(lists, settings, mode), limit)
        except StoreError:
            if kb.live() is parts:
                raise
        else:
            # Passages of an index that was switched away meanwhile are live no more.
            if kb.live() is parts:
                return hits
        logger.info("searching again, because the index was switched")
    raise StoreError("the index was switched again and again during a search", hint="try again")


def retrieve(kb: KnowledgeBase, analysis: Analysis) -> list[Hit]:
    """The passages to answer from: the best of both lists, without repeats.

    Past questions are no evidence - a past answer may be wrong, and its feedback would be lost -
    unless the asker filters for them.
    """
    settings = kb.settings.retrieval
    filters = analysis.filters
    wanted = 2 * settings.top_k
    found = search(kb, analysis.question, filters, limit=wanted)
    if not filters.kinds and any(hit.document.kind == "qa" for hit in found):
        filters = replace(filters, kinds=SOURCE_KINDS)
        found = search(kb, analysis.question, filters, limit=wanted)
    return _varied(found, settings.top_k, settings.diversity)


def check_collections(kb: KnowledgeBase, filters: Filters) -> None:
    """Refuse a collection that does not exist.

    Raises:
        UnknownCollectionError: names those that do.
    """
    if not filters.collections:
        return
    known = {facts.name for facts in kb.catalogue.collections()}
    for name in filters.collections:
        if name not in known:
            raise UnknownCollectionError(
                f"there is no collection named {name!r}",
                hint=f"known: {', '.join(sorted(known)) or 'none yet; add sources first'}",
            )


def _candidates(
    parts: Parts, text: str, filters: Filters, mode: SearchMode, depth: int
) -> dict[str, list[Candidate]]:
    index = parts.index
    pending = {}
    if mode != "vector":
        pending[TEXT] = _lists.submit(index.search_text, text, filters, depth)
    lists: dict[str, list[Candidate]] = {}
    if mode != "text":
        vector = parts.embedder.embed([text], "query")[0]
        lists[VECTOR] = index.search_vector(vector, filters, depth)
    return lists | {name: future.result() for name, future in pending.items()}


def _fuse(
    lists: dict[str, list[Candidate]], settings: RetrievalSettings, mode: SearchMode
) -> list[Fused]:
    if mode == "hybrid" and settings.fusion == "rrf":
        return rank.reciprocal_rank(lists)
    share = {"text": 0.0, "vector": 1.0}.get(settings.fusion, settings.vector_weight)
    if mode != "hybrid":
        share = 1.0 if mode == "vector" else 0.0
    return rank.weighted(lists, {VECTOR: share, TEXT: 1 - share})


def _hits(kb: KnowledgeBase, fused: Sequence[Fused], limit: int) -> list[Hit]:
    """The best ``limit`` candidates that are live, with text and facts."""
    hits: list[Hit] = []
    # Nearly all candidates are live, so a second look beyond the first few is rare.
    for start in range(0, len(fused), limit):
        part = fused[start : start + limit]
        passages = kb.catalogue.live_passages([item.candidate.passage_id for item in part])
        facts = kb.catalogue.facts([passage.document_id for passage in passages.values()])
        for item in part:
            passage = passages.get(item.candidate.passage_id)
            document = facts.get(item.candidate.document_id)
            if passage and document and document.version == item.candidate.version:
                hits.append(_hit(item, passage, document))
        if len(hits) >= limit:
            break
    return hits[:limit]


def _hit(item: Fused, passage: Passage, document: DocumentFacts) -> Hit:
    return Hit(
        passage=passage,
        document=document,
        score=item.score,
        ranks=item.ranks,
        similarity=next((place.score for place in item.ranks if place.name == VECTOR), None),
    )


def _varied(hits: list[Hit], limit: int, relevance: float) -> list[Hit]:
    """Drop near-duplicates, then order by maximal marginal relevance."""
    bags = [frozenset(words.stems(hit.passage.text)) for hit in hits]
    kept: list[int] = []
    for place, bag in enumerate(bags):
        if all(rank.overlap(bag, bags[other]) < NEAR_DUPLICATE for other in kept):
            kept.append(place)
    order = rank.diversify(
        [hits[place].score for place in kept],
        lambda one, other: rank.overlap(bags[kept[one]], bags[kept[other]]),
        limit=limit,
        relevance=relevance,
    )
    return [hits[kept[place]] for place in order]
