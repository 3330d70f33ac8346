"""The entries of a timeline: stories, news items, documents and mentions in one form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal

from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.store.catalogue.documents.entity_nodes import MentioningDocument
from wellread.store.catalogue.documents.story_records import Story, StoryItem
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Locator, Span

EntryKind = Literal["story", "news", "document", "mention"]
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


def of_mentions(kb: KnowledgeBase, found: Sequence[MentioningDocument]) -> list[Entry]:
    """Documents that name an entity, each with the sentence that does so first."""
    ids = kb.catalogue.listings.covering([(one.document.id, one.first.start) for one in found])
    passages = kb.catalogue.live_passages(filter(None, ids))
    made: list[Entry] = []
    for one, known in zip(found, ids, strict=True):
        at, span = one.document.published_at, one.first
        if known in passages:
            span = naming_sentence(passages[known].text, passages[known].span.start, one.first)
        if at is not None:
            entry = partial(Entry, kind="mention", at=at, last=at, title=one.document.title)
            made.append(
                entry(count=one.mentions, document=one.document, span=span, passage_id=known)
            )
    return _placed(kb, made)


def of_stories(kb: KnowledgeBase, stories: Sequence[Story]) -> list[Entry]:
    """Stories, each with the first sentence of its summary."""
    facts = kb.catalogue.facts({one.document_id for story in stories for one in story.summary[:1]})
    made: list[Entry] = []
    for story in stories:
        head = story.summary[0] if story.summary else None
        document = facts.get(head.document_id) if head else None
        if story.first_at is not None:
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
                )
            )
    return _placed(kb, made)


def of_news(kb: KnowledgeBase, items: Sequence[StoryItem]) -> list[Entry]:
    """The news items of a story, each with its first sentence."""
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
        )
        for one, head, text in zip(items, heads, texts, strict=True)
        if one.published_at
    ]
    return _placed(kb, made)


def of_documents(kb: KnowledgeBase, documents: Iterable[DocumentFacts]) -> list[Entry]:
    """Documents, each with its first sentence."""
    dated = {one.id: one for one in documents if one.published_at}
    openings = kb.catalogue.listings.openings(dated)
    spans = {
        known: _opening(first.text[:LONGEST_OPENING], first.span.start)
        for known, first in openings.items()
    }
    nothing = Span(start=0, end=0)
    made = [
        Entry(
            kind="document",
            at=one.published_at,
            last=one.published_at,
            title=one.title,
            document=one,
            span=spans.get(known, nothing),
        )
        for known, one in dated.items()
        if one.published_at
    ]
    return _placed(kb, made)


def _placed(kb: KnowledgeBase, made: Sequence[Entry]) -> list[Entry]:
    """The entries with the text, the locator and the passage of their span."""
    places = [(one.document.id, one.span) for one in made if one.document and one.span]
    texts = iter(kb.catalogue.texts(places))
    marks = iter(kb.catalogue.marks_over(places))
    ids = iter(kb.catalogue.listings.covering([(known, span.start) for known, span in places]))
    found: list[Entry] = []
    for one in made:
        if one.document and one.span:
            locator, text, covering = Marks(next(marks)).locate(one.span), next(texts), next(ids)
            known = one.passage_id or covering
            found.append(replace(one, text=text, locator=locator, passage_id=known))
        else:
            found.append(one)
    return found


def naming_sentence(text: str, offset: int, name: Span) -> Span:
    """The sentence that the name stands in, as far as ``text``, which starts at ``offset``, shows
    it.
    """
    inside = Span(start=name.start - offset, end=name.end - offset)
    over = [span for span in sentence_spans(text) if span.overlaps(inside)] or [inside]
    start, end = min(over[0].start, inside.start), max(over[-1].end, inside.end)
    return Span(start=offset + start, end=offset + end)


def _opening(text: str, offset: int) -> Span:
    """The first sentence of ``text``, which starts at ``offset``."""
    first = next(iter(sentence_spans(text)), Span(start=0, end=len(text)))
    return Span(start=offset + first.start, end=offset + first.end)
