"""The entries of a timeline: stories, news items, documents and mentions in one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.store.catalogue.documents.listings import ListedDocument
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.mention_records import Mention
from wellread.store.catalogue.stories.story_rows import Story, StoryItem
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Locator, Span

EntryKind = Literal["story", "news", "document", "mention"]
EVERY_MENTION = 1_000_000
LONGEST_OPENING = 300  # characters of a document that stand for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something dated, with a place in the material that shows it.

    Attributes:
        at, last: when it happened; ``last`` is later for a story that went on.
        count: news items of a story, or how often a document names the entity; else 1.
        document, span, text, locator, passage_id: the place; None and empty for a story that has
            no summary just now.
        repeats: a news item that repeats an earlier one.
    """

    kind: EntryKind
    at: datetime
    last: datetime
    title: str
    count: int = 1
    story_id: str = ""
    repeats: bool = False
    document: DocumentFacts | None = None
    span: Span | None = None
    text: str = ""
    locator: Locator | None = None
    passage_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentioningDocument:
    """A document that names an entity: how often, and where first."""

    document_id: str
    published_at: datetime | None
    count: int
    first: Span


def mentioning(kb: KnowledgeBase, node: EntityNode) -> list[MentioningDocument]:
    """Every document that names the entity."""
    places: dict[str, list[Mention]] = {}
    for one in kb.catalogue.graph.mentions_of([node.collection], node.id, EVERY_MENTION):
        places.setdefault(one.document_id, []).append(one)
    return [
        MentioningDocument(
            document_id=known,
            published_at=mentions[0].published_at,
            count=len(mentions),
            first=mentions[0].span,
        )
        for known, mentions in places.items()
    ]


def of_mentions(kb: KnowledgeBase, found: Sequence[MentioningDocument]) -> list[Entry]:
    """Documents that name an entity, each with the sentence that does so first."""
    ids = kb.catalogue.listings.covering([(one.document_id, one.first.start) for one in found])
    passages = kb.catalogue.live_passages(filter(None, ids))
    facts = kb.catalogue.facts({one.document_id for one in found})
    made: list[Entry] = []
    for one, known in zip(found, ids, strict=True):
        document = facts.get(one.document_id)
        if document is None or one.published_at is None:
            continue
        span = one.first
        if known in passages:
            span = _sentence(passages[known].text, passages[known].span.start, one.first)
        made.append(
            Entry(
                kind="mention",
                at=one.published_at,
                last=one.published_at,
                title=document.title,
                count=one.count,
                document=document,
                span=span,
                passage_id=known,
            )
        )
    return _placed(kb, made)


def of_stories(kb: KnowledgeBase, stories: Sequence[Story]) -> list[Entry]:
    """Stories, each with the first sentence of its summary."""
    heads = [story.summary[0] if story.summary else None for story in stories]
    places = [(head.document_id, head.span.start) for head in heads if head]
    ids = iter(kb.catalogue.listings.covering(places))
    facts = kb.catalogue.facts({known for known, _ in places})
    made: list[Entry] = []
    for story, head in zip(stories, heads, strict=True):
        passage_id = next(ids) if head else ""
        if story.first_at is None:
            continue
        document = facts.get(head.document_id) if head else None
        made.append(
            Entry(
                kind="story",
                at=story.first_at,
                last=story.last_at or story.first_at,
                title=story.title,
                count=story.items,
                story_id=story.id,
                document=document,
                span=head.span if head and document else None,
                passage_id=passage_id if document else "",
            )
        )
    return _placed(kb, made)


def of_news(kb: KnowledgeBase, items: Sequence[StoryItem]) -> list[Entry]:
    """The news items of a story, each with its first sentence."""
    ids = kb.catalogue.listings.covering([(one.document.id, one.span.start) for one in items])
    heads = [
        Span(start=one.span.start, end=min(one.span.end, one.span.start + LONGEST_OPENING))
        for one in items
    ]
    texts = kb.catalogue.texts(
        [(one.document.id, head) for one, head in zip(items, heads, strict=True)]
    )
    made = [
        Entry(
            kind="news",
            at=one.published_at,
            last=one.published_at,
            title=one.title,
            repeats=one.repeats is not None,
            document=one.document,
            span=_opening(text, head.start),
            passage_id=known,
        )
        for one, known, head, text in zip(items, ids, heads, texts, strict=True)
        if one.published_at
    ]
    return _placed(kb, made)


def of_documents(kb: KnowledgeBase, documents: Sequence[ListedDocument]) -> list[Entry]:
    """Documents, each with its first sentence."""
    openings = kb.catalogue.listings.openings([one.facts.id for one in documents])
    made: list[Entry] = []
    for one in documents:
        if one.facts.published_at is None:
            continue
        opening = openings.get(one.facts.id)
        made.append(
            Entry(
                kind="document",
                at=one.facts.published_at,
                last=one.facts.published_at,
                title=one.facts.title,
                document=one.facts,
                span=(
                    _opening(opening.text[:LONGEST_OPENING], opening.span.start)
                    if opening
                    else Span(start=0, end=0)
                ),
                passage_id=opening.id if opening else "",
            )
        )
    return _placed(kb, made)


def _placed(kb: KnowledgeBase, made: Sequence[Entry]) -> list[Entry]:
    """The entries with the text and the locator of their span."""
    places = [(one.document.id, one.span) for one in made if one.document and one.span]
    texts = iter(kb.catalogue.texts(places))
    marks = iter(kb.catalogue.marks_over(places))
    return [
        replace(one, text=next(texts), locator=Marks(next(marks)).locate(one.span))
        if one.document and one.span
        else one
        for one in made
    ]


def _sentence(text: str, offset: int, name: Span) -> Span:
    """The sentence of the passage ``text``, which starts at ``offset``, that the name stands in."""
    inside = Span(start=name.start - offset, end=name.end - offset)
    over = [span for span in sentence_spans(text) if span.overlaps(inside)]
    start = min(over[0].start if over else inside.start, inside.start)
    end = max(over[-1].end if over else inside.end, inside.end)
    return Span(start=offset + start, end=offset + end)


def _opening(text: str, offset: int) -> Span:
    """The first sentence of ``text``, which starts at ``offset``."""
    first = next(iter(sentence_spans(text)), Span(start=0, end=len(text)))
    return Span(start=offset + first.start, end=offset + first.end)
