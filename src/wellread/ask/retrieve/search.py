"""Runs one hybrid search: candidates per list, score fusion, and a check for live versions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

from wellread.ask.retrieve import ranking
from wellread.ask.retrieve.ranking import Fused
from wellread.config import RetrievalSettings
from wellread.errors import DamageError, StoreError, UnknownCollectionError
from wellread.kb import KnowledgeBase, Parts
from wellread.kb.seen_by import base_of
from wellread.models.base import Excerpt
from wellread.models.open_reader import closeness_weight
from wellread.types import Candidate, Filters, Hit, ListRank, Passage
from wellread.values.question import Analysis, SourceRule

logger = logging.getLogger(__name__)

SearchMode = Literal["hybrid", "text", "vector"]
TEXT, VECTOR = "text", "vector"
TRIES = 3  # of a search that runs into a switch to another index
LOWEST = {TEXT: 0.0}  # the score of a passage without a word of the query
CLOSER_LOOKED = 60  # of the joined list, best first, whose words are looked at one by one
CLOSENESS = "closeness"

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
    """The best ``limit`` passages for ``text``, best first, with their rank in every list."""
    check_collections(kb, filters)
    settings = kb.settings.retrieval
    # Reciprocal ranks are no 0-1 scores, so closeness cannot be added to them.
    weighted = mode == "hybrid" and settings.fusion != "rrf"
    closeness = settings.closeness if weighted else 0.0
    for _ in range(TRIES):
        parts = kb.live()
        try:
            lists = _candidates(parts, text, filters, mode, max(settings.candidates, limit))
            hits = _hits(kb, text, _fuse(lists, settings, mode), limit, closeness)
        except StoreError:
            if kb.live() is parts:
                raise
        else:
            # Passages of an index that was switched away meanwhile are live no more.
            if kb.live() is parts:
                if not any(lists.values()):
                    check_index(kb)
                return hits
        logger.info("searching again, because the index was switched")
    raise StoreError("the index was switched again and again during a search", hint="try again")


def check_index(kb: KnowledgeBase) -> None:
    """Raise an error when the index has lost its data, so an empty result is not trusted."""
    whole = base_of(kb)
    if whole.index.rows() == 0 and any(each.passages for each in whole.catalogue.stats()):
        raise DamageError(
            "the index is gone or empty, and the catalogue is not",
            hint="'wellread verify --repair' makes it anew from the catalogue",
        )


def check_collections(kb: KnowledgeBase, filters: Filters) -> None:
    """Raise an error when a collection does not exist."""
    if not filters.collections:
        return
    known = kb.catalogue.collection_names()
    for name in filters.collections:
        if name not in known:
            raise UnknownCollectionError(
                f"there is no collection named {name!r}",
                hint=f"known: {', '.join(known) or 'none yet; add sources first'}",
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
    fusion = settings.fusion if mode == "hybrid" else mode
    if fusion == "rrf":
        return ranking.reciprocal_rank(lists)
    share = {"text": 0.0, "vector": 1.0}.get(fusion, settings.vector_weight)
    return ranking.weighted(lists, {VECTOR: share, TEXT: 1 - share}, LOWEST)


def _hits(
    kb: KnowledgeBase, text: str, fused: Sequence[Fused], limit: int, closeness: float
) -> list[Hit]:
    """The best ``limit`` candidates that are live, with text and metadata.

    Args:
        closeness: the weight of how close together the words of ``text`` occur.
    """
    hits: list[Hit] = []
    # Nearly all candidates are live, so a second look beyond the first few is rare.
    step = max(limit, CLOSER_LOOKED) if closeness else limit
    for start in range(0, len(fused), step):
        part = fused[start : start + step]
        passages = kb.catalogue.live_passages([item.candidate.passage_id for item in part])
        if start == 0 and closeness:
            part = _closest_first(kb, text, part, passages, closeness)
        live = [item for item in part if item.candidate.passage_id in passages]
        live = live[: limit - len(hits)]
        facts = kb.catalogue.facts({item.candidate.document_id for item in live})
        for item in live:
            document = facts.get(item.candidate.document_id)
            if document and document.version == item.candidate.version:
                similar = (place.score for place in item.ranks if place.name == VECTOR)
                hits.append(
                    Hit(
                        passage=passages[item.candidate.passage_id],
                        document=document,
                        score=item.score,
                        ranks=item.ranks,
                        similarity=next(similar, None),
                    )
                )
        if len(hits) >= limit:
            break
    return hits


def _closest_first(
    kb: KnowledgeBase,
    text: str,
    fused: Sequence[Fused],
    passages: Mapping[str, Passage],
    weight: float,
) -> list[Fused]:
    """The fused list reordered by how close together the words of ``text`` occur.

    Candidates beyond the first ``CLOSER_LOOKED`` keep their share of the score and stay behind.
    """
    looked = [item for item in fused if item.candidate.passage_id in passages][:CLOSER_LOOKED]
    read = [passages[item.candidate.passage_id] for item in looked]
    excerpts = [Excerpt(text=passage.text, title=passage.context) for passage in read]
    close = kb.lexical.relevance(text, excerpts).tolist()
    share = weight * closeness_weight(text, [passage.text for passage in read])
    order = sorted(range(len(close)), key=lambda place: -close[place])
    scored = {}
    for rank, place in enumerate(order, 1):
        item = looked[place]
        by_words = ListRank(name=CLOSENESS, rank=rank, score=round(close[place], 4))
        score = (1 - share) * item.score + share * close[place]
        scored[item.candidate.passage_id] = replace(
            item, score=score, ranks=(*item.ranks, by_words)
        )
    rest = [
        replace(item, score=(1 - share) * item.score)
        for item in fused
        if item.candidate.passage_id not in scored
    ]
    return [
        *sorted(scored.values(), key=lambda item: (-item.score, item.candidate.passage_id)),
        *rest,
    ]


# --- sources that the asker prefers --------------------------------------------------------------
# A factor is bounded, so that a liked source never beats one that fits far better; only what the
# asker muted is left out.

HIGHER, LOWER = 1.2, 0.8
PREFERRED, LOWERED = "preferred by you", "ranked lower by you"
BEST = 5  # hits among which a muted source would have mattered


def by_preference(analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits reordered by the user's source preferences, without muted sources."""
    liked = analysis.liking
    if not (liked.preferred or liked.lowered or liked.muted):
        return list(hits)
    scored = [_weighed(analysis, hit) for hit in hits if not muted(analysis, hit)]
    return sorted(scored, key=lambda hit: -hit.score)


