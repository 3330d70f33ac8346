"""Finds the stories that a question is about, and the best news items of each.

Similarity to the story decides most; among stories that fit about as well, the recent, the widely
told and those with something new go first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from wellread.ask.retrieve import check_collections, search
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.story_rows import Story, StoryItem
from wellread.types import DocumentFacts, Filters, Hit, Span

WINDOW = timedelta(days=30)  # looked at when the asker names no time
ITEM_CHARACTERS = 2_000  # of an item that are given on
MOST_DOCUMENTS = 300  # whose passages are compared to find the best items
PASSAGES_PER_STORY = 20

# Similarity decides; the others, 0-1 each, settle the order of stories that fit about as well:
# together they weigh as much as a difference of similarity of a fifth.
SIMILARITY_WEIGHT = 1.0
RECENCY_WEIGHT = 0.1
SOURCES_WEIGHT = 0.06
NOVELTY_WEIGHT = 0.04
RECENT_DAYS = 30.0  # after which recency is down to a half
MANY_SOURCES = 8  # from which on more of them make no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryQuery:
    """Which stories are wanted.

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
    """A story that a question is about, with its best items, best first."""

    story: Story
    score: float
    similarity: float
    items: tuple[FoundItem, ...]


def rank(similarity: float, age_days: float, sources: int, novelty: float) -> float:
    """How far up a story belongs; larger is better.

    Args:
        similarity: cosine of question and story.
        age_days: since the story's last item.
        sources: independent ones that tell it.
        novelty: 0-1, how little its newest item repeats what came before.
    """
    recency = math.pow(0.5, max(0.0, age_days) / RECENT_DAYS)
    witnesses = min(1.0, math.log2(max(1, sources)) / math.log2(MANY_SOURCES))
    return (
        SIMILARITY_WEIGHT * similarity
        + RECENCY_WEIGHT * recency
        + SOURCES_WEIGHT * witnesses
        + NOVELTY_WEIGHT * min(1.0, max(0.0, novelty))
    )


def find_stories(
    kb: KnowledgeBase, query: StoryQuery, *, now: datetime | None = None
) -> list[FoundStory]:
    """The stories nearest to the question, best first; none below ``retrieval.min_similarity``.

    Raises:
        UnknownCollectionError: the query names a collection that does not exist.
        ModelError, StoreError: the question cannot be embedded, or a store refused.
    """
    check_collections(kb, Filters(collections=query.collections))
    now = now or datetime.now(UTC)
    since, until = query.since, query.until
    if since is None and until is None:
        since, until = now - WINDOW, now
    stories = kb.catalogue.stories.latest(query.collections, since, until)
    found = _nearest(kb, query, stories, until or now)
    if not found:
        return []
    items = {
        one.story.id: _inside(kb.catalogue.stories.items(one.story.id), since, until)
        for one in found
    }
    best = _best_items(kb, query, items)
    return [
        FoundStory(
            story=one.story,
            score=one.score,
            similarity=one.similarity,
            items=_with_texts(kb, best[one.story.id]),
        )
        for one in found
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Near:
    story: Story
    score: float
    similarity: float


def _nearest(
    kb: KnowledgeBase, query: StoryQuery, stories: Sequence[Story], at: datetime
) -> list[_Near]:
    parts = kb.live()
    # Stories that were told with another embedder cannot be compared until the next run.
    fitting = [story for story in stories if story.embedder == parts.fingerprint.embedder]
    if not fitting:
        return []
    vector = parts.embedder.embed([query.text], "query")[0]
    similar = np.stack([story.centroid for story in fitting]) @ vector
    near = [
        _Near(
            story=story,
            score=rank(value, _age(story, at), story.sources, story.novelty),
            similarity=value,
        )
        for story, value in zip(fitting, similar.tolist(), strict=True)
        if value >= kb.settings.retrieval.min_similarity
    ]
    near.sort(key=lambda one: (-one.score, one.story.id))
    return near[: query.top_k or kb.settings.qa.max_clusters]


def _age(story: Story, at: datetime) -> float:
    """Days from the story's last item; a story without a date counts as a year old."""
    return (at - story.last_at).total_seconds() / 86_400 if story.last_at else 365.0


def _inside(
    items: Sequence[StoryItem], since: datetime | None, until: datetime | None
) -> list[StoryItem]:
    """The items of a time window; copies only of what is not in it."""
    inside = [
        item
        for item in items
        if item.published_at is not None
        and (since is None or item.published_at >= since)
        and (until is None or item.published_at <= until)
    ]
    there = {(item.document.id, item.span.start) for item in inside}
    return [item for item in inside if item.repeats not in there]


def _best_items(
    kb: KnowledgeBase, query: StoryQuery, items: Mapping[str, Sequence[StoryItem]]
) -> dict[str, list[StoryItem]]:
    """The best items of each story: those in which a search finds the question, then new ones."""
    newest = sorted(
        (item for several in items.values() for item in several),
        key=lambda item: item.published_at or datetime.min.replace(tzinfo=UTC),
        reverse=True,
    )
    documents = tuple(dict.fromkeys(item.document.id for item in newest))[:MOST_DOCUMENTS]
    hits = search(
        kb,
        query.text,
        Filters(collections=query.collections, document_ids=documents),
        limit=PASSAGES_PER_STORY * len(items),
    )
    places = _places(hits)
    return {
        known: sorted(
            newest_first, key=lambda item: _first_hit(item, places.get(item.document.id, ()))
        )[: query.per_story]
        for known, several in items.items()
        for newest_first in [several[::-1]]
    }


def _places(hits: Sequence[Hit]) -> dict[str, list[tuple[int, Span]]]:
    """Document id to rank and span of each hit in it."""
    places: dict[str, list[tuple[int, Span]]] = {}
    for place, hit in enumerate(hits):
        places.setdefault(hit.document.id, []).append((place, hit.passage.span))
    return places


def _first_hit(item: StoryItem, places: Sequence[tuple[int, Span]]) -> float:
    return min((place for place, span in places if span.overlaps(item.span)), default=math.inf)


def _with_texts(kb: KnowledgeBase, items: Sequence[StoryItem]) -> tuple[FoundItem, ...]:
    spans = [
        Span(start=item.span.start, end=min(item.span.end, item.span.start + ITEM_CHARACTERS))
        for item in items
    ]
    texts = kb.catalogue.texts(
        [(item.document.id, span) for item, span in zip(items, spans, strict=True)]
    )
    return tuple(
        FoundItem(
            document=item.document,
            span=span,
            title=item.title,
            text=text,
            published_at=item.published_at,
        )
        for item, span, text in zip(items, spans, texts, strict=True)
    )
