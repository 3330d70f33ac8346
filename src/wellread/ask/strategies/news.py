"""What is new: the stories of a time, each by its best items (SPEC 5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from wellread.ask.choose import varied
from wellread.ask.found import Found, Look
from wellread.ask.limits import narrowed, said, search_within
from wellread.ask.retrieve import look
from wellread.ask.stories import FoundStory, StoryQuery, find_stories
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, Constraint
from wellread.types import Hit

DEPTH = 100
OF_A_STORY = 1.1  # times its score, for a passage that tells a story of the time
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_NEWS = re.compile(
    r"\b(?:latest|newest|news|recent(?:ly)?|happen(?:ed|ing|s)?|going on|what(?:'s| is) new"
    r"|new developments?|updates?|headlines?|lately|these days)\b",
    re.IGNORECASE,
)
_NOT_RECENT = "no story of the last 30 days is about this, so all dates were searched"


def news(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The best items of the stories that fit, and what else is found; None where news is not
    asked for, or no story fits.

    Without a time in the question the stories of the last 30 days come first; where there is
    none, those of all times, and a note says so.
    """
    if not _NEWS.search(analysis.question):
        return None
    told, notes = _stories(kb, analysis)
    hits, looked = _passages(kb, analysis, told) if told else ([], None)
    if not hits or looked is None:
        return None
    settings = kb.settings.retrieval
    text = analysis.subject or analysis.question
    beside = search_within(kb, analysis, text, settings.top_k, purpose="beside the stories")
    chosen, dropped = varied(_joined(hits, beside.hits), settings.top_k, settings.diversity)
    return Found(
        strategy="stories: " + "; ".join(f"“{each.story.title}”" for each in told),
        hits=tuple(chosen),
        notes=tuple(dict.fromkeys((*notes, *beside.notes))),
        looks=(looked, *beside.looks),
        dropped=tuple(dropped),
        clusters=len(told),
    )


def _joined(told: Sequence[Hit], beside: Sequence[Hit]) -> list[Hit]:
    """Both, best first; a passage of a story counts a little more."""
    joined = {hit.passage.id: hit for hit in beside}
    for hit in told:
        other = joined.get(hit.passage.id, hit)
        joined[hit.passage.id] = replace(
            hit, score=min(1.0, max(hit.score, other.score) * OF_A_STORY)
        )
    return sorted(joined.values(), key=lambda hit: (-hit.score, hit.passage.id))


def _stories(kb: KnowledgeBase, analysis: Analysis) -> tuple[list[FoundStory], tuple[str, ...]]:
    """The stories of the asked or the last time, else of all times; and what has to be said."""
    time = next((each for each in analysis.constraints if each.kind == "time"), None)
    asked = _query(analysis, time)
    told = find_stories(kb, asked)
    if told:
        return told, ()
    told = find_stories(kb, replace(asked, since=BEGINNING, until=None))
    return told, (said(time) if time else _NOT_RECENT,) if told else ()


def _query(analysis: Analysis, time: Constraint | None) -> StoryQuery:
    filters = narrowed(analysis.filters, [time] if time else []) or analysis.filters
    return StoryQuery(
        text=analysis.subject or analysis.question,
        collections=filters.collections,
        top_k=analysis.max_clusters,
        since=filters.published_from,
        until=filters.published_to,
    )


def _passages(
    kb: KnowledgeBase, analysis: Analysis, told: Sequence[FoundStory]
) -> tuple[list[Hit], Look]:
    """The best passage of each item, story by story, within the asker's filters."""
    documents = tuple(dict.fromkeys(item.document.id for each in told for item in each.items))
    wanted = tuple(known for known in documents if known in analysis.filters.document_ids)
    filters = replace(analysis.filters, document_ids=wanted or documents)
    searched = look(
        kb,
        analysis.subject or analysis.question,
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