def muted(analysis: Analysis, hit: Hit) -> bool:
    """Whether the user muted the hit's source and did not ask for it in this question."""
    return any(
        rule.fits(hit.document) and not _asked_for(analysis, rule) for rule in analysis.liking.muted
    )


def muted_words(analysis: Analysis, best: Sequence[Hit]) -> str:
    """A note on what muting removed from the ``best`` hits; empty when nothing."""
    titles = dict.fromkeys(hit.document.title for hit in best if muted(analysis, hit))
    named = ", ".join(f"“{title}”" for title in titles)
    return f"muted by you and not used, though among the best: {named}" if named else ""


def _weighed(analysis: Analysis, hit: Hit) -> Hit:
    liked = analysis.liking
    for rules, factor, name in (
        (liked.preferred, HIGHER, PREFERRED),
        (liked.lowered, LOWER, LOWERED),
    ):
        if any(rule.fits(hit.document) for rule in rules):
            rank = ListRank(name=name, rank=1, score=factor)
            return replace(hit, score=min(1.0, hit.score * factor), ranks=(*hit.ranks, rank))
    return hit


def _asked_for(analysis: Analysis, rule: SourceRule) -> bool:
    """Whether the user's filters or the question name the subject of the rule."""
    limits = [analysis.filters, *(constraint.filters for constraint in analysis.constraints)]
    fields = {"document": "document_ids", "site": ""}
    field = fields.get(rule.kind, f"{rule.kind}s")
    named = [value.casefold() for limit in limits for value in (field and getattr(limit, field))]
    return rule.value.casefold() in named
