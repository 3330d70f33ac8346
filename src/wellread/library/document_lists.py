"""Lists of documents, and one whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.named_things import known_values, named_document
from wellread.store.catalogue.graph import EntityMentions
from wellread.store.catalogue.listings import DocumentPage, ListedDocument, Order
from wellread.types import Document, Filters


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
    )
