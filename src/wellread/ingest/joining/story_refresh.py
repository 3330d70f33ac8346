"""What is made of a collection as a whole, once a run has written its sources.

The names of entities are looked for (``mention_linking.py``), and stories are built: documents are
cut into news items, these are put into stories, and stories are told.

Every step is kept in one transaction per batch, and every next step reads what is left to do from
the catalogue, so that a killed pass goes on where it was, and a pass without news costs a query
or two. Items go into stories in the order of their dates (``story_clusters.py``); what is told of
a story is made anew when its items changed (``story_text.py``).

A news item is a whole article, unless the article is a digest (a newsletter, a weekly round-up):
then its top-level list items are news items, each with the paragraphs that follow it, and so are
its sections without a list, long ones cut at paragraphs. What only leads in ("this week's
newsletter summarises …"), contents lists, footnotes and stubs are no news.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

from wellread.identity import tagged_hash
from wellread.ingest.joining.mention_linking import link_mentions
from wellread.ingest.joining.story_clusters import Clusters, PlacedItem
from wellread.ingest.joining.story_text import central_items, text_of
from wellread.ingest.joining.story_words import (
    SCHEME,
    packed,
    packed_signature,
    unpacked,
    unpacked_signature,
)
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.stories.story_rows import ItemRecord, WaitingDocument
from wellread.text.sentences import HEAD, headline
from wellread.types import Document, HeadingMark, Span

SHORTEST = 45  # characters: below, a list item is a line of a contents list or a stub
LEAST_ITEMS = 3  # substantial list items that make a document a digest …
LEAST_SHARE = 0.4  # … when they hold this share of its text
LONGEST_PROSE = 2_000  # characters: longer prose without a list is cut at paragraphs
LONGEST_LEAD_IN = 600  # characters: paragraphs before a list that hold more are news themselves

_BLOCK = re.compile(r"\S.*?(?=\n\n|\Z)", re.DOTALL)
_BULLET = re.compile(r"^[-*•] +(?=\S)", re.MULTILINE)
# A list item that goes on with a sentence begun before the list.
_CONTINUES = re.compile(r"[a-z]+ ")
_NAMED_DIGEST = re.compile(
    r"\b(newsletter|digest|round-?up|briefing|bulletin|week in|weekly|year[- ]in[- ]review)\b",
    re.IGNORECASE,
)
_NO_NEWS = re.compile(r"(footnotes?|notes|references|(table of )?contents)", re.IGNORECASE)

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A stretch of the text under one heading; ``listed``: a list item with what follows it."""

    span: Span
    section: Section
    listed: bool


def news_items(document: Document) -> list[Span]:
    """The news items of ``document``, in order; they do not overlap.

    An article that is no digest is one item. A digest in which nothing substantial is found
    is one item too, so that no article is lost.
    """
    parts = _parts(document)
    if _is_digest(document, parts):
        items = [part.span for part in _news(parts)]
        if items:
            return items
    text = document.text
    start = len(text) - len(text.lstrip())
    return [Span(start=start, end=max(start, len(text.rstrip())))]


def _parts(document: Document) -> list[_Part]:
    """The text as list items with what follows them, and as prose from its heading on."""
    parts: list[_Part] = []
    for span, section, listed in _pieces(document):
        last = parts[-1] if parts else None
        if last is None or last.section != section or listed or _full(last, span):
            parts.append(_Part(span=span, section=section, listed=listed))
        else:
            parts[-1] = replace(last, span=Span(start=last.span.start, end=span.end))
    return parts


def _full(part: _Part, more: Span) -> bool:
    return not part.listed and more.end - part.span.start > LONGEST_PROSE


def _pieces(document: Document) -> Iterator[tuple[Span, Section, bool]]:
    """Paragraphs and single list items in reading order; whether it opens a list item."""
    text = document.text
    headings = sorted(
        (mark for mark in document.marks if isinstance(mark, HeadingMark)),
        key=lambda mark: (mark.start, -mark.end),
    )
    section: Section = ()
    heading: int | None = None  # where the line of a heading begins, right above
    waiting = iter([*headings, None])
    following = next(waiting)
    for block in _BLOCK.finditer(text):
        while following and following.start <= block.start():
            section, following = following.path, next(waiting)
        if section and block.group().strip() == section[-1]:
            heading = block.start()
            continue
        starts = [found.start() for found in _BULLET.finditer(text, block.start(), block.end())]
        borders = sorted({block.start(), *starts, block.end()})
        for start, end in pairwise(borders):
            bullet = _BULLET.match(text, start) if start in starts else None
            begin = bullet.end() if bullet else start
            listed = bullet is not None and not _CONTINUES.match(text, begin)
            stop = begin + len(text[begin:end].rstrip())
            if heading is not None and bullet is None:
                begin = heading
            heading = None
            yield Span(start=begin, end=stop), section, listed


def _is_digest(document: Document, parts: list[_Part]) -> bool:
    if _NAMED_DIGEST.search(f"{document.title} {document.source_type}"):
        return len(parts) > 1
    listed = [len(part.span) for part in parts if part.listed and len(part.span) >= SHORTEST]
    return len(listed) >= LEAST_ITEMS and sum(listed) >= LEAST_SHARE * len(document.text)


def _news(parts: list[_Part]) -> Iterator[_Part]:
    """The parts that are news: no lead-in, no footnotes, no stub."""
    with_list = {part.section for part in parts if part.listed}
    for part in parts:
        leads_in = not part.section or (
            part.section in with_list and len(part.span) <= LONGEST_LEAD_IN
        )
        stub = len(part.span) < SHORTEST
        aside = bool(part.section and _NO_NEWS.fullmatch(part.section[-1]))
        if not stub and not aside and (part.listed or not leads_in):
            yield part


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


def finish_run(kb: KnowledgeBase, collection: str) -> None:
    """Bring what joins documents up to date: who names whom, what belongs to one story, and which
    feedback counts still.

    Cheap when nothing changed; safe to kill, since the next run takes up what is left.

    Raises:
        StoreError: the catalogue refused.
        ModelError: the embedder failed.
    """
    linked = link_mentions(kb.catalogue, collection)
    stories = refresh(kb, collection)
    if linked.scanned or stories.documents or stories.told:
        kb.catalogue.answer_cache.joined(collection)  # answers before it knew less
    kb.catalogue.expiry.sweep()


def refresh(kb: KnowledgeBase, collection: str) -> StoryReport:
    """Bring the stories of a collection up to date with its documents.

    Other rules or settings than the stories were made with make them anew.

    Raises:
        StoreError: the catalogue refused; batches that were kept stay.
    """
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
    return StoryReport(documents=documents, items=items, repeats=repeats, told=told)


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
            fresh = tagged_hash("sty", collection, one.document_id, one.version, span.start)
            key = (one.document_id, span.start)
            placed = clusters.place(key, title, text, one.published_at, fresh)
            batch.append(
                ItemRecord(
                    document_id=one.document_id,
                    version=one.version,
                    span=span,
                    story_id=placed.story,
                    published_at=one.published_at,
                    vector=packed(placed.vector),
                    fingerprint=packed_signature(placed.signature),
                    repeats=placed.repeats,
                )
            )
        if len(batch) >= BATCH_ITEMS:
            yield batch
            batch = []
    if batch:
        yield batch


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
