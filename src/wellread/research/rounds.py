"""Runs the searches of a research report without a language model.

There is one search per facet (subtopic) of the plan. If the best passages mention the title of
another document, that document may hold the answer although the question does not name it, so a
second round searches for such titles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from anyio import to_thread

from wellread.ask.retrieve.search import search
from wellread.research.planning import MAX_TITLE_SEARCHES, topic_of
from wellread.research.run_state import MAX_DIRECT_DOCUMENTS, RunState, live_hits
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Hit
from wellread.values.question import Analysis
from wellread.values.reports import Facet, ProgressEvent

SEARCH_DEPTH = 40  # passages per search
MAX_TITLES = 4  # titles to search for
MAX_SCANNED = MAX_TITLE_SEARCHES - MAX_TITLES  # documents scanned for titles
MAX_NAMES = 12  # names per passage that are searched for


async def search_facets(state: RunState, facets: Sequence[Facet]) -> AsyncIterator[ProgressEvent]:
    """Search for facets in one round and yield an event for each, in order.

    If a limit is reached, it is set as ``state.stopped``.
    """
    state.rounds += 1
    async for facet, hits in state.run_searches(facets, lambda facet: _hits_of(state, facet)):
        new = state.pool.add(facet.id, hits)
        action = f"read “{facet.title}”" if facet.passages else f"searched for “{facet.title}”"
        text = f"{action}: {len(hits)} passages, {new} of them new"
        yield ProgressEvent(
            round=state.rounds, stage="search", text=text, facet=facet.id, found=new
        )


async def search_titles(state: RunState, analysis: Analysis) -> AsyncIterator[ProgressEvent]:
    """Run the second round: search for document titles that the results mention."""
    state.stopped = await to_thread.run_sync(state.stop)
    if state.stopped is not None:
        return
    titles = await to_thread.run_sync(titles_named, state, analysis)
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
        async for event in search_facets(state, facets):
            yield event
    state.stopped = state.stopped or "complete"


def _hits_of(state: RunState, facet: Facet) -> list[Hit]:
    if not facet.passages:
        return _search(state, facet.query, facet.filters)
    hits = live_hits(state.kb, facet.passages)
    state.note_read(hits)
    return hits


def _search(state: RunState, query: str, filters: Filters) -> list[Hit]:
    hits = search(state.kb, query, filters, limit=SEARCH_DEPTH)
    state.note_read(hits)
    return hits


def titles_named(state: RunState, analysis: Analysis) -> list[str]:
    """At most four titles of other documents that the first documents' best passages mention.

    The most promising come first. One search per passage: its names together with the topic words
    that it does not contain.
    """
    question_stems = analysis.parsed.stem_set
    topic = parse(topic_of(analysis)).words
    best: dict[str, tuple[float, str]] = {}  # value and title, by the title's key
    for hit in state.pool.first_documents(MAX_SCANNED):
        passage = hit.passage
        names = [
            name for name in parse(passage.text).names if not parse(name).stem_set <= question_stems
        ]
        if not names or state.searches >= state.limits.searches:
            continue
        passage_stems = parse(f"{hit.document.title}\n{passage.text}").stem_set
        open_words = " ".join(word for word in topic if not parse(word).stem_set <= passage_stems)
        query = f"{'; '.join(names[:MAX_NAMES])} {open_words}"
        state.searches += 1
        text, missing = f" {name_key(passage.text)} ", question_stems - passage_stems
        for other in _search(state, query, state.filters):
            title = other.document.title.partition(" (")[0]
            key = name_key(title)
            same_document = other.document.id == hit.document.id
            if same_document or not key or f" {key} " not in text:
                continue
            stems = parse(f"{other.document.title}\n{other.passage.text}").stem_set
            # A document is more promising if it has the words that the passage lacks.
            value = other.score * (0.5 + len(stems & missing) / max(1, len(missing)))
            if value > best.get(key, (0.0, ""))[0]:
                best[key] = (value, title)
    for hit in state.pool.first_documents(MAX_DIRECT_DOCUMENTS):  # these are results already
        best.pop(name_key(hit.document.title.partition(" (")[0]), None)
    order = sorted(best, key=lambda key: (-best[key][0], key))
    return [best[key][1] for key in order[:MAX_TITLES]]


def name_key(text: str) -> str:
    """Return ``text`` without case, accents, hyphens and punctuation, for comparison."""
    return " ".join(token.plain for token in tokens_of(text.replace("-", " ")))
