"""Finds what a person means by a path, an address, a document's id or its title."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wellread.errors import SourceError
from wellread.ingest.pipeline.change_detection import with_entries
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.ingest.sources.web.addresses import is_web
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import SourceRecord
from wellread.types import DocumentFacts

DOCUMENT_ID = "doc_"
SHOWN = 3  # addresses that are told where a title names several documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What was named: whole sources, and single documents of others."""

    sources: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


def resolve(kb: KnowledgeBase, collection: str, given: Sequence[str]) -> Named:
    """The sources and documents that ``given`` names, each once.

    A path or ``file:`` address names a file, or all that was read from a folder; a web address a
    page, a feed with its entries, or the document that is read there; ``doc_…`` (or an unambiguous
    beginning) a document; anything else a document's title.

    Raises:
        SourceError: nothing in the collection, or more than one document, is called so.
    """
    known = kb.catalogue.sources(collection)
    listed: list[DocumentFacts] = []
    sources: dict[str, None] = {}
    documents: dict[str, None] = {}
    for name in given:
        if found := with_entries(_sources(name, known), known):
            sources |= dict.fromkeys(found)
            continue
        listed = listed or kb.catalogue.documents(collection)
        documents[_document(name, listed, collection)] = None
    return Named(sources=tuple(sources), documents=tuple(documents))


def _sources(name: str, known: Mapping[str, SourceRecord]) -> list[str]:
    """The source of that address, or those that were found under it."""
    if name.startswith(DOCUMENT_ID):
        return []
    uri = name if is_web(name) else uri_of(local_path(name))
    if uri in known:
        return [uri]
    below = uri.rstrip("/") + "/"
    return [
        each
        for each, record in known.items()
        if record.root == uri or (each.startswith(below) and not is_web(uri))
    ]


def _document(name: str, listed: Iterable[DocumentFacts], collection: str) -> str:
    if name.startswith(DOCUMENT_ID):
        found = [each for each in listed if each.id.startswith(name)]
    else:
        uri = name if "://" in name else uri_of(local_path(name))
        found = [each for each in listed if uri in (each.uri, each.url)]
        title = name.strip().casefold()
        found = found or [each for each in listed if each.title.strip().casefold() == title]
    if not found:
        raise SourceError(
            name,
            f"nothing in the collection “{collection}” is known by this path, address, id or title",
        )
    if len(found) > 1:
        some = ", ".join(each.uri for each in found[:SHOWN])
        raise SourceError(name, f"names {len(found)} documents ({some}, …); give an address or id")
    return found[0].id
