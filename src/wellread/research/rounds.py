"""Search rounds without a model: first the plan's facets, then titles that the results mention.

If the best passages mention the title of another document, that document may hold what the
question does not name. It is searched for in a second round.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
from anyio import to_thread

from wellread.ask.retrieve.search import search
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.research.planning import MAX_TITLE_SEARCHES, topic_of
from wellread.research.run_state import (
    MAX_DIRECT_DOCUMENTS,
    RunState,
    hits_from_plain,
    hits_to_plain,
)
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.types import DocumentFacts, Filters, Hit
from wellread.values.question import Analysis
from wellread.values.reports import Facet, ProgressEvent

DEPTH = 40  # passages per search
MAX_TITLES = 4  # titles to search for
ANCHORS = MAX_TITLE_SEARCHES - MAX_TITLES  # documents scanned for titles
MAX_NAMES = 12  # names per passage that are searched for


async def search_plan(state: RunState) -> AsyncIterator[ProgressEvent]:
    """The first round: search for the facets of the plan.

    If a limit is reached, it is set as ``state.stopped``.
    """
    async for event in _one_round(state, tuple(state.facets)):
        yield event


async def search_titles(state: RunState, analysis: Analysis) -> AsyncIterator[ProgressEvent]:
    """The second round: search for document titles that the results mention."""
    state.stopped = await to_thread.run_sync(state.stop)
    if state.stopped is not None:
        return

    async def leading_on() -> list[Any]:
        return list(await to_thread.run_sync(titles_named, state, analysis))

    titles, searches = await state.once("titles", leading_on)
    state.searches += searches
    if titles and state.rounds >= state.limits.rounds:
        state.stopped = "round_limit"
    elif titles:
        facets = [
            Facet(
                id=f"f{number}",
                kind="bridge",
                title=title,
                query=title,
                filters=state.filters,
                why="the passages found mention it",
                round=state.rounds + 1,
            )
            for number, title in enumerate(titles, len(state.facets) + 1)
        ]
        state.facets += facets
        text = "the passages found mention " + ", ".join(f"“{title}”" for title in titles)
        yield ProgressEvent(round=state.rounds, stage="bridge", text=text, found=len(titles))
        async for event in _one_round(state, facets):
            yield event
    state.stopped = state.stopped or "complete"


async def _one_round(state: RunState, facets: Sequence[Facet]) -> AsyncIterator[ProgressEvent]:
    """Search for facets, a few at a time, and yield an event for each, in order."""
    state.rounds += 1
    together = state.kb.settings.research.side_by_side
    for first in range(0, len(facets), together):
        started: list[Facet] = []
        for facet in facets[first : first + together]:
            if _key(facet) not in state.journal:
                state.stopped = await to_thread.run_sync(state.stop)
                if state.stopped is not None:
                    break
            state.searches += 1
            started.append(facet)
        errors: list[WellreadError] = []
        async with anyio.create_task_group() as group:
            for facet in started:
                group.start_soon(_search, state, facet, errors)
        if errors:
            raise errors[0]
        for facet in started:
            yield await _take_hits(state, facet)
        if state.stopped is not None:
            return


async def _search(state: RunState, facet: Facet, errors: list[WellreadError]) -> None:
    """Search for a facet, collecting errors in ``errors``, as a task group would wrap them."""

    async def search() -> Any:
        hits = await to_thread.run_sync(_hits_of, state.kb, facet)
        state.read.update(hit.document.id for hit in hits)
        return hits_to_plain(hits)

    try:
        await state.once(_key(facet), search)
    except WellreadError as error:
        errors.append(error)


async def _take_hits(state: RunState, facet: Facet) -> ProgressEvent:
    """Add the hits for a facet to the pool and return the event."""
    hits = await to_thread.run_sync(hits_from_plain, state.kb, state.journal[_key(facet)])
    new = state.add(facet.id, hits)
    action = f"read “{facet.title}”" if facet.passages else f"searched for “{facet.title}”"
    text = f"{action}: {len(hits)} passages, {new} of them new"
    return ProgressEvent(round=state.rounds, stage="search", text=text, facet=facet.id, found=new)


def _key(facet: Facet) -> str:
    return f"search/{facet.id}"


def _hits_of(kb: KnowledgeBase, facet: Facet) -> list[Hit]:
    if not facet.passages:
        return search(kb, facet.query, facet.filters, limit=DEPTH)
    passages = kb.catalogue.live_passages(list(facet.passages))
    own = [passages[passage_id] for passage_id in facet.passages if passage_id in passages]
    hits = hits_from_plain(kb, [(passage.id, passage.document_id, 1.0, None) for passage in own])
    return [hit for hit in hits if _inside(hit.document, facet.filters)]


def _inside(document: DocumentFacts, limits: Filters) -> bool:
    """Whether a document meets the question's filters; needed for passages given by id."""
    collections, documents = limits.collections, limits.document_ids
    return (not collections or document.collection in collections) and (
        not documents or document.id in documents
    )


def titles_named(state: RunState, analysis: Analysis) -> tuple[list[str], int]:
    """At most four titles of other documents that the first documents' best passages mention.

    One search per passage: its names together with the topic words that it does not contain.

    Returns:
        The titles, most promising first, and the number of searches made.
    """
    question_stems = analysis.parsed.stem_set
    worth: dict[str, tuple[float, str]] = {}
    searches = 0
    searches_left = state.limits.searches - state.searches
    for hit in state.pool.first_documents(ANCHORS):
        passage = hit.passage
        names = [
            name for name in parse(passage.text).names if not parse(name).stem_set <= question_stems
        ]
        if not names or searches >= searches_left:
            continue
        passage_stems = parse(f"{hit.document.title}\n{passage.text}").stem_set
        topic = parse(topic_of(analysis)).words
        open_words = " ".join(word for word in topic if not parse(word).stem_set <= passage_stems)
        query = f"{'; '.join(names[:MAX_NAMES])} {open_words}"
        searches += 1
        hits = search(state.kb, query, state.filters, limit=DEPTH)
        text, missing = f" {name_key(passage.text)} ", question_stems - passage_stems
        for other in hits:
            title = other.document.title.partition(" (")[0]
            key = name_key(title)
            same_document = other.document.id == hit.document.id
            if same_document or not key or f" {key} " not in text:
                continue
            stems = parse(f"{other.document.title}\n{other.passage.text}").stem_set
            value = other.score * (0.5 + len(stems & missing) / max(1, len(missing)))
            if value > worth.get(key, (0.0, ""))[0]:
                worth[key] = (value, title)
    for hit in state.pool.first_documents(MAX_DIRECT_DOCUMENTS):
        worth.pop(name_key(hit.document.title.partition(" (")[0]), None)
    order = sorted(worth, key=lambda key: (-worth[key][0], key))
    return [worth[key][1] for key in order[:MAX_TITLES]], searches


def name_key(text: str) -> str:
    """A name normalized for comparison: without case, accents, hyphens and punctuation."""
    return " ".join(token.plain for token in tokens_of(text.replace("-", " ")))
