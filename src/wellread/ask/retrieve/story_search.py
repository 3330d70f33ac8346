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

from wellread.ask.retrieve.ranking import Found, varied
from wellread.ask.retrieve.search import search, search_within
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.story_records import ItemKey, ItemPlace, Story
from wellread.text.english import NEWS_ASKED
from wellread.types import DocumentFacts, Filters, Hit, Span
from wellread.values.question import Analysis

WINDOW = timedelta(days=30)  # searched when the asker names no time
ITEM_CHARACTERS = 2_000  # of an item that are used
ITEMS = 3  # of a story
PASSAGES = 100  # considered in a search
BEST_PASSAGES = 3  # of a story that count, beside the very best one
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)  # the start of a search of all times

# Relevance decides; the others, 0-1 each, order stories that are about equally relevant: together
# they weigh as much as a fifth of it. They are a choice, not a measurement.
RECENCY_WEIGHT = 0.1
SOURCES_WEIGHT = 0.06
NOVELTY_WEIGHT = 0.04
RECENT_DAYS = 30.0  # after which recency is down to a half
MANY_SOURCES = 8  # from which on more of them make no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStory:
    """A story on the topic; ``items`` are the documents and spans of its best items, best first."""

    story: Story
    score: float
    similarity: float | None
    items: tuple[tuple[DocumentFacts, Span], ...]


def rank(fit: float, age_days: float, sources: int, novelty: float) -> float:
    """The ranking score of a story; larger is better."""
    recency = math.pow(0.5, max(0.0, age_days) / RECENT_DAYS)
    witnesses = min(1.0, math.log2(max(1, sources)) / math.log2(MANY_SOURCES))
    return (
        fit
        + RECENCY_WEIGHT * recency
        + SOURCES_WEIGHT * witnesses
        + NOVELTY_WEIGHT * min(1.0, max(0.0, novelty))
    )


