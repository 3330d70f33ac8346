"""Finds what people name: documents by id or title, and the values that a search is limited to.

A value that nothing has would make a search come back empty, and a misspelt name looks the same as
one of whom nothing is known; so both are refused here, with what is there instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rapidfuzz import fuzz, process, utils

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.collection_records import CollectionWords
from wellread.store.catalogue.documents.entity_graph import EntityMentions
from wellread.store.catalogue.documents.entity_nodes import EntityNode, MentionTotal
from wellread.store.catalogue.documents.listings import DocumentPage, ListedDocument, Order
from wellread.text.names import key_of
from wellread.types import Document, Filters, Kind

NEAR = 5  # names that are offered in place of one that is not there
LEAST_LIKENESS = 70.0  # of 100
MANY_VALUES = 12  # that an error lists whole


def near(name: str, known: Iterable[str], limit: int = NEAR) -> list[str]:
    """Those of the names that look like ``name``, the most alike first."""
    found = process.extract(
        name,
        list(dict.fromkeys(known)),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        limit=limit,
        score_cutoff=LEAST_LIKENESS,
    )
    return [other for other, _, _ in found]


# --- documents -------------------------------------------------------------------------------


def named_document(
    kb: KnowledgeBase, name: str, collections: Sequence[str] = (), *, media: bool = False
) -> ListedDocument:
    """The document (of ``media``: the recording) with this id, title, address, or part of a title.

    Of several with the same title it is the newest.
    """
    check_collections(kb, Filters(collections=tuple(collections)))
    there = kb.catalogue.listings.listed(name)
    if there and (not collections or there.facts.collection in collections):
        return there
    titles = kb.catalogue.listings.titles(collections, media=media)
    key = key_of(name)
    ways = (
        [one.id for one in titles if name in (one.uri, one.url)][:1],
        [one.id for one in titles if key and key_of(one.title) == key][:1],
        [one.id for one in titles if len(key) > 2 and key in key_of(one.title)],
        [one.id for one in titles if len(name) > len("doc_") and one.id.startswith(name)],
    )
    found = next((ids for ids in ways if ids), [])
    listed = kb.catalogue.listings.listed(found[0]) if len(found) == 1 else None
    if listed:
        return listed
    what = "recording" if media else "document"
    if found:
        shown = "; ".join(dict.fromkeys(one.title for one in titles if one.id in found[:NEAR]))
        raise UnknownNameError(
            f"{len(found):,} {what}s have {name!r} in their title", hint=f"for example: {shown}"
        )
    like = near(name, (one.title for one in titles))
    hint = f"similar titles: {'; '.join(like)}" if like else f"there are {len(titles):,} {what}s"
    raise UnknownNameError(f"no {what} has the id or title {name!r}", hint=hint)


# --- values of filters -----------------------------------------------------------------------


def known_values(kb: KnowledgeBase, filters: Filters) -> Filters:
    """``filters`` with its names as the documents have them.

    Case does not count; a person may be called by a first or last name that only one has.
    """
    check_collections(kb, filters)
    if not (
        filters.speakers
        or filters.authors
        or filters.source_types
        or filters.languages
        or filters.taxonomy
    ):
        return filters
    words = kb.catalogue.vocabulary.of(filters.collections)
    return replace(
        filters,
        speakers=_people("speaker", filters.speakers, [one.speakers for one in words]),
        authors=_people("author", filters.authors, [one.authors for one in words]),
        source_types=_values(
            "source type", filters.source_types, [one.source_types for one in words]
        ),
        languages=_values("language", filters.languages, [one.languages for one in words]),
        taxonomy=_taxonomy(filters.taxonomy, words),
    )


def pair_of(text: str) -> tuple[str, str]:
    """``dimension=value`` as a pair."""
    dimension, equals, value = (part.strip() for part in text.partition("="))
    if not (dimension and equals and value):
        raise RequestError(f"{text!r} is not a field with a value", hint="write dimension=value")
    return dimension, value


def _people(
    what: str, wanted: Sequence[str], counts: Sequence[Mapping[str, int]]
) -> tuple[str, ...]:
    known = dict.fromkeys(name for names in counts for name in names)
    return tuple(dict.fromkeys(name for one in wanted for name in _person(what, one, known)))


def _person(what: str, wanted: str, known: Iterable[str]) -> list[str]:
    """Every spelling of the one person who is called so."""
    key = key_of(wanted)
    spellings: dict[str, list[str]] = {}
    for name in known:
        spellings.setdefault(key_of(name), []).append(name)
    if key in spellings:
        return spellings[key]
    parts = key.split()
    called = [other for other in spellings if parts and _is_part(parts, other.split())]
    if len(called) == 1:
        return spellings[called[0]]
    if called:
        names = ", ".join(sorted(spellings[other][0] for other in called)[:MANY_VALUES])
        raise UnknownNameError(f"several {what}s are called {wanted!r}", hint=f"which: {names}")
    raise _unknown(what, wanted, [names[0] for names in spellings.values()])


def _is_part(parts: Sequence[str], name: Sequence[str]) -> bool:
    """Whether ``parts`` are how the name begins or ends."""
    return list(name[: len(parts)]) == parts or list(name[-len(parts) :]) == parts


def _values(
    what: str, wanted: Sequence[str], counts: Sequence[Mapping[str, int]]
) -> tuple[str, ...]:
    known = list(dict.fromkeys(value for values in counts for value in values))
    found: dict[str, None] = {}
    for one in wanted:
        fitting = [value for value in known if value.casefold() == one.casefold()]
        if not fitting:
            raise _unknown(what, one, known)
        found.update(dict.fromkeys(fitting))
    return tuple(found)


def _taxonomy(
    wanted: Sequence[tuple[str, str]], words: Sequence[CollectionWords]
) -> tuple[tuple[str, str], ...]:
    known = list(dict.fromkeys(name for one in words for name in one.taxonomy))
    found: dict[tuple[str, str], None] = {}
    for dimension, value in wanted:
        for name in _values("field", [dimension], [dict.fromkeys(known, 0)]):
            values = [one.taxonomy.get(name, {}) for one in words]
            for fitting in _values(f"value of the field {name}", [value], values):
                found[name, fitting] = None
    return tuple(found)


def _unknown(what: str, wanted: str, known: Sequence[str]) -> UnknownNameError:
    like = near(wanted, known)
    if like:
        hint = f"similar: {', '.join(like)}"
    elif len(known) <= MANY_VALUES:
        hint = f"known: {', '.join(sorted(known, key=str.casefold)) or 'none'}"
    else:
        hint = f"there are {len(known):,} others"
    return UnknownNameError(f"there is no {what} {wanted!r}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument:
    """A document with its text, who speaks in it, and the entities that it names."""

    listed: ListedDocument
    document: Document
    speakers: tuple[str, ...]
    entities: tuple[EntityMentions, ...]


def listed(
    kb: KnowledgeBase,
    filters: Filters,
    *,
    limit: int = 20,
    offset: int = 0,
    order: Order = "newest",
) -> DocumentPage:
    """The documents that meet the limits, a page of them."""
    return kb.catalogue.listings.documents(known_values(kb, filters), limit, offset, order)


def whole(
    kb: KnowledgeBase, name: str, collections: Sequence[str] = (), *, entities: int = 20
) -> WholeDocument:
    """The document with this id, title or address; at most ``entities`` that it names."""
    found = named_document(kb, name, collections)
    document = kb.catalogue.document(found.facts.id)
    if document is None:
        raise UnknownNameError(f"{found.facts.title!r} was removed just now", hint="look again")
    speakers = kb.catalogue.listings.speakers_of([found.facts.id])
    return WholeDocument(
        listed=found,
        document=document,
        speakers=speakers.get(found.facts.id, ()),
        entities=tuple(kb.catalogue.graph.entities_in(found.facts.id)[:entities]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A collection.

    Attributes:
        kinds: kind to number of documents.
        first, last: the dates of its oldest and newest document; None when none has a date.
        entities: those named in most documents, first the most often named, with how often.
    """

    name: str
    documents: int
    passages: int
    kinds: dict[Kind, int]
    first: datetime | None
    last: datetime | None
    stories: int
    entity_count: int
    entities: tuple[tuple[EntityNode, MentionTotal], ...]


