"""How a topic went on: the stories of a collection, the mentions of an entity, or one story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import near
from wellread.library.timeline_entries import Entry, of_documents, of_mentions, of_news, of_stories
from wellread.store.catalogue.documents.story_records import Story
from wellread.text.names import key_of
from wellread.types import Filters

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

    Raises:
        RequestError: the window ends before it begins.
        UnknownCollectionError: ``collections`` names one that does not exist.
        UnknownNameError: nothing is called so, or several stories have it in their title.
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
