"""Removes sources, documents, collections and users, and proves that no trace of them is left.

Once the transaction is committed, removed text is never found, shown or quoted again. A proof
goes further: the bytes are erased from the disk, and then every store and every file is searched
for sentences of the removed text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from wellread.errors import SourceError, UnknownCollectionError
from wellread.ingest.integrity.purge import (
    MAX_NEEDLES,
    Trace,
    find_traces,
    needles,
    occurs_elsewhere,
    purge,
    purge_if_quick,
    spread,
)
from wellread.ingest.joining.story_refresh import finish_run
from wellread.ingest.pipeline.change_detection import root_of, with_feed_entries
from wellread.ingest.pipeline.commit import drop_noted, tidy, writing
from wellread.ingest.sources.addresses import is_page
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import base_of
from wellread.store.catalogue.forgetting import ForgottenUser
from wellread.store.schema.database import chunks
from wellread.store.schema.stored_values import SourceRecord, VersionKey
from wellread.types import DocumentFacts

DOCUMENT_ID = "doc_"
MAX_EXAMPLES = 3  # addresses in the error message when a title matches several documents


def resolve(
    kb: KnowledgeBase, collection: str, names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the source URIs and the single document ids that ``names`` names, each once.

    A path or ``file:`` address names a file or everything that was read from a folder. A web
    address names a page, a feed with its entries, or a document with that link. ``doc_…`` (or an
    unambiguous prefix) names a document; anything else is a document's title.
    """
    records = kb.catalogue.sources(collection)
    listed: list[DocumentFacts] = []
    sources: dict[str, None] = {}
    documents: dict[str, None] = {}
    for name in names:
        if uris := with_feed_entries(_sources(name, records), records):
            sources |= dict.fromkeys(uris)
            continue
        listed = listed or kb.catalogue.documents(collection)
        documents[_document(name, listed, collection)] = None
    return list(sources), list(documents)


def _sources(name: str, records: Mapping[str, SourceRecord]) -> list[str]:
    """Return the source with the address ``name``, or the sources below it."""
    if name.startswith(DOCUMENT_ID):
        return []
    uri = name if is_page(name) else root_of(name)
    if uri in records:
        return [uri]
    below = uri.rstrip("/") + "/"
    return [
        other_uri
        for other_uri, record in records.items()
        if record.root == uri or (other_uri.startswith(below) and not is_page(uri))
    ]


def _document(name: str, listed: Iterable[DocumentFacts], collection: str) -> str:
    if name.startswith(DOCUMENT_ID):
        hits = [facts for facts in listed if facts.id.startswith(name)]
    else:
        uri = name if "://" in name else uri_of(local_path(name))
        hits = [facts for facts in listed if uri in (facts.uri, facts.url)]
        title = name.strip().casefold()
        hits = hits or [facts for facts in listed if facts.title.strip().casefold() == title]
    if not hits:
        raise SourceError(
            name, f"nothing in the collection “{collection}” has this path, address, id or title"
        )
    if len(hits) > 1:
        examples = ", ".join(facts.uri for facts in hits[:MAX_EXAMPLES])
        reason = f"names {len(hits)} documents ({examples}, …); give an address or id"
        raise SourceError(name, reason)
    return hits[0].id


INDEX_ROWS = "rows in the index"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveReport:
    """The result of a removal.

    Attributes:
        looked_for: number of sentences of the removed text that were searched for in catalogue,
            index and files of the home; 0 without a proof.
        shared: number of sentences not searched for, because other documents contain them too.
        purged: whether the bytes were erased from the stores' files (None: not tried).
        server: the catalogue is on a server, whose files, write-ahead log, replicas and backups
            cannot be examined; only its rows were searched.
    """

    sources: tuple[str, ...] = ()
    documents: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    answers: int = 0
    looked_for: int = 0
    shared: int = 0
    traces: tuple[Trace, ...] = ()
    purged: bool | None = None
    server: bool = False


def remove_named(
    kb: KnowledgeBase, collection: str, names: Sequence[str], *, prove: bool = True
) -> RemoveReport:
    """Remove the sources and documents that paths, addresses, ids or titles name (``resolve``).

    Raises:
        SourceError: a name matches nothing, or several documents; then nothing is removed.
        StoreError: as ``remove_sources``.
    """
    sources, documents = resolve(kb, collection, names)
    return _remove(kb, collection, sources, documents, prove=prove)


def remove_sources(kb: KnowledgeBase, collection: str, uris: Sequence[str]) -> RemoveReport:
    """Remove sources with all their documents from catalogue, index and stored answers."""
    return _remove(kb, collection, uris, (), prove=False)


def remove_documents(
    kb: KnowledgeBase, document_ids: Iterable[str], *, prove: bool = False
) -> RemoveReport:
    """Remove single documents. Their source stays; when it changes, they are read again."""
    return _remove(kb, "", (), list(document_ids), prove=prove)


def remove_collection(kb: KnowledgeBase, collection: str) -> RemoveReport:
    """Remove a collection: sources, documents, stories, settings, and the log of its jobs.

    Raises:
        UnknownCollectionError: no collection has this name.
        StoreError: as ``remove_sources``.
    """
    if not kb.catalogue.forgetting.has_collection(collection):
        raise UnknownCollectionError(
            f"there is no collection “{collection}”", hint="'wellread collections' lists them"
        )
    uris = list(kb.catalogue.sources(collection))
    ids = [facts.id for facts in kb.catalogue.documents(collection)]
    return _remove(kb, collection, uris, ids, prove=True, drop_collection=True)


