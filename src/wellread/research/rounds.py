"""The rounds of searching without a model: the plan's facets, then what was found leads on to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial

import anyio
from anyio import to_thread

from wellread.ask.retrieve.search import look
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.reports import Facet, ProgressEvent
from wellread.research.bridges import Bridge, bridges_of, name_key
from wellread.research.facets import topic_of
from wellread.research.run_state import RunState, hits_from_plain, hits_to_plain
from wellread.types import Hit

DEPTH = 40  # passages of one search
TOP = 10  # of these; a round that finds none of them new has found nothing new


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
    state.stopped = "complete"


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
    facts = kb.catalogue.facts({one.document_id for one in passages.values()})
    return [
        Hit(passage=passages[known], document=facts[passages[known].document_id], score=1.0)
        for known in facet.passages
        if known in passages and passages[known].document_id in facts
    ]


async def _bridges(state: RunState, analysis: Analysis, asked: set[str]) -> list[Bridge]:
    """Names to look for next; none twice."""
    topic = topic_of(analysis)
    look_for = partial(bridges_of, state.kb, analysis, state.pool, topic, asked)
    found = await to_thread.run_sync(look_for)
    asked.update(name_key(one.name) for one in found)
    return found


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
