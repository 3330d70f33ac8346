"""How a topic went on: the stories of a collection, the mentions of an entity, or one story."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Literal, get_args

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import near
from wellread.store.catalogue.documents.entity_nodes import MentioningDocument
from wellread.store.catalogue.documents.story_records import Story, StoryItem
from wellread.text.names import key_of
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Filters, Locator, Span
from wellread.values.locators import Marks

EVERY_DOCUMENT = 1_000_000
Taken = Literal["collection", "entity", "story"]
TAKEN: tuple[Taken, ...] = get_args(Taken)
LEAST_STORY_ID = 8  # characters of a story's id that are taken for the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when, both inclusive, and how many entries at most (the newest)."""

    since: datetime | None = None
    until: datetime | None = None
    limit: int = 50

    def __contains__(self, moment: datetime) -> bool:
        return (self.since is None or moment >= self.since) and (
            self.until is None or moment <= self.until
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What a name stands for, and how it went on.

    Attributes:
        taken: what the name was taken for; ``others`` else has the name, for example ``story``.
        counted: what ``dates`` are the dates of (``documents``, ``documents that name it``,
            ``news items``); they are all in the window, ascending.
        total: how many entries there are in the window; ``entries`` are the newest of them, the
            oldest first.
        undated: documents or items that have no date, and so are on no timeline.
    """

    taken: Taken
    id: str
    title: str
    collections: tuple[str, ...]
    counted: str
    dates: tuple[datetime, ...]
    entries: tuple[Entry, ...]
    total: int
    undated: int
    others: tuple[Taken, ...] = field(default=())


def timeline(
    kb: KnowledgeBase,
    name: str,
    window: Window,
    *,
    collections: Sequence[str] = (),
    taken: Taken | None = None,
) -> Timeline:
    """The timeline of the collection, else entity, else story that is called ``name``.

    Args:
        taken: takes the name for this only.
    """
    if window.since and window.until and window.since > window.until:
        raise RequestError("the time window ends before it begins", hint="swap from and to")
    check_collections(kb, Filters(collections=tuple(collections)))
    makers = {"collection": _of_collection, "entity": _of_entity, "story": _of_story}
    for kind in [taken] if taken else TAKEN:
        made = makers[kind](kb, name, window, collections)
        if made is not None:
            return made
    raise _unknown(kb, name, collections, taken)


# --- a collection ----------------------------------------------------------------------------


def _of_collection(
    kb: KnowledgeBase, name: str, window: Window, collections: Sequence[str]
) -> Timeline | None:
    """Its stories, each from its first news; its documents where it has no stories."""
    held = kb.catalogue.collection_names()
    alike = [one for one in held if one.casefold() == name.strip().casefold()]
    known = name if name in held else next(iter(alike), None)
    if known is None or (collections and known not in collections):
        return None
    limits = Filters(collections=(known,), published_from=window.since, published_to=window.until)
    dates = kb.catalogue.listings.dates(limits)
    totals = kb.catalogue.censuses.totals([Filters(collections=(known,))])
    stories = kb.catalogue.stories.latest([known], window.since, window.until)
    dated = [story for story in stories if story.first_at]
    if dated:
        chosen = sorted(dated[: window.limit], key=lambda story: (story.first_at, story.id))
        made, total = of_stories(kb, chosen), len(dated)
    else:
        page = kb.catalogue.listings.documents(limits, window.limit)
        made = of_documents(kb, [one.facts for one in reversed(page.documents)])
        total = len(dates)
    return Timeline(
        taken="collection",
        id=known,
        title=known,
        collections=(known,),
        counted="documents",
        dates=tuple(dates),
        entries=tuple(made),
        total=total,
        undated=totals.documents - totals.dated,
        others=_others(kb, name, collections, "collection"),
    )


# --- an entity -------------------------------------------------------------------------------


def _of_entity(
    kb: KnowledgeBase, name: str, window: Window, collections: Sequence[str]
) -> Timeline | None:
    """The documents that name it, in every collection that knows it by the same id or title."""
    nodes = kb.catalogue.graph.resolve(collections, name)
    if not nodes:
        return None
    first = nodes[0]
    same = [
        node for node in nodes if node.id == first.id or key_of(node.title) == key_of(first.title)
    ]
    named = kb.catalogue.graph.documents_mentioning
    mentions = [one for node in same for one in named([node.collection], node.id, EVERY_DOCUMENT)]
    dated = [(one.document.published_at, one) for one in mentions]
    inside = sorted(
        ((at, one) for at, one in dated if at and at in window),
        key=lambda pair: (pair[0], pair[1].document.id),
    )
    return Timeline(
        taken="entity",
        id=first.id,
        title=first.title,
        collections=tuple(dict.fromkeys(node.collection for node in same)),
        counted="documents that name it",
        dates=tuple(at for at, _ in inside),
        entries=tuple(of_mentions(kb, [one for _, one in inside[-window.limit :]])),
        total=len(inside),
        undated=sum(at is None for at, _ in dated),
        others=_others(kb, name, collections, "entity"),
    )


# --- a story ---------------------------------------------------------------------------------


def _of_story(
    kb: KnowledgeBase, name: str, window: Window, collections: Sequence[str]
) -> Timeline | None:
    found = _stories_called(kb, name, collections)
    if not found:
        return None
    if len(found) > 1:
        titles = "; ".join(f"{story.title} ({story.id[:12]})" for story in found[:5])
        raise UnknownNameError(
            f"{len(found):,} stories have {name!r} in their title", hint=f"which: {titles}"
        )
    items = kb.catalogue.stories.items(found[0].id)
    inside = [item for item in items if item.published_at and item.published_at in window]
    return Timeline(
        taken="story",
        id=found[0].id,
        title=found[0].title,
        collections=(found[0].collection,),
        counted="news items",
        dates=tuple(item.published_at for item in inside if item.published_at),
        entries=tuple(of_news(kb, inside[-window.limit :])),
        total=len(inside),
        undated=sum(item.published_at is None for item in items),
    )


def _stories_called(kb: KnowledgeBase, name: str, collections: Sequence[str]) -> list[Story]:
    """By id or its beginning, by title (of several the latest), or else by a part of the title."""
    if len(name) >= LEAST_STORY_ID:
        by_id = kb.catalogue.stories.named(name, collections)
        if len(by_id) == 1:
            return by_id
    key = key_of(name)
    stories = kb.catalogue.stories.latest(collections) if key else []
    return _titled(stories, key)[:1] or [
        story for story in stories if f" {key} " in f" {key_of(story.title)} "
    ]


def _titled(stories: Sequence[Story], key: str) -> list[Story]:
    return [story for story in stories if key_of(story.title) == key]


def _others(
    kb: KnowledgeBase, name: str, collections: Sequence[str], taken: Taken
) -> tuple[Taken, ...]:
    """What comes after ``taken`` and is called the same."""
    found: list[Taken] = []
    if taken == "collection" and kb.catalogue.graph.resolve(collections, name):
        found.append("entity")
    if _titled(kb.catalogue.stories.latest(collections), key_of(name)):
        found.append("story")
    return tuple(found)


def _unknown(
    kb: KnowledgeBase, name: str, collections: Sequence[str], taken: Taken | None
) -> UnknownNameError:
    names: list[str] = []
    if taken in (None, "collection"):
        held = kb.catalogue.collection_names()
        names += near(name, (one for one in held if not collections or one in collections))
    if taken in (None, "entity"):
        names += [node.title for node in kb.catalogue.graph.near(collections, name)]
    if taken in (None, "story"):
        names += near(name, (story.title for story in kb.catalogue.stories.latest(collections)))
    what = taken or "collection, entity or story"
    hint = f"similar names: {'; '.join(dict.fromkeys(names))}" if names else "nothing looks like it"
    return UnknownNameError(f"no {what} is called {name!r}", hint=hint)


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