def remove_conversation(kb: KnowledgeBase, session_id: str, owner: str) -> int | None:
    """Remove a session with its answers and return their number; None without such a session.

    Its bytes are erased as well if that is quick; otherwise ``verify`` reports that they remain.
    """
    removed = kb.catalogue.sessions.remove(session_id, owner)
    if removed is not None:
        purge_if_quick(base_of(kb))  # rewriting the stores needs the unrestricted knowledge base
    return removed


def _remove(
    kb: KnowledgeBase,
    collection: str,
    uris: Sequence[str],
    document_ids: Sequence[str],
    *,
    prove: bool,
    drop_collection: bool = False,
) -> RemoveReport:
    """Remove in batches, so that a kill leaves every batch removed wholly or not at all.

    ``drop_collection`` also removes the collection's settings, stories and logs.
    """
    if not uris and not document_ids and not drop_collection:
        return RemoveReport()
    ids = [*kb.catalogue.forgetting.documents_of_sources(collection, uris), *document_ids]
    collections = {facts.collection for facts in kb.catalogue.facts(ids).values()}
    sentences, shared = _sentences_to_find(kb, ids) if prove else ([], 0)
    addresses = _addresses_to_find(kb, collection, uris, ids) if prove else []
    stale = kb.catalogue.forgetting.stale_answers()
    before = kb.catalogue.integrity.row_counts()
    documents = rows = 0
    for names in chunks(uris):
        removed = _remove_batch(kb, partial(kb.catalogue.remove_sources, collection, names))
        documents, rows = documents + removed[0], rows + removed[1]
    for batch in chunks(document_ids):
        removed = _remove_batch(kb, partial(kb.catalogue.remove_documents, batch))
        documents, rows = documents + removed[0], rows + removed[1]
    if drop_collection:
        with writing(kb):
            kb.catalogue.forgetting.collection(collection)
    purged: bool | None = None
    traces: list[Trace] = []
    if prove:
        for name in () if drop_collection else sorted(collections):
            finish_run(kb, name)
        tidy(kb)  # cleans up an unfinished index that no process is building
        purged = purge(kb)
        traces = find_traces(kb, [*sentences, *addresses])
    after = kb.catalogue.integrity.row_counts()
    kb.catalogue.expiry.sweep()
    counts = {table: count - after[table] for table, count in before.items()} | {INDEX_ROWS: rows}
    return RemoveReport(
        sources=tuple(uris),
        documents=documents,
        counts={name: count for name, count in counts.items() if count > 0},
        answers=max(0, kb.catalogue.forgetting.stale_answers() - stale),
        looked_for=len(sentences),
        shared=shared,
        traces=tuple(traces),
        purged=purged,
        server=bool(kb.place.url),
    )


def _remove_batch(kb: KnowledgeBase, remove: Callable[[], list[VersionKey]]) -> tuple[int, int]:
    """Remove from the catalogue, which notes the rows, then from the index; return both counts."""
    with writing(kb):
        index = kb.live().index
        drop_noted(kb, index)
        versions = remove()
        rows = index.remove(versions)
        kb.catalogue.settle(versions)
    return len(versions), rows


def _sentences_to_find(kb: KnowledgeBase, ids: Sequence[str]) -> tuple[list[str], int]:
    """Return sentences that no remaining document contains, and the number of shared ones."""
    chosen: list[str] = []
    for batch in chunks(ids):
        chosen = spread([*chosen, *needles(kb.catalogue.forgetting.texts(batch))], MAX_NEEDLES)
    shared = occurs_elsewhere(kb, chosen, ids)
    return [words for words in chosen if words not in shared], len(shared)


def _addresses_to_find(
    kb: KnowledgeBase, collection: str, uris: Sequence[str], ids: Sequence[str]
) -> list[str]:
    """Return the file addresses to search for: those that no remaining source or text contains."""
    removed = set(uris)
    remaining = (
        uri
        for name in kb.catalogue.collection_names()
        for uri in kb.catalogue.sources(name)
        if name != collection or uri not in removed
    )
    rest = "\n".join(remaining)
    files = [
        uri for uri in spread(uris, MAX_NEEDLES) if uri.startswith("file:") and uri not in rest
    ]
    shared = occurs_elsewhere(kb, files, ids)
    return [uri for uri in files if uri not in shared]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """The result of removing a user.

    Attributes:
        purged: whether the bytes were erased from the disk; if not, ``verify --repair`` does it.
    """

    forgotten: ForgottenUser
    purged: bool
    traces: tuple[Trace, ...] = ()


def forget_user(kb: KnowledgeBase, user_id: str) -> ForgetReport:
    """Remove an account with its questions, ratings and preferences, and search for traces.

    Text that documents contain too (a question may quote one) does not count as a trace.
    """
    forgotten = kb.catalogue.forgetting_users.forget(user_id)
    purged = purge(kb)
    strings = [user_id, *needles(forgotten.texts)]
    shared = occurs_elsewhere(kb, strings, ())
    found_traces = find_traces(kb, [text for text in strings if text not in shared])
    return ForgetReport(forgotten=forgotten, purged=purged, traces=tuple(found_traces))
