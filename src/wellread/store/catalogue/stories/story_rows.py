"""The values of stories, and how they become rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from wellread.types import DocumentFacts, Span

ItemKey = tuple[str, int]  # (document id, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDocument:
    """A document whose live version was not cut into news items yet."""

    document_id: str
    version: str
    published_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord:
    """A news item as it is kept: the part ``span`` of a version of a document.

    Attributes:
        vector, fingerprint: what ``ingest/joining/story_words.py`` packs of its words.
        repeats: the item of which this one is a near-duplicate.
    """

    document_id: str
    version: str
    span: Span
    story_id: str
    published_at: datetime | None
    vector: bytes
    fingerprint: bytes
    repeats: ItemKey | None = None

    @property
    def key(self) -> ItemKey:
        """Names the item in its collection."""
        return self.document_id, self.span.start


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlace:
    """Where a news item stands, and in which story."""

    document_id: str
    version: str
    span: Span
    story_id: str
    repeats: ItemKey | None

    @property
    def key(self) -> ItemKey:
        """Names the item in its collection."""
        return self.document_id, self.span.start


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySentence:
    """A sentence of a story's summary, and where it stands: ``text`` is verbatim."""

    document_id: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryText:
    """What is told of a story, made of its items.

    Attributes:
        terms: the words that set it apart, heaviest first, as they are written.
        centre: what the items have in common, as ``ingest/joining/story_words.py`` packs it.
        scheme: the rules by which the centre was made.
        sources: independent ones: web hosts, or documents that have none; copies not counted.
        novelty: 0-1, how little the newest item repeats what came before.
    """

    title: str
    summary: tuple[SummarySentence, ...]
    terms: tuple[str, ...]
    centre: bytes
    scheme: str
    sources: int
    novelty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story without its items.

    Attributes:
        dirty: something that it was made of changed or went; its text is made anew by the next
            run. Until then title, summary and terms may be empty.
        centre, scheme: as in ``StoryText``; empty until it is told.
    """

    id: str
    collection: str
    title: str
    summary: tuple[SummarySentence, ...]
    terms: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    items: int
    sources: int
    novelty: float
    dirty: bool
    centre: bytes
    scheme: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryItem:
    """A news item as it is shown."""

    document: DocumentFacts
    span: Span
    title: str
    published_at: datetime | None
    repeats: ItemKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a story's text is made of.

    Attributes:
        items: all items, by date.
        texts: the text of the chosen ones, in the order in which they were chosen.
        documents: the facts of every item's document.
    """

    items: Sequence[ItemRecord]
    chosen: Sequence[ItemRecord]
    texts: Sequence[str]
    documents: dict[str, DocumentFacts]


def item_row(item: ItemRecord) -> dict[str, Any]:
    """The row of an item."""
    return {
        "document_id": item.document_id,
        "start": item.span.start,
        "end": item.span.end,
        "version": item.version,
        "story_id": item.story_id,
        "published_at": item.published_at,
        "vector": item.vector,
        "fingerprint": item.fingerprint,
        "repeats": item_name(item.repeats) if item.repeats else "",
    }


def item_of(row: Any) -> ItemRecord:
    """The item of a row."""
    return ItemRecord(
        document_id=row.document_id,
        version=row.version,
        span=Span(start=row.start, end=row.end),
        story_id=row.story_id,
        published_at=row.published_at,
        vector=row.vector,
        fingerprint=row.fingerprint,
        repeats=key_of(row.repeats),
    )


def place_of(row: Any) -> ItemPlace:
    """The place of an item of a row."""
    return ItemPlace(
        document_id=row.document_id,
        version=row.version,
        span=Span(start=row.start, end=row.end),
        story_id=row.story_id,
        repeats=key_of(row.repeats),
    )


def item_name(key: ItemKey) -> str:
    """``document_id:start``."""
    return f"{key[0]}:{key[1]}"


def key_of(name: str) -> ItemKey | None:
    """The key that ``item_name`` wrote; None for an empty name."""
    document_id, _, start = name.rpartition(":")
    return (document_id, int(start)) if document_id else None


def story_of(row: Any) -> Story:
    """The story of a row of its table."""
    return Story(
        id=row.id,
        collection=row.collection,
        title=row.title,
        summary=_summary_of(row.summary),
        terms=tuple(row.terms),
        first_at=row.first_at,
        last_at=row.last_at,
        items=row.items,
        sources=row.sources,
        novelty=row.novelty,
        dirty=row.dirty,
        centre=row.centroid,
        scheme=row.embedder,
    )


def summary_text(summary: Sequence[SummarySentence]) -> str:
    """The sentences of a summary as they are stored."""
    lines = [[one.document_id, one.span.start, one.span.end, one.text] for one in summary]
    return json.dumps(lines, ensure_ascii=False)


def _summary_of(stored: str) -> tuple[SummarySentence, ...]:
    return tuple(
        SummarySentence(document_id=known, span=Span(start=start, end=end), text=text)
        for known, start, end, text in json.loads(stored)
    )


def told_row(items: Sequence[ItemRecord], text: StoryText) -> dict[str, Any]:
    """The columns of a story that is told of these items."""
    dates = [item.published_at for item in items if item.published_at]
    return {
        "title": text.title,
        "summary": summary_text(text.summary),
        "terms": list(text.terms),
        "centroid": text.centre,
        "embedder": text.scheme,
        "first_at": min(dates, default=None),
        "last_at": max(dates, default=None),
        "items": len(items),
        "sources": text.sources,
        "novelty": text.novelty,
        "dirty": False,
    }


def blank(*, dirty: bool = True) -> dict[str, Any]:
    """The columns of a story that hold words of its sources, emptied."""
    return {
        "title": "",
        "summary": "[]",
        "terms": [],
        "centroid": b"",
        "embedder": "",
        "novelty": 0.0,
        "dirty": dirty,
    }
