"""Resolves names: documents by id or title, and filter values by their spelling in the material.

A filter value that does not occur would make a search return nothing, as if nothing were known of a
misspelt name. Such values are therefore refused, with suggestions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from wellread.store.schema.stored_values import KindCount
from wellread.text.tokens import strict_key
from wellread.types import Document, Filters, Kind

MAX_SUGGESTIONS = 5  # similar names suggested for an unknown one
MIN_SIMILARITY = 70.0  # similarity, 0-100
MAX_LISTED_VALUES = 12  # values listed in an error message


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """The names similar to ``name``, most similar first."""
    matches = process.extract(
        name,
        list(dict.fromkeys(names)),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        limit=MAX_SUGGESTIONS,
        score_cutoff=MIN_SIMILARITY,
    )
    return [other for other, _, _ in matches]


# --- documents -------------------------------------------------------------------------------


def named_document(
    kb: KnowledgeBase, name: str, collections: Sequence[str] = (), *, media: bool = False
) -> ListedDocument:
    """The document (``media``: recording) with this id, title, address or part of a title.

    If several have the same title, the newest is returned.
    """
    check_collections(kb, Filters(collections=tuple(collections)))
    exact = kb.catalogue.listings.listed(name)
    if exact and (not collections or exact.facts.collection in collections):
        return exact
    titles = kb.catalogue.listings.titles(collections, media=media)
    key = strict_key(name)
    candidates = (
        [entry.id for entry in titles if name in (entry.uri, entry.url)][:1],
        [entry.id for entry in titles if key and strict_key(entry.title) == key][:1],
        [entry.id for entry in titles if len(key) > 2 and key in strict_key(entry.title)],
        [entry.id for entry in titles if len(name) > len("doc_") and entry.id.startswith(name)],
    )
    ids_found = next((ids for ids in candidates if ids), [])
    listed_document = kb.catalogue.listings.listed(ids_found[0]) if len(ids_found) == 1 else None
    if listed_document:
        return listed_document
    what = "recording" if media else "document"
    if ids_found:
        first_ids = ids_found[:MAX_SUGGESTIONS]
        examples = "; ".join(
            dict.fromkeys(entry.title for entry in titles if entry.id in first_ids)
        )
        detail = f"{len(ids_found):,} {what}s have {name!r} in their title"
        raise UnknownNameError(detail, hint=f"for example: {examples}")
    similar = similar_names(name, (entry.title for entry in titles))
    total = f"there are {len(titles):,} {what}s"
    hint = f"similar titles: {'; '.join(similar)}" if similar else total
    raise UnknownNameError(f"no {what} has the id or title {name!r}", hint=hint)


# --- values of filters -----------------------------------------------------------------------


def known_values(kb: KnowledgeBase, filters: Filters) -> Filters:
    """``filters`` with names as spelled in the documents.

    Case is ignored. A person's first or last name is enough if it is unique.
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
    entries = kb.catalogue.vocabulary.of(filters.collections)
    return replace(
        filters,
        speakers=_people("speaker", filters.speakers, [entry.speakers for entry in entries]),
        authors=_people("author", filters.authors, [entry.authors for entry in entries]),
        source_types=_values(
            "source type", filters.source_types, [entry.source_types for entry in entries]
        ),
        languages=_values("language", filters.languages, [entry.languages for entry in entries]),
        taxonomy=_taxonomy(filters.taxonomy, entries),
    )


def pair_of(text: str) -> tuple[str, str]:
    """Parse ``dimension=value`` into a pair."""
    dimension, equals, value = (part.strip() for part in text.partition("="))
    if not (dimension and equals and value):
        raise RequestError(f"{text!r} is not a field with a value", hint="write dimension=value")
    return dimension, value


def _people(
    label: str, requested: Sequence[str], known_names: Sequence[Iterable[str]]
) -> tuple[str, ...]:
    existing = dict.fromkeys(name for names in known_names for name in names)
    people = (_person(label, name, existing) for name in requested)
    return tuple(dict.fromkeys(name for spellings in people for name in spellings))


def _person(label: str, requested: str, existing: Iterable[str]) -> list[str]:
    """All spellings of the one person with this name."""
    key = strict_key(requested)
    spellings: dict[str, list[str]] = {}
    for name in existing:
        spellings.setdefault(strict_key(name), []).append(name)
    if key in spellings:
        return spellings[key]
    parts = key.split()
    matching = [other for other in spellings if parts and _is_part(parts, other.split())]
    if len(matching) == 1:
        return spellings[matching[0]]
    if matching:
        names = ", ".join(sorted(spellings[other][0] for other in matching)[:MAX_LISTED_VALUES])
        raise UnknownNameError(f"several {label}s are called {requested!r}", hint=f"which: {names}")
    raise _unknown(label, requested, [names[0] for names in spellings.values()])


