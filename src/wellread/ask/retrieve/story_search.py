"""Finds the news stories on a topic or of a period, with the best items of each.

A story is found by its passages: the best of them in the ordinary hybrid search describe it better
than one vector for the whole story (figures in docs/decisions/008-stories.md). Relevance decides
most; among equally relevant stories, recent, widely reported and novel ones come first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from wellread.ask.retrieve.ranking import Found, SearchTrace, varied
from wellread.ask.retrieve.relax import Within, search_within
from wellread.ask.retrieve.search import search, search_with_trace
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.story_records import ItemKey, ItemPlace, Story
from wellread.text.english_patterns import NEWS_ASKED
from wellread.text.sentences import HEAD, part_title
from wellread.types import DocumentFacts, Filters, Hit, Span
from wellread.values.question import Analysis

WINDOW = timedelta(days=30)  # looked at when the asker names no time
ITEM_CHARACTERS = 2_000  # of an item that are given on
PASSAGES = 100  # that a search looks at
BEST_PASSAGES = 3  # of a story that count, beside the very best one

# Fitting decides; the others, 0-1 each, settle the order of stories that fit about as well:
# together they weigh as much as a fifth of it. They are a choice, not a measurement.
RECENCY_WEIGHT = 0.1
SOURCES_WEIGHT = 0.06
NOVELTY_WEIGHT = 0.04
RECENT_DAYS = 30.0  # after which recency is down to a half
MANY_SOURCES = 8  # from which on more of them make no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryQuery:
    """The criteria of a story search.

    Attributes:
        collections: none: all.
        since, until: publication dates, inclusive. Neither: the last 30 days.
        top_k: most stories; None takes the setting (qa.max_clusters).
        per_story: most items of each.
    """

    text: str
    collections: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    top_k: int | None = None
    per_story: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItem:
    """A news item of a found story; ``text`` is that of ``span``, cut where it is long."""

    document: DocumentFacts
    span: Span
    title: str
    text: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStory:
    """A story on the topic with its best items, best first."""

    story: Story
    score: float
    fit: float
    similarity: float | None
    items: tuple[FoundItem, ...]


def rank(fit: float, age_days: float, sources: int, novelty: float) -> float:
    """The ranking score of a story; larger is better.

    Args:
        fit: of question and story, 0-1.
        age_days: since the story's last item.
        sources: independent ones that tell it.
        novelty: 0-1, how little its newest item repeats what came before.
    """
    recency = math.pow(0.5, max(0.0, age_days) / RECENT_DAYS)
    witnesses = min(1.0, math.log2(max(1, sources)) / math.log2(MANY_SOURCES))
    return (
        fit
        + RECENCY_WEIGHT * recency
        + SOURCES_WEIGHT * witnesses
        + NOVELTY_WEIGHT * min(1.0, max(0.0, novelty))
    )


def find_stories(
    kb: KnowledgeBase, query: StoryQuery, *, now: datetime | None = None
) -> list[FoundStory]:
    """The stories that fit the question best, best first.

    Stories of which no passage reaches ``retrieval.min_similarity`` are left out.
    """
    now = now or datetime.now(UTC)
    since, until = query.since, query.until
    if since is None and until is None:
        since, until = now - WINDOW, now
    filters = Filters(
        collections=query.collections,
        kinds=kb.settings.stories.kinds,
        published_from=since,
        published_to=until,
    )
    hits = search(kb, query.text, filters, limit=PASSAGES)
    meant = _hits_by_story(kb, hits)
    stories = {story.id: story for story in kb.catalogue.stories.with_text(list(meant))}
    known = any(hit.similarity is not None for hit in hits)
    found = [
        (stories[name], places)
        for name, places in meant.items()
        if name in stories
        and (not known or _similarity(places) >= kb.settings.retrieval.min_similarity)
    ]
    scored = sorted(
        (_scored(story, places, until or now), story.id, story, places) for story, places in found
    )
    top = scored[: query.top_k or kb.settings.qa.max_clusters]
    return [
        FoundStory(
            story=story,
            score=-score,
            fit=_fit(places),
            similarity=_similarity(places) if known else None,
            items=_best_items(kb, places, query.per_story),
        )
        for score, _, story, places in top
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A hit in an item of a story; ``share``: of the shorter of the two, what they share."""

    hit: Hit
    item: ItemPlace
    share: float


