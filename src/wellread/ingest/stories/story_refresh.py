"""Builds stories at the end of every run: cut into news items, put into stories, told.

Every step is kept in one transaction per batch, and every next step reads what is left to do from
the catalogue, so that a killed pass goes on where it was, and a pass without news costs a query
or two. Items go into stories in the order of their dates (``story_clusters.py``); what is told of
a story is made anew when its items changed (``story_text.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from wellread.headlines import HEAD, headline
from wellread.identity import tagged_hash
from wellread.ingest.stories.story_clusters import Clusters, PlacedItem
from wellread.ingest.stories.story_items import news_items
from wellread.ingest.stories.story_text import central_items, text_of
from wellread.ingest.stories.story_words import (
    SCHEME,
    packed,
    packed_signature,
    unpacked,
    unpacked_signature,
)
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.stories.story_rows import ItemRecord, WaitingDocument
from wellread.types import Span

logger = logging.getLogger(__name__)

BATCH_ITEMS = 500  # kept in one transaction
TOLD_AT_ONCE = 64  # stories that get their text in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryReport:
    """What a refresh did.

    Attributes:
        documents: cut into news items; the others were up to date.
        items: news items found in them.
        repeats: those of them that are near-duplicates of others.
        told: stories that got a new text.
    """

    documents: int = 0
    items: int = 0
    repeats: int = 0
    told: int = 0
    seconds: float = 0.0


def refresh(kb: KnowledgeBase, collection: str) -> StoryReport:
    """Bring the stories of a collection up to date with its documents.

    Other rules or settings than the stories were made with make them anew.

    Raises:
        StoreError: the catalogue refused; batches that were kept stay.
    """
    started = time.perf_counter()
    if not kb.settings.stories.enabled:
        return StoryReport()
    stored = kb.catalogue.stories
    if stored.begin(collection, _rules(kb)):
        logger.info("making the stories of %s anew, because of other settings", collection)
    documents, items, repeats = _place(kb, collection)
    untold = stored.untold(collection)
    told = 0
    for start in range(0, len(untold), TOLD_AT_ONCE):
        told += _tell(kb, untold[start : start + TOLD_AT_ONCE])
    if untold:
        stored.drop_empty(collection)
        logger.info("%s: %d new news items, %d stories told", collection, items, told)
    return StoryReport(
        documents=documents,
        items=items,
        repeats=repeats,
        told=told,
        seconds=time.perf_counter() - started,
    )


def _rules(kb: KnowledgeBase) -> str:
    """Changes with everything that decides which items are in which story."""
    settings = kb.settings.stories
    return f"{SCHEME}/{settings.join_threshold}/{settings.window_days}"


def _place(kb: KnowledgeBase, collection: str) -> tuple[int, int, int]:
    """Put what is new into stories; how many documents, items, and copies among these."""
    stored = kb.catalogue.stories
    kinds = kb.settings.stories.kinds
    stored.drop_others(collection, kinds)
    documents = items = repeats = 0
    waiting = stored.waiting(collection, kinds)
    if waiting:
        clusters = _clusters(kb, collection)
        for batch in _batches(kb, collection, clusters, waiting):
            stored.keep(collection, batch)
            documents += len({item.document_id for item in batch})
            items += len(batch)
            repeats += sum(item.repeats is not None for item in batch)
    return documents, items, repeats


def _clusters(kb: KnowledgeBase, collection: str) -> Clusters:
    """The stories as they were left, ready for more items."""
    settings = kb.settings.stories
    window = timedelta(days=settings.window_days) if settings.window_days else None
    clusters = Clusters(settings.join_threshold, window)
    clusters.restore(
        (
            PlacedItem(
                key=item.key,
                story=item.story_id,
                vector=unpacked(item.vector),
                signature=unpacked_signature(item.fingerprint),
                repeats=item.repeats,
            ),
            item.published_at,
        )
        for item in kb.catalogue.stories.placed(collection)
    )
    return clusters


def _batches(
    kb: KnowledgeBase, collection: str, clusters: Clusters, waiting: Sequence[WaitingDocument]
) -> Iterator[list[ItemRecord]]:
    """The items of whole documents, each in its story, in the order of dates."""
    batch: list[ItemRecord] = []
    for one in waiting:
        document = kb.catalogue.document(one.document_id)
        if document is None:
            continue  # removed meanwhile
        for span in news_items(document):
            text = span.of(document.text)
            title = headline(span, text[:HEAD], document.title, len(document.text))
            placed = clusters.place(
                (one.document_id, span.start),
                title,
                text,
                one.published_at,
                tagged_hash("sty", collection, one.document_id, one.version, span.start),
            )
            batch.append(_record(one, span, placed))
        if len(batch) >= BATCH_ITEMS:
            yield batch
            batch = []
    if batch:
        yield batch


def _record(document: WaitingDocument, span: Span, placed: PlacedItem) -> ItemRecord:
    return ItemRecord(
        document_id=document.document_id,
        version=document.version,
        span=span,
        story_id=placed.story,
        published_at=document.published_at,
        vector=packed(placed.vector),
        fingerprint=packed_signature(placed.signature),
        repeats=placed.repeats,
    )


def _tell(kb: KnowledgeBase, story_ids: Sequence[str]) -> int:
    """Make titles, summaries and figures of these stories anew; how many."""
    stored = kb.catalogue.stories
    materials = [(known, stored.material(known, central_items)) for known in story_ids]
    return stored.tell(
        [
            (known, material.items, text_of(material))
            for known, material in materials
            if material.items
        ]
    )
