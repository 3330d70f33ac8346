"""Removing sources, documents, collections and users, and proving that nothing of them is left.

What is removed is never found, shown or quoted again from the moment its transaction is
committed. A proof goes further: the bytes are taken off the disk, and then every store and every
file is searched for sentences of what was removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from wellread.errors import SourceError, UnknownCollectionError
from wellread.ingest.integrity.purge import (
    MOST,
    Trace,
    evenly,
    find_traces,
    needles,
    purge,
    purge_if_quick,
    said_elsewhere,
)
from wellread.ingest.joining.story_refresh import finish_run
from wellread.ingest.pipeline.change_detection import with_entries
from wellread.ingest.pipeline.commit import drop_noted, writing
from wellread.ingest.reindex import tidy
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import local_path, uri_of
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import whole_of
from wellread.store.catalogue.forgetting import Forgotten
from wellread.store.schema.database import chunks
from wellread.store.schema.stored_values import SourceRecord, VersionKey
from wellread.types import DocumentFacts

DOCUMENT_ID = "doc_"
SHOWN = 3  # addresses that are told where a title names several documents


def resolve(
    kb: KnowledgeBase, collection: str, given: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The whole sources, and single documents of others, that ``given`` names, each once.

    A path or ``file:`` address names a file, or all that was read from a folder; a web address a
    page, a feed with its entries, or the document that is read there; ``doc_…`` (or an unambiguous
    beginning) a document; anything else a document's title.
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
    return list(sources), list(documents)


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


MANY = 1_000_000_000
INDEX_ROWS = "rows in the index"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveReport:
    """What went.

    Attributes:
        looked_for: sentences of the removed text that were looked for in catalogue, index and
            files of the home; 0: no proof.
        shared: more of its sentences, which were not, because other documents say them as well.
        purged: no byte of it is left in the files of the stores (None: not tried).
        server: the catalogue is on a server, whose own files, write-ahead log, replicas and
            backups are beyond reach; only its rows were looked at.
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
    kb: KnowledgeBase, collection: str, given: Sequence[str], *, prove: bool = True
) -> RemoveReport:
    """Remove what paths, addresses, document ids or titles name (``resolve``).

    Raises:
        SourceError: one of them names nothing, or several documents; then nothing is removed.
        StoreError: as ``remove_sources``.
    """
    sources, documents = resolve(kb, collection, given)
    return _remove(kb, collection, sources, documents, prove=prove)


def remove_sources(kb: KnowledgeBase, collection: str, uris: Sequence[str]) -> RemoveReport:
    """Remove sources with all their documents from catalogue, index and stored answers."""
    return _remove(kb, collection, uris, (), prove=False)


def remove_documents(
    kb: KnowledgeBase, document_ids: Iterable[str], *, prove: bool = False
) -> RemoveReport:
    """Remove single documents; their source stays known and yields them again when it changes."""
    return _remove(kb, "", (), list(document_ids), prove=prove)


def remove_collection(kb: KnowledgeBase, collection: str) -> RemoveReport:
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
    return _remove(kb, collection, uris, ids, prove=True, whole=True)


def remove_conversation(kb: KnowledgeBase, session_id: str, owner: str) -> int | None:
    """Remove a session with its answers and all that they left; how many answers, None without one.

    Its bytes leave the disk as well where that is quick; else ``verify`` tells that it is left.
    """
    removed = kb.catalogue.sessions.remove(session_id, owner)
    if removed is not None:
        purge_if_quick(whole_of(kb))  # the stores are everybody's: no reader's view rewrites them
    return removed


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
    addresses = _names(kb, collection, uris, ids) if prove else []
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
    looked = [*wanted, *addresses]
    purged, found = _prove(kb, looked, () if whole else sorted(concerned)) if prove else (None, ())
    after = kb.catalogue.integrity.row_counts()
    kb.catalogue.expiry.sweep()
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
        server=bool(kb.place.url),
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
        titles = kb.catalogue.forgetting.titles(ids)
        gone = take()
        rows = index.remove(gone)
        kb.catalogue.settle(gone)
        kb.catalogue.forgetting.words(texts, titles)
    return len(gone), rows


def _to_look_for(kb: KnowledgeBase, ids: Sequence[str]) -> tuple[list[str], int]:
    """Sentences that no document says that stays, and how many more others say as well."""
    chosen: list[str] = []
    for some in chunks(ids):
        chosen = evenly([*chosen, *needles(kb.catalogue.forgetting.texts(some))], MOST)
    shared = said_elsewhere(kb, chosen, ids)
    return [words for words in chosen if words not in shared], len(shared)


def _names(
    kb: KnowledgeBase, collection: str, uris: Sequence[str], ids: Sequence[str]
) -> list[str]:
    """Addresses of files to look for: those that nothing which stays is called by, or says."""
    gone = set(uris)
    there = (
        uri
        for name in kb.catalogue.collection_names()
        for uri in kb.catalogue.sources(name)
        if name != collection or uri not in gone
    )
    stays = "\n".join(there)
    files = [uri for uri in evenly(uris, MOST) if uri.startswith("file:") and uri not in stays]
    said = said_elsewhere(kb, files, ids)
    return [uri for uri in files if uri not in said]


def _prove(
    kb: KnowledgeBase, wanted: Sequence[str], collections: Sequence[str]
) -> tuple[bool, list[Trace]]:
    """Bring up to date what was made of the documents, take their bytes off the disk, and look."""
    for collection in collections:
        finish_run(kb, collection)
    tidy(kb)  # an index in the making that nobody is working at
    purged = purge(kb)
    return purged, find_traces(kb, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What went with a user.

    Attributes:
        purged: whether no byte of it is left on the disk; else ``verify --repair`` sees to it.
    """

    forgotten: Forgotten
    purged: bool
    traces: tuple[Trace, ...] = ()


def forget_user(kb: KnowledgeBase, user_id: str) -> ForgetReport:
    """Remove an account and all that it asked, rated and preferred, and prove it.

    What documents say as well (a question may quote one) is no trace.
    """
    forgotten = kb.catalogue.forgetting_users.forget(user_id)
    purged = purge(kb)
    wanted = [user_id, *needles(forgotten.texts)]
    besides = said_elsewhere(kb, wanted, ())
    found = find_traces(kb, [one for one in wanted if one not in besides])
    return ForgetReport(forgotten=forgotten, purged=purged, traces=tuple(found))