def topics(
    kb: KnowledgeBase, collections: Sequence[str] = (), *, entities: int = 10
) -> list[Topic]:
    """Every collection, or those named, by name; of each at most ``entities`` entities."""
    check_collections(kb, Filters(collections=tuple(collections)))
    kinds: dict[str, dict[Kind, int]] = {}
    passages: dict[str, int] = {}
    for row in kb.catalogue.stats():
        if not collections or row.collection in collections:
            kinds.setdefault(row.collection, {})[row.kind] = row.documents
            passages[row.collection] = passages.get(row.collection, 0) + row.passages
    return [_topic(kb, name, counts, passages[name], entities) for name, counts in kinds.items()]


def _topic(
    kb: KnowledgeBase, name: str, kinds: dict[Kind, int], passages: int, entities: int
) -> Topic:
    totals = kb.catalogue.censuses.totals([Filters(collections=(name,))])
    stories, _ = kb.catalogue.stories.count(name)
    nodes = kb.catalogue.graph.entities([name])
    mentions = kb.catalogue.graph.mention_totals([name])
    often = [(node, mentions[name, node.id]) for node in nodes if (name, node.id) in mentions]
    often.sort(key=lambda pair: (-pair[1].documents, -pair[1].mentions, pair[0].title))
    return Topic(
        name=name,
        documents=sum(kinds.values()),
        passages=passages,
        kinds=kinds,
        first=totals.first,
        last=totals.last,
        stories=stories,
        entity_count=len(nodes),
        entities=tuple(often[:entities]),
    )