def find_stories(
    kb: KnowledgeBase,
    text: str,
    limits: Filters,
    *,
    top_k: int | None = None,
    now: datetime | None = None,
) -> list[FoundStory]:
    """The stories that fit the question best, best first.

    Stories of which no passage reaches ``retrieval.min_similarity`` are left out.
    """
    now = now or datetime.now(UTC)
    since, until = limits.published_from, limits.published_to
    if since is None and until is None:
        since, until = now - WINDOW, now
    filters = Filters(
        collections=limits.collections,
        kinds=kb.settings.stories.kinds,
        published_from=since,
        published_to=until,
    )
    hits = search(kb, text, filters, limit=PASSAGES)
    by_story = _hits_by_story(kb, hits)
    known = any(hit.similarity is not None for hit in hits)
    found = []
    for story in kb.catalogue.stories.with_text(list(by_story)):
        places = by_story[story.id]
        similarity = max(place.hit.similarity or 0.0 for place in places)
        if known and similarity < kb.settings.retrieval.min_similarity:
            continue
        last = story.last_at
        age = ((until or now) - last).total_seconds() / 86_400 if last else 365.0
        found.append(
            FoundStory(
                story=story,
                score=rank(_fit(places), age, story.sources, story.novelty),
                similarity=similarity if known else None,
                items=tuple(_best_items(places)),
            )
        )
    found.sort(key=lambda one: (-one.score, one.story.id))
    return found[: top_k or kb.settings.qa.max_clusters]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A hit in an item of a story; ``share``: of the shorter of the two, what they share."""

    hit: Hit
    item: ItemPlace
    share: float

    @property
    def score(self) -> float:
        """The hit's score, up to half less the less of it is the item's."""
        return self.hit.score * (1 + self.share) / 2


def _hits_by_story(kb: KnowledgeBase, hits: Sequence[Hit]) -> dict[str, list[_Place]]:
    """Map each story id to the hits in its items, best first."""
    items = kb.catalogue.stories.places({hit.document.id for hit in hits})
    by_story: dict[str, list[_Place]] = {}
    for hit in hits:
        for item in items.get(hit.document.id, ()):
            one, other = item.span, hit.passage.span
            if item.version == hit.document.version and one.overlaps(other):
                both = min(one.end, other.end) - max(one.start, other.start)
                place = _Place(hit=hit, item=item, share=both / min(len(one), len(other)))
                by_story.setdefault(item.story_id, []).append(place)
    return by_story


def _fit(places: Sequence[_Place]) -> float:
    """Half the score of the best passage, half the mean of the best three."""
    best = max(place.score for place in places)
    scores = sorted((place.hit.score * place.share for place in places), reverse=True)
    return (best + sum(scores[:BEST_PASSAGES]) / BEST_PASSAGES) / 2


def _best_items(places: Sequence[_Place]) -> list[tuple[DocumentFacts, Span]]:
    """The items with the best hits; the best of each group of near-duplicates."""
    best: dict[ItemKey, _Place] = {}
    for place in places:
        original = place.item.repeats or place.item.key
        if original not in best or place.score > best[original].score:
            best[original] = place
    chosen = sorted(best.values(), key=lambda place: (-place.score, place.item.key))[:ITEMS]
    return [
        (
            place.hit.document,
            replace(
                place.item.span,
                end=min(place.item.span.end, place.item.span.start + ITEM_CHARACTERS),
            ),
        )
        for place in chosen
    ]


# --- what is new ---------------------------------------------------------------------------------

DEPTH = 100
OF_A_STORY = 1.1  # times its score, for a passage that tells a story of the time
_NEWS = re.compile(rf"\b(?:{NEWS_ASKED})\b", re.IGNORECASE)
_NOT_RECENT = "no story of the last 30 days is about this, so all dates were searched"


def news(kb: KnowledgeBase, analysis: Analysis) -> Found | None:
    """The best items of the stories that fit, and what else is found.

    None if the question does not ask for news, or no story fits. Without a time in the question
    the stories of the last 30 days come first; if there are none, those of all times, and a note
    says so. Stories keep to the limits that passages do.
    """
    if not _NEWS.search(analysis.question):
        return None
    settings = kb.settings.retrieval
    beside = search_within(kb, analysis, analysis.searched, settings.top_k)
    stories, notes = _stories(kb, analysis, beside.filters)
    if not stories:
        return None
    by_id = {hit.passage.id: hit for hit in beside.hits}
    of_stories = _passages(kb, analysis.searched, beside.filters, stories)
    for hit in of_stories:
        other = by_id.get(hit.passage.id, hit)
        score = min(1.0, max(hit.score, other.score) * OF_A_STORY)
        by_id[hit.passage.id] = replace(other, score=score)
    hits = sorted(by_id.values(), key=lambda hit: (-hit.score, hit.passage.id))
    chosen = varied(hits, settings.top_k, settings.diversity)
    story_ids = {hit.passage.id for hit in of_stories}
    used = {hit.document.id for hit in chosen if hit.passage.id in story_ids}
    stories = [one for one in stories if any(document.id in used for document, _ in one.items)]
    if not stories:
        return None
    return replace(
        beside,
        strategy="stories: " + "; ".join(f"“{one.story.title}”" for one in stories),
        hits=tuple(chosen),
        notes=notes,
        clusters=len(stories),
    )


def _stories(
    kb: KnowledgeBase, analysis: Analysis, filters: Filters
) -> tuple[list[FoundStory], tuple[str, ...]]:
    """The stories of the requested or the last time, else of all times, with a note for readers."""
    text, most = analysis.subject or analysis.question, analysis.max_clusters
    timed = filters.published_from is not None or filters.published_to is not None
    # A requested time that is not among the filters was relaxed, which another note says.
    relaxed = not timed and any(limit.kind == "time" for limit in analysis.constraints)
    stories = [] if relaxed else find_stories(kb, text, filters, top_k=most)
    if stories or timed:
        return stories, ()
    stories = find_stories(kb, text, replace(filters, published_from=BEGINNING), top_k=most)
    return stories, (_NOT_RECENT,) if stories and not relaxed else ()


def _passages(
    kb: KnowledgeBase, text: str, filters: Filters, stories: Sequence[FoundStory]
) -> list[Hit]:
    """The best passage of each item, story by story, within ``filters``."""
    items = [item for story in stories for item in story.items]
    documents = tuple(dict.fromkeys(document.id for document, _ in items))
    if filters.document_ids:
        documents = tuple(name for name in documents if name in filters.document_ids) or ("",)
    hits = search(kb, text, replace(filters, document_ids=documents), limit=DEPTH)
    chosen: dict[str, Hit] = {}
    for document, span in items:
        inside = (hit for hit in hits if hit.document.id == document.id)
        best = next((hit for hit in inside if hit.passage.span.overlaps(span)), None)
        if best is not None:
            chosen.setdefault(best.passage.id, best)
    return list(chosen.values())