def _is_part(parts: Sequence[str], name: Sequence[str]) -> bool:
    return list(name[: len(parts)]) == parts or list(name[-len(parts) :]) == parts


def _values(
    label: str, requested: Sequence[str], known_names: Sequence[Iterable[str]]
) -> tuple[str, ...]:
    existing = list(dict.fromkeys(value for values in known_names for value in values))
    matches: dict[str, None] = {}
    for request in requested:
        same_value = [value for value in existing if value.casefold() == request.casefold()]
        if not same_value:
            raise _unknown(label, request, existing)
        matches.update(dict.fromkeys(same_value))
    return tuple(matches)


def _taxonomy(
    requested: Sequence[tuple[str, str]], entries: Sequence[CollectionWords]
) -> tuple[tuple[str, str], ...]:
    existing = list(dict.fromkeys(name for entry in entries for name in entry.taxonomy))
    pairs: dict[tuple[str, str], None] = {}
    for dimension, value in requested:
        for name in _values("field", [dimension], [existing]):
            values = [entry.taxonomy.get(name, ()) for entry in entries]
            for spelling in _values(f"value of the field {name}", [value], values):
                pairs[name, spelling] = None
    return tuple(pairs)


def _unknown(label: str, requested: str, existing: Sequence[str]) -> UnknownNameError:
    similar = similar_names(requested, existing)
    if similar:
        hint = f"similar: {', '.join(similar)}"
    elif len(existing) <= MAX_LISTED_VALUES:
        hint = f"known: {', '.join(sorted(existing, key=str.casefold)) or 'none'}"
    else:
        hint = f"there are {len(existing):,} others"
    return UnknownNameError(f"there is no {label} {requested!r}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument:
    """A document with its text, its speakers and the entities it mentions."""

    listed: ListedDocument
    document: Document
    speakers: tuple[str, ...]
    entities: tuple[EntityMentions, ...]


def list_documents(
    kb: KnowledgeBase,
    filters: Filters,
    *,
    limit: int = 20,
    offset: int = 0,
    order: Order = "newest",
    words: str = "",
) -> DocumentPage:
    """A page of the documents that match the filters, with ``words`` in title or authors."""
    known = known_values(kb, filters)
    return kb.catalogue.listings.documents(known, limit, offset, order, words=words)


def load_document(
    kb: KnowledgeBase, name: str, collections: Sequence[str] = (), *, entities: int = 20
) -> WholeDocument:
    """The document with this id, title or address, with up to ``entities`` entities."""
    record = named_document(kb, name, collections)
    document = kb.catalogue.document(record.facts.id)
    if document is None:
        raise UnknownNameError(
            f"{record.facts.title!r} has just been removed",
            hint="list the documents again",
        )
    speakers = kb.catalogue.listings.speakers_of([record.facts.id])
    return WholeDocument(
        listed=record,
        document=document,
        speakers=speakers.get(record.facts.id, ()),
        entities=tuple(kb.catalogue.graph.entities_in(record.facts.id)[:entities]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A collection with its statistics.

    Attributes:
        kinds: number of documents by kind.
        first, last: dates of the oldest and newest document; None if no document has a date.
        entities: the entities mentioned in most documents, with their mention counts.
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
    """All collections, or the named ones, each with up to ``entities`` entities."""
    check_collections(kb, Filters(collections=tuple(collections)))
    by_collection: dict[str, list[KindCount]] = {}
    for row in kb.catalogue.listings.kinds(collections):
        by_collection.setdefault(row.collection, []).append(row)
    # All at once: without a limit only mentions are read, with one every document of a collection.
    mentions = kb.catalogue.graph.mention_totals(collections)
    return [_topic(kb, rows, mentions, entities) for rows in by_collection.values()]


def _topic(
    kb: KnowledgeBase,
    rows: Sequence[KindCount],
    mentions: dict[tuple[str, str], MentionTotal],
    entities: int,
) -> Topic:
    name = rows[0].collection
    first, last = kb.catalogue.listings.published([name]) or (None, None)
    stories, _ = kb.catalogue.stories.count(name)
    nodes = kb.catalogue.graph.entities([name])
    by_mentions = [(node, mentions[name, node.id]) for node in nodes if (name, node.id) in mentions]
    by_mentions.sort(key=lambda pair: (-pair[1].documents, -pair[1].mentions, pair[0].title))
    return Topic(
        name=name,
        documents=sum(row.documents for row in rows),
        passages=sum(row.passages for row in rows),
        kinds={row.kind: row.documents for row in rows},
        first=first,
        last=last,
        stories=stories,
        entity_count=len(nodes),
        entities=tuple(by_mentions[:entities]),
    )
