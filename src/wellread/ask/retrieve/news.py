"""What is new: the stories of a time, each by its best items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from wellread.ask.retrieve.ranking import varied
from wellread.ask.retrieve.relax import Within, search_within
from wellread.ask.retrieve.retrieval import Retrieval, SearchTrace
from wellread.ask.retrieve.search import look
from wellread.ask.retrieve.story_search import FoundStory, StoryQuery, find_stories
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.english_questions import NEWS_ASKED
from wellread.types import Filters, Hit

DEPTH = 100
OF_A_STORY = 1.1  # times its score, for a passage that tells a story of the time
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_NEWS = re.compile(rf"\b(?:{'|'.join(NEWS_ASKED)})\b", re.IGNORECASE)
_NOT_RECENT = "no story of the last 30 days is about this, so all dates were searched"


def news(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """The best items of the stories that fit, and what else is found; None where news is not
    asked for, or no story fits.

    Without a time in the question the stories of the last 30 days come first; where there is
    none, those of all times, and a note says so. Stories keep to the limits that passages do.
    """
    if not _NEWS.search(analysis.question):
        return None
    settings = kb.settings.retrieval
    text = analysis.searched
    beside = search_within(kb, analysis, text, settings.top_k, purpose="beside the stories")
    told, notes = _stories(kb, analysis, beside)
    if not told:
        return None
    hits, looked = _passages(kb, text, beside.filters, told)
    chosen, dropped = varied(_joined(hits, beside.hits), settings.top_k, settings.diversity)
    used = {
        hit.document.id for hit in chosen if hit.passage.id in {each.passage.id for each in hits}
    }
    stories = [each for each in told if any(item.document.id in used for item in each.items)]
    if not stories:
        return None
    return Retrieval(
        strategy="stories: " + "; ".join(f"“{each.story.title}”" for each in stories),
        hits=tuple(chosen),
        relaxed=beside.relaxed,
        failures=beside.failures,
        notes=notes,
        traces=(looked, *beside.traces),
        dropped=tuple(dropped),
        clusters=len(stories),
    )


def _joined(told: Sequence[Hit], beside: Sequence[Hit]) -> list[Hit]:
    """Both, best first; a passage of a story counts a little more."""
    joined = {hit.passage.id: hit for hit in beside}
    for hit in told:
        other = joined.get(hit.passage.id, hit)
        joined[hit.passage.id] = replace(
            other, score=min(1.0, max(hit.score, other.score) * OF_A_STORY)
        )
    return sorted(joined.values(), key=lambda hit: (-hit.score, hit.passage.id))


def _stories(
    kb: KnowledgeBase, analysis: Analysis, beside: Within
) -> tuple[list[FoundStory], tuple[str, ...]]:
    """The stories of the asked or the last time, else of all times; and what has to be said."""
    filters = beside.filters
    query = StoryQuery(
        text=analysis.subject or analysis.question,
        collections=filters.collections,
        top_k=analysis.max_clusters,
        since=filters.published_from,
        until=filters.published_to,
    )
    timed = filters.published_from is not None or filters.published_to is not None
    if not timed and any(each.kind == "time" for each in analysis.constraints):
        # The time was let go of, which ``beside`` says.
        return find_stories(kb, replace(query, since=BEGINNING)), ()
    told = find_stories(kb, query)
    if told or timed:
        return told, ()
    told = find_stories(kb, replace(query, since=BEGINNING))
    return told, (_NOT_RECENT,) if told else ()


def _passages(
    kb: KnowledgeBase, text: str, filters: Filters, told: Sequence[FoundStory]
) -> tuple[list[Hit], SearchTrace]:
    """The best passage of each item, story by story, within ``filters``."""
    documents = tuple(dict.fromkeys(item.document.id for each in told for item in each.items))
    if filters.document_ids:
        documents = tuple(known for known in documents if known in filters.document_ids) or ("",)
    filters = replace(filters, document_ids=documents)
    searched = look(
        kb,
        text,
        filters,
        limit=DEPTH,
        purpose="the items of the stories",
    )
    chosen: dict[str, Hit] = {}
    for story in told:
        for item in story.items:
            best = next(
                (
                    hit
                    for hit in searched.hits
                    if hit.document.id == item.document.id and hit.passage.span.overlaps(item.span)
                ),
                None,
            )
            if best is not None:
                chosen.setdefault(best.passage.id, best)
    return list(chosen.values()), searched.look
