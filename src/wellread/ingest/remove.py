"""Removing sources, documents and collections, and proving that nothing of them is left.

What is removed is never found, shown or quoted again from the moment its transaction is
committed. A proof goes further: the bytes are taken off the disk, and then every store and every
file is searched for sentences of what was removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from wellread.errors import UnknownCollectionError
from wellread.ingest.finish import finish_run
from wellread.ingest.integrity.purge import (
    MOST,
    Trace,
    evenly,
    find_traces,
    needles,
    purge,
    said_elsewhere,
)
from wellread.ingest.integrity.resolve_source import resolve
from wellread.ingest.pipeline.commit import drop_noted, writing
from wellread.ingest.reindex import tidy
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import VersionKey
from wellread.store.schema.database import chunks

MANY = 1_000_000_000
INDEX_ROWS = "rows in the index"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveReport:
    """What went.

    Attributes:
        sources: their addresses.
        counts: how many rows went from each table of the catalogue and from the index.
        answers: stored answers that are stale now and were not before.
        looked_for: sentences of the removed text that were looked for everywhere; 0: no proof.
        shared: more of its sentences, which were not, because other documents say them as well.
        traces: where something of it still stands.
        purged: no byte of it is left in the files of the stores (None: not tried).
    """

    sources: tuple[str, ...] = ()
    documents: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    answers: int = 0
    looked_for: int = 0
    shared: int = 0
    traces: tuple[Trace, ...] = ()
    purged: bool | None = None


def remove_named(
    kb: KnowledgeBase, collection: str, given: Sequence[str], *, prove: bool = True
) -> RemoveReport:
    """Remove what paths, addresses, document ids or titles name (``naming.resolve``).

    Raises:
        SourceError: one of them names nothing, or several documents; then nothing is removed.
        StoreError: as ``remove_sources``.
    """
    named = resolve(kb, collection, given)
    return _remove(kb, collection, named.sources, named.documents, prove=prove)


def remove_sources(
    kb: KnowledgeBase, collection: str, uris: Sequence[str], *, prove: bool = False
) -> RemoveReport:
    """Remove sources with all their documents from catalogue, index and stored answers.

    Raises:
        StoreError: a store refused. What was removed from the catalogue is never shown again,
            and the next run takes its rows out of the index.
    """
    return _remove(kb, collection, uris, (), prove=prove)


def remove_documents(
    kb: KnowledgeBase, document_ids: Iterable[str], *, prove: bool = False
) -> RemoveReport:
    """Remove single documents; their source stays known and yields them again when it changes.

    Raises:
        StoreError: as ``remove_sources``.
    """
    return _remove(kb, "", (), list(document_ids), prove=prove)


def remove_collection(kb: KnowledgeBase, collection: str, *, prove: bool = True) -> RemoveReport:
    """Remove a collection: sources, documents, stories, settings, and the log of its jobs.

    Raises:
        UnknownCollectionError: there is none of that name.
        StoreError: as ``remove_sources``.
    """
    if not kb.catalogue.forgetting.knows(collection):
        raise UnknownCollectionError(
            f"there is no collection “{collection}”", hint="'wellread collections' lists them"
        )
    uris = list(kb.catalogue.sources(collection))
    ids = [facts.id for facts in kb.catalogue.documents(collection, MANY)]
    return _remove(kb, collection, uris, ids, prove=prove, whole=True)


def _remove(
    kb: KnowledgeBase,
    collection: str,
    uris: Sequence[str],
    document_ids: Sequence[str],
    *,
    prove: bool,
    whole: bool = False,
) -> RemoveReport:
    """Take out piece by piece, so that a kill leaves whole pieces only.

    ``whole``: what is kept of the collection beside its documents goes as well.
    """
    if not uris and not document_ids and not whole:
        return RemoveReport()
    ids = [*kb.catalogue.forgetting.yielded(collection, uris), *document_ids]
    concerned = {facts.collection for facts in kb.catalogue.facts(ids).values()}
    wanted, shared = _to_look_for(kb, ids) if prove else ([], 0)
    stale = kb.catalogue.forgetting.stale_answers()
    before = kb.catalogue.integrity.row_counts()
    documents = rows = 0
    for names in chunks(uris):
        held = kb.catalogue.forgetting.yielded(collection, names)
        gone = _take_out(kb, held, partial(kb.catalogue.remove_sources, collection, names))
        documents, rows = documents + gone[0], rows + gone[1]
    for held in chunks(document_ids):
        gone = _take_out(kb, held, partial(kb.catalogue.remove_documents, held))
        documents, rows = documents + gone[0], rows + gone[1]
    if whole:
        with writing(kb):
            kb.catalogue.forgetting.collection(collection)
    purged, found = _prove(kb, wanted, () if whole else sorted(concerned)) if prove else (None, ())
    after = kb.catalogue.integrity.row_counts()
    counts = {table: count - after[table] for table, count in before.items()} | {INDEX_ROWS: rows}
    return RemoveReport(
        sources=tuple(uris),
        documents=documents,
        counts={name: count for name, count in counts.items() if count > 0},
        answers=max(0, kb.catalogue.forgetting.stale_answers() - stale),
        looked_for=len(wanted),
        shared=shared,
        traces=tuple(found),
        purged=purged,
    )


def _take_out(
    kb: KnowledgeBase, ids: Sequence[str], take: Callable[[], list[VersionKey]]
) -> tuple[int, int]:
    """The catalogue first, in one transaction that notes the rows; then the index.

    How many documents and rows went.
    """
    with writing(kb):
        index = kb.live().index
        drop_noted(kb, index)
        texts = kb.catalogue.forgetting.texts(ids)
        gone = take()
        rows = index.remove(gone)
        kb.catalogue.settle(gone)
        kb.catalogue.forgetting.words(texts)
    return len(gone), rows


def _to_look_for(kb: KnowledgeBase, ids: Sequence[str]) -> tuple[list[str], int]:
    """Sentences that no document says that stays, and how many more others say as well."""
    chosen: list[str] = []
    for some in chunks(ids):
        chosen = evenly([*chosen, *needles(kb.catalogue.forgetting.texts(some))], MOST)
    shared = said_elsewhere(kb, chosen, ids)
    return [words for words in chosen if words not in shared], len(shared)


def _prove(
    kb: KnowledgeBase, wanted: Sequence[str], collections: Sequence[str]
) -> tuple[bool, list[Trace]]:
    """Bring up to date what was made of the documents, take their bytes off the disk, and look."""
    for collection in collections:
        finish_run(kb, collection)
    tidy(kb)  # an index in the making that nobody is working at
    purged = purge(kb)
    return purged, find_traces(kb, wanted)
