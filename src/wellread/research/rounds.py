"""The rounds of searching without a model: the plan's facets, then what was found leads on to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
from anyio import to_thread

from wellread.ask.retrieve.search import look
from wellread.codec import from_plain, to_plain
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.reports import Facet, ProgressEvent
from wellread.research.bridges import MOST, Bridge, Trail, name_key, rare_names, titles_named
from wellread.research.facets import topic_of
from wellread.research.run_state import RunState, hits_from_plain, hits_to_plain
from wellread.types import DocumentFacts, Filters, Hit

DEPTH = 40  # passages of one search
TOP = 10  # of these; a round that finds none of them new has found nothing new


@dataclass(frozen=True, slots=True, kw_only=True)
class LedOn:
    """What a round leads on to, and how many searches it took to tell."""

    bridges: tuple[Bridge, ...]
    searches: int


async def search_plan(state: RunState) -> AsyncIterator[ProgressEvent]:
    """The first round: search for the facets of the plan.

    Where a limit is reached, ``state.stopped`` says which.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as a search.
    """
    async for event in _one_round(state, tuple(state.facets)):
        yield event


async def search_bridges(state: RunState, analysis: Analysis) -> AsyncIterator[ProgressEvent]:
    """Search for what was found leads on to, round after round.

    Why there is no further round is left with ``state.stopped``.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as a search.
    """
    asked: set[str] = set()
    while names := await _bridges(state, analysis, asked):
        if state.rounds >= state.limits.rounds:
            state.stopped = "round_limit"
            return
        facets = [_facet(state, name) for name in names]
        text = "what was found leads on to " + ", ".join(f"“{one.name}”" for one in names)
        yield ProgressEvent(round=state.rounds, stage="bridge", text=text, found=len(facets))
        async for event in _one_round(state, facets):
            yield event
        if state.stopped is not None:
            return
        if not state.fresh:
            state.stopped = "no_new_evidence"
            return
    state.stopped = state.stopped or "complete"


async def _one_round(state: RunState, facets: Sequence[Facet]) -> AsyncIterator[ProgressEvent]:
    """Search for some facets, a few at a time, and tell of each in their order."""
    state.rounds += 1
    state.fresh = 0
    together = state.kb.settings.research.side_by_side
    for first in range(0, len(facets), together):
        started: list[Facet] = []
        for facet in facets[first : first + together]:
            known = state.has(_key(facet))
            state.stopped = None if known else await state.reason_to_stop()
            if state.stopped is not None:
                break
            state.searched()
            started.append(facet)
        errors: list[WellreadError] = []
        async with anyio.create_task_group() as group:
            for facet in started:
                group.start_soon(_search, state, facet, errors)
        if errors:
            raise errors[0]
        for facet in started:
            yield await _told(state, facet)
        if state.stopped is not None:
            return


async def _search(state: RunState, facet: Facet, errors: list[WellreadError]) -> None:
    """Search for a facet; what fails is put with ``errors``, which a task group would wrap."""
    if state.has(_key(facet)):
        return
    try:
        hits = await to_thread.run_sync(_found, state.kb, facet)
        read = {hit.document.id for hit in hits}
        await state.keep(_key(facet), hits_to_plain(hits), read)
    except WellreadError as error:
        errors.append(error)


async def _told(state: RunState, facet: Facet) -> ProgressEvent:
    """Put what was found for a facet into the pool, and say so."""
    plain = state.journal[_key(facet)]
    hits = await to_thread.run_sync(hits_from_plain, state.kb, plain)
    new = state.add(facet.id, hits[:TOP])
    state.fresh += new
    new += state.add(facet.id, hits)
    what = f"read “{facet.title}”" if facet.passages else f"searched for “{facet.title}”"
    return ProgressEvent(
        round=state.rounds,
        stage="search",
        text=f"{what}: {len(hits)} passages, {new} of them new",
        facet=facet.id,
        found=new,
    )


def _key(facet: Facet) -> str:
    return f"search/{facet.id}"


def _found(kb: KnowledgeBase, facet: Facet) -> list[Hit]:
    if not facet.passages:
        return look(kb, facet.query, facet.filters, purpose=facet.title, limit=DEPTH).hits
    passages = kb.catalogue.live_passages(list(facet.passages))
    plain = [[one.id, one.document_id, 1.0, None] for one in passages.values()]
    found = {hit.passage.id: hit for hit in hits_from_plain(kb, plain)}
    return [
        found[known]
        for known in facet.passages
        if known in found and _inside(found[known].document, facet.filters)
    ]


def _inside(document: DocumentFacts, limits: Filters) -> bool:
    """Whether passages that are named, not searched for, are inside the border of the question."""
    collections, documents = limits.collections, limits.document_ids
    return (not collections or document.collection in collections) and (
        not documents or document.id in documents
    )


async def _bridges(state: RunState, analysis: Analysis, asked: set[str]) -> list[Bridge]:
    """Names to look for next; none twice, and none where a limit is reached.

    How often a name stands in the material is looked up; that counts as no search.
    """
    key = f"bridges/{state.rounds}"
    if not state.has(key):
        state.stopped = await state.reason_to_stop()
        if state.stopped is not None:
            return []
        await state.keep(key, await to_thread.run_sync(_leading_on, state, analysis, asked))
    found = from_plain(LedOn, state.journal[key])
    state.searched(found.searches)
    asked.update(name_key(one.name) for one in found.bridges)
    return list(found.bridges)


def _leading_on(state: RunState, analysis: Analysis, asked: set[str]) -> Any:
    """Titles after the first round; where they are few, and later, rare names."""
    trail = Trail(
        kb=state.kb,
        analysis=analysis,
        pool=state.pool,
        topic=topic_of(analysis),
        filters=state.filters,
        known=asked,
    )
    titled, searches = titles_named(trail, state.searches_left) if state.rounds == 1 else ([], 0)
    taken = {*asked, *(name_key(one.name) for one in titled)}
    rest = MOST - len(titled)
    rare = rare_names(replace(trail, known=taken))[:rest] if rest else []
    return to_plain(LedOn(bridges=(*titled, *rare), searches=searches))


def _facet(state: RunState, bridge: Bridge) -> Facet:
    made = Facet(
        id=f"f{len(state.facets) + 1}",
        kind="bridge",
        title=bridge.name,
        query=bridge.query,
        filters=state.filters,
        why="what was found goes back to it",
        round=state.rounds + 1,
    )
    state.facets.append(made)
    return made
