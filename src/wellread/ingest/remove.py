"""Removing sources, documents and collections, so that nothing of them is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wellread.ingest.writing import drop_noted, writing
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.values import VersionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveReport:
    """What went: addresses of sources, and how many documents."""

    sources: tuple[str, ...]
    documents: int


def remove_sources(kb: KnowledgeBase, collection: str, uris: Sequence[str]) -> RemoveReport:
    """Remove sources with all their documents from catalogue, index and stored answers.

    Raises:
        StoreError: a store refused. What was removed from the catalogue is never shown again,
            and the next run takes its rows out of the index.
    """
    if not uris:
        return RemoveReport(sources=(), documents=0)
    gone = _remove(kb, lambda: kb.catalogue.remove_sources(collection, uris))
    return RemoveReport(sources=tuple(uris), documents=len(gone))


def remove_documents(kb: KnowledgeBase, document_ids: Iterable[str]) -> RemoveReport:
    """Remove single documents; their source stays known and yields them again when it changes.

    Raises:
        StoreError: as ``remove_sources``.
    """
    ids = list(document_ids)
    gone = _remove(kb, lambda: kb.catalogue.remove_documents(ids))
    return RemoveReport(sources=(), documents=len(gone))


def _remove(kb: KnowledgeBase, take_out: Callable[[], list[VersionKey]]) -> list[VersionKey]:
    """The catalogue first, in one transaction that notes the rows; then the index."""
    with writing(kb):
        index = kb.live().index
        drop_noted(kb, index)
        gone = take_out()
        drop_noted(kb, index)
    return gone
