"""Builds timelines: stories of a collection, mentions of an entity, or news of one story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import similar_names
from wellread.store.catalogue.documents.entity_nodes import MentioningDocument
from wellread.store.catalogue.documents.story_records import Story, StoryItem
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import strict_key
from wellread.types import DocumentFacts, Filters, Locator, Span
from wellread.values.locators import Marks

MAX_MENTIONS = 1_000_000  # in practice all mentions of an entity
SubjectKind = Literal["collection", "entity", "story"]
SUBJECT_KINDS: tuple[SubjectKind, ...] = get_args(SubjectKind)
MIN_STORY_ID = 8  # minimum length of an id prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time range, both ends inclusive, with the maximum number of entries (the newest)."""

    since: datetime | None = None
    until: datetime | None = None
    limit: int = 50

    def __contains__(self, moment: datetime) -> bool:
        return (self.since is None or moment >= self.since) and (
            self.until is None or moment <= self.until
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The timeline of a collection, entity or story.

    Attributes:
        taken: the type of the item with this name; ``others``: the types of others with it.
        counted: a label for ``dates`` (``documents``, ``documents that name it``, ``news items``);
            all are in the window, in ascending order.
        total: number of entries in the window; ``entries`` are the newest of them, oldest
            first.
        undated: number of documents or items without a date, which no timeline shows.
    """

    taken: SubjectKind
    id: str
    title: str
    collections: tuple[str, ...]
    counted: str
    dates: tuple[datetime, ...]
    entries: tuple[Entry, ...]
    total: int
    undated: int
    others: tuple[SubjectKind, ...] = field(default=())


def timeline(
    kb: KnowledgeBase,
    name: str,
    window: Window,
    *,
    collections: Sequence[str] = (),
    taken: SubjectKind | None = None,
) -> Timeline:
    """The timeline of the collection, entity or story called ``name``, tried in this order.

    Args:
        taken: accept the name only as one of this type.
    """
    if window.since and window.until and window.since > window.until:
        raise RequestError("the time range ends before it begins", hint="swap from and to")
    check_collections(kb, Filters(collections=tuple(collections)))
    makers = {"collection": _of_collection, "entity": _of_entity, "story": _of_story}
    for kind in [taken] if taken else SUBJECT_KINDS:
        timeline_ = makers[kind](kb, name, window, collections)
        if timeline_ is not None:
            return timeline_
    raise _unknown(kb, name, collections, taken)


# --- a collection ----------------------------------------------------------------------------


def _of_collection(
    kb: KnowledgeBase, name: str, window: Window, collections: Sequence[str]
) -> Timeline | None:
    """The stories of a collection, by first news item; without stories, its documents."""
    names = kb.catalogue.collection_names()
    same_name = [other for other in names if other.casefold() == name.strip().casefold()]
    known_name = name if name in names else next(iter(same_name), None)
    if known_name is None or (collections and known_name not in collections):
        return None
    limits = Filters(
        collections=(known_name,), published_from=window.since, published_to=window.until
    )
    dates = kb.catalogue.listings.dates(limits)
    whole = [Filters(collections=(known_name,))]
    stories = kb.catalogue.stories.latest([known_name], window.since, window.until)
    dated = [story for story in stories if story.first_at]
    if dated:
        chosen = sorted(dated[: window.limit], key=lambda story: (story.first_at, story.id))
        entries, total = story_entries(kb, chosen), len(dated)
    else:
        page = kb.catalogue.listings.documents(limits, window.limit)
        entries = document_entries(kb, [listed.facts for listed in reversed(page.documents)])
        total = len(dates)
    return Timeline(
        taken="collection",
        id=known_name,
        title=known_name,
        collections=(known_name,),
        counted="documents",
        dates=tuple(dates),
        entries=tuple(entries),
        total=total,
        undated=kb.catalogue.listings.count(whole) - kb.catalogue.listings.dated(whole)[0],
        others=_others(kb, name, collections, "collection"),
    )


# --- an entity -------------------------------------------------------------------------------


def _of_entity(
    kb: KnowledgeBase, name: str, window: Window, collections: Sequence[str]
) -> Timeline | None:
    """The documents that mention an entity, in all collections with the same id or title."""
    nodes = kb.catalogue.graph.resolve(collections, name)
    if not nodes:
        return None
    best = nodes[0]
    same = [
        node
        for node in nodes
        if node.id == best.id or strict_key(node.title) == strict_key(best.title)
    ]
    mentioning = kb.catalogue.graph.documents_mentioning
    dated = [
        (mention.document.published_at, mention)
        for node in same
        for mention in mentioning([node.collection], node.id, MAX_MENTIONS)
    ]
    in_window = sorted(
        ((moment, mention) for moment, mention in dated if moment and moment in window),
        key=lambda pair: (pair[0], pair[1].document.id),
    )
    return Timeline(
        taken="entity",
        id=best.id,
        title=best.title,
        collections=tuple(dict.fromkeys(node.collection for node in same)),
        counted="documents that name it",
        dates=tuple(moment for moment, _ in in_window),
        entries=tuple(mention_entries(kb, [mention for _, mention in in_window[-window.limit :]])),
        total=len(in_window),
        undated=sum(moment is None for moment, _ in dated),
        others=_others(kb, name, collections, "entity"),
    )


# --- a story ---------------------------------------------------------------------------------


def _of_story(
    kb: KnowledgeBase, name: str, window: Window, collections: Sequence[str]
) -> Timeline | None:
    stories = _stories_called(kb, name, collections)
    if not stories:
        return None
    if len(stories) > 1:
        titles = "; ".join(f"{story.title} ({story.id[:12]})" for story in stories[:5])
        raise UnknownNameError(
            f"{len(stories):,} stories have {name!r} in their title", hint=f"use an id: {titles}"
        )
    items = kb.catalogue.stories.items(stories[0].id)
    in_window = [item for item in items if item.published_at and item.published_at in window]
    return Timeline(
        taken="story",
        id=stories[0].id,
        title=stories[0].title,
        collections=(stories[0].collection,),
        counted="news items",
        dates=tuple(item.published_at for item in in_window if item.published_at),
        entries=tuple(news_entries(kb, in_window[-window.limit :])),
        total=len(in_window),
        undated=sum(item.published_at is None for item in items),
    )


def _stories_called(kb: KnowledgeBase, name: str, collections: Sequence[str]) -> list[Story]:
    """Stories by id or its prefix, by title (the latest), or by part of the title."""
    if len(name) >= MIN_STORY_ID:
        by_id = kb.catalogue.stories.named(name, collections)
        if len(by_id) == 1:
            return by_id
    key = strict_key(name)
    stories = kb.catalogue.stories.latest(collections) if key else []
    return _with_title(stories, key)[:1] or [
        story for story in stories if f" {key} " in f" {strict_key(story.title)} "
    ]


def _with_title(stories: Sequence[Story], key: str) -> list[Story]:
    return [story for story in stories if strict_key(story.title) == key]


def _others(
    kb: KnowledgeBase, name: str, collections: Sequence[str], taken: SubjectKind
) -> tuple[SubjectKind, ...]:
    types: list[SubjectKind] = []
    if taken == "collection" and kb.catalogue.graph.resolve(collections, name):
        types.append("entity")
    if _with_title(kb.catalogue.stories.latest(collections), strict_key(name)):
        types.append("story")
    return tuple(types)


def _unknown(
    kb: KnowledgeBase, name: str, collections: Sequence[str], taken: SubjectKind | None
) -> UnknownNameError:
    existing = kb.catalogue.collection_names()
    stories = kb.catalogue.stories.latest(collections)
    names = [
        *similar_names(name, (other for other in existing if other in (collections or existing))),
        *(node.title for node in kb.catalogue.graph.similar_to(collections, name)),
        *similar_names(name, (story.title for story in stories)),
    ]
    what = taken or "collection, entity or story"
    similar = "; ".join(dict.fromkeys(names))
    hint = f"similar names: {similar}" if names else "there are no similar names"
    return UnknownNameError(f"there is no {what} named {name!r}", hint=hint)


EntryKind = Literal["story", "news", "document", "mention"]
MAX_OPENING_CHARS = 300  # at the start of a document, searched for its first sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A dated entry with the passage that shows it; a story without a summary has none.

    Attributes:
        at, last: its date; for a story, the dates of its first and last item.
        count: news items of a story, or mentions of the entity in a document; else 1.
        repeats: whether a news item repeats an earlier one.
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


def mention_entries(kb: KnowledgeBase, mentions: Sequence[MentioningDocument]) -> list[Entry]:
    """Documents that mention an entity, each with the first such sentence."""
    starts = [(mention.document.id, mention.first.start) for mention in mentions]
    ids = kb.catalogue.listings.covering(starts)
    passages = kb.catalogue.live_passages(filter(None, ids))
    entries: list[Entry] = []
    for mention, passage_id in zip(mentions, ids, strict=True):
        document, span = mention.document, mention.first
        if passage_id in passages:
            passage = passages[passage_id]
            span = naming_sentence(passage.text, passage.span.start, mention.first)
        for entry in _entry("mention", document.published_at, document.title, document, span):
            entries.append(replace(entry, count=mention.mentions, passage_id=passage_id))
    return _with_places(kb, entries)


def story_entries(kb: KnowledgeBase, stories: Sequence[Story]) -> list[Entry]:
    """Stories, each with the first sentence of its summary."""
    heads = (sentence for story in stories for sentence in story.summary[:1])
    facts = kb.catalogue.facts({head.document_id for head in heads})
    entries: list[Entry] = []
    for story in stories:
        head = story.summary[0] if story.summary else None
        document = facts.get(head.document_id) if head else None
        span = head.span if head and document else None
        entries += [
            replace(entry, last=story.last_at or entry.at, count=story.items, story_id=story.id)
            for entry in _entry("story", story.first_at, story.title, document, span)
        ]
    return _with_places(kb, entries)


def news_entries(kb: KnowledgeBase, items: Sequence[StoryItem]) -> list[Entry]:
    """The news items of a story, each with its first sentence."""
    spans = _openings(kb, [(item.document.id, item.span) for item in items])
    entries: list[Entry] = []
    for item, span in zip(items, spans, strict=True):
        dated = _entry("news", item.published_at, item.title, item.document, span)
        entries += [replace(entry, repeats=item.repeats is not None) for entry in dated]
    return _with_places(kb, entries)


def document_entries(kb: KnowledgeBase, documents: Sequence[DocumentFacts]) -> list[Entry]:
    """Documents, each with its first sentence."""
    nothing = Span(start=0, end=0)
    openings = kb.catalogue.listings.openings([document.id for document in documents])
    starts = {name: passage.span for name, passage in openings.items()}
    places = [(document.id, starts.get(document.id, nothing)) for document in documents]
    entries: list[Entry] = []
    for document, span in zip(documents, _openings(kb, places), strict=True):
        entries += _entry("document", document.published_at, document.title, document, span)
    return _with_places(kb, entries)


def _entry(
    kind: EntryKind,
    at: datetime | None,
    title: str,
    document: DocumentFacts | None,
    span: Span | None,
) -> list[Entry]:
    """The entry alone, or nothing without a date."""
    if at is None:
        return []
    return [Entry(kind=kind, at=at, last=at, title=title, document=document, span=span)]


def _openings(kb: KnowledgeBase, places: Sequence[tuple[str, Span]]) -> list[Span]:
    """The first sentence of each place."""
    heads = [
        (name, Span(start=span.start, end=min(span.end, span.start + MAX_OPENING_CHARS)))
        for name, span in places
    ]
    texts = kb.catalogue.texts(heads)
    sentences = [next(iter(sentence_spans(text)), Span(start=0, end=len(text))) for text in texts]
    return [
        Span(start=head.start + sentence.start, end=head.start + sentence.end)
        for (_, head), sentence in zip(heads, sentences, strict=True)
    ]


def _with_places(kb: KnowledgeBase, entries: Sequence[Entry]) -> list[Entry]:
    """The entries with the text, locator and passage of their places."""
    places = [(item.document.id, item.span) for item in entries if item.document and item.span]
    texts, marks = kb.catalogue.texts(places), kb.catalogue.marks_over(places)
    ids = kb.catalogue.listings.covering([(name, span.start) for name, span in places])
    details = iter(zip(texts, marks, ids, strict=True))
    placed: list[Entry] = []
    for entry in entries:
        if entry.document and entry.span:
            text, entry_marks, covering = next(details)
            locator = Marks(entry_marks).locate(entry.span)
            passage_id = entry.passage_id or covering
            entry = replace(entry, text=text, locator=locator, passage_id=passage_id)
        placed.append(entry)
    return placed


def naming_sentence(text: str, offset: int, name: Span) -> Span:
    """The sentence around the name; ``text`` starts at ``offset`` and may hold only part of it."""
    name_span = Span(start=name.start - offset, end=name.end - offset)
    sentences = [span for span in sentence_spans(text) if span.overlaps(name_span)] or [name_span]
    start, end = min(sentences[0].start, name_span.start), max(sentences[-1].end, name_span.end)
    return Span(start=offset + start, end=offset + end)
