"""Lists of documents, one whole document, and what each collection is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.ask.aggregate.document_parts import key_findings
from wellread.ask.retrieve.search import check_collections
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document
from wellread.store.catalogue.documents.entity_graph import EntityMentions
from wellread.store.catalogue.documents.entity_nodes import EntityNode, MentionTotal
from wellread.store.catalogue.documents.listings import DocumentPage, ListedDocument, Order
from wellread.types import Document, Filters, Kind, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument:
    """A document with its text, who speaks in it, and the entities that it names.

    Attributes:
        findings: of a paper, the sentences in which it states what it found.
    """

    listed: ListedDocument
    document: Document
    speakers: tuple[str, ...]
    entities: tuple[EntityMentions, ...]
    findings: tuple[Span, ...] = ()


def listed(
    kb: KnowledgeBase,
    filters: Filters,
    *,
    limit: int = 20,
    offset: int = 0,
    order: Order = "newest",
) -> DocumentPage:
    """The documents that meet the limits, a page of them.

    Raises:
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
    """
    return kb.catalogue.listings.documents(known_values(kb, filters), limit, offset, order)


def whole(
    kb: KnowledgeBase, name: str, collections: Sequence[str] = (), *, entities: int = 20
) -> WholeDocument:
    """The document with this id, title or address; at most ``entities`` that it names.

    Raises:
        UnknownCollectionError: ``collections`` names one that does not exist.
        UnknownNameError: there is none.
    """
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
        findings=key_findings(document),
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
    """Every collection, or those named, by name; of each at most ``entities`` entities.

    Raises:
        UnknownCollectionError: ``collections`` names one that does not exist.
    """
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