def _hits_by_story(kb: KnowledgeBase, hits: Sequence[Hit]) -> dict[str, list[_Place]]:
    """Map each story id to the hits in its items, best first."""
    items = kb.catalogue.stories.places({hit.document.id for hit in hits})
    meant: dict[str, list[_Place]] = {}
    for hit in hits:
        for item in items.get(hit.document.id, ()):
            if item.version == hit.document.version and item.span.overlaps(hit.passage.span):
                share = _shared(item.span, hit.passage.span)
                meant.setdefault(item.story_id, []).append(_Place(hit=hit, item=item, share=share))
    return meant


def _shared(one: Span, other: Span) -> float:
    both = min(one.end, other.end) - max(one.start, other.start)
    return both / min(len(one), len(other))


def _fit(places: Sequence[_Place]) -> float:
    """Half the score of the best passage, half the mean of the best three."""
    best = max(place.hit.score * (1 + place.share) / 2 for place in places)
    scores = sorted((place.hit.score * place.share for place in places), reverse=True)
    return (best + sum(scores[:BEST_PASSAGES]) / BEST_PASSAGES) / 2


def _similarity(places: Sequence[_Place]) -> float:
    return max(place.hit.similarity or 0.0 for place in places)


def _scored(story: Story, places: Sequence[_Place], at: datetime) -> float:
    """The rank, negative, so that the best is first; a story without a date is a year old."""
    age = (at - story.last_at).total_seconds() / 86_400 if story.last_at else 365.0
    return -rank(_fit(places), age, story.sources, story.novelty)


def _best_items(kb: KnowledgeBase, places: Sequence[_Place], limit: int) -> tuple[FoundItem, ...]:
    """The items with the best hits; the best of each group of near-duplicates."""
    scores: dict[ItemKey, tuple[float, _Place]] = {}
    for place in places:
        original = place.item.repeats or place.item.key
        score = place.hit.score * (1 + place.share) / 2
        if original not in scores or score > scores[original][0]:
            scores[original] = (score, place)
    best = sorted(scores.values(), key=lambda pair: (-pair[0], pair[1].item.key))[:limit]
    chosen = [place for _, place in best]
    spans = [_cut(place.item.span) for place in chosen]
    texts = kb.catalogue.texts(
        [(place.item.document_id, span) for place, span in zip(chosen, spans, strict=True)]
    )
    return tuple(
        FoundItem(
            document=place.hit.document,
            span=span,
            title=part_title(
                place.item.span,
                text[:HEAD],
                place.hit.document.title,
                place.hit.document.characters,
            ),
            text=text,
            published_at=place.hit.document.published_at,
        )
        for place, span, text in zip(chosen, spans, texts, strict=True)
    )


def _cut(span: Span) -> Span:
    return Span(start=span.start, end=min(span.end, span.start + ITEM_CHARACTERS))


# --- what is new ---------------------------------------------------------------------------------

DEPTH = 100
OF_A_STORY = 1.1  # times its score, for a passage that tells a story of the time
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_NEWS = re.compile(rf"\b(?:{NEWS_ASKED})\b", re.IGNORECASE)
_NOT_RECENT = "no story of the last 30 days is about this, so all dates were searched"


def news(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
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
    chosen = varied(_joined(hits, beside.hits), settings.top_k, settings.diversity)
    used = {
        hit.document.id for hit in chosen if hit.passage.id in {each.passage.id for each in hits}
    }
    stories = [each for each in told if any(item.document.id in used for item in each.items)]
    if not stories:
        return None
    return Found(
        strategy="stories: " + "; ".join(f"“{each.story.title}”" for each in stories),
        hits=tuple(chosen),
        relaxed=beside.relaxed,
        failures=beside.failures,
        notes=notes,
        traces=(looked, *beside.traces),
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
    searched = search_with_trace(
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
    return list(chosen.values()), searched.trace
