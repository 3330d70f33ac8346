"""Writes documents into catalogue and index: intend, index, commit, settle, under one lock.

All writes go this way. Their order keeps the stores consistent when a run is killed at any moment:

1. the catalogue notes as pending which versions are about to go into the index (``intend``);
2. the index takes their rows;
3. one transaction of the catalogue makes the new versions live, clears the notes, notes the old
   versions for removal and marks the vectors of the new ones as pending (``commit``);
4. the index drops the old versions, and the catalogue clears those notes (``settle``).

Until step 3 the old version is live with all its rows; a search never shows a row whose version
is not live. All four steps happen under one lock, taken briefly for each window of sources. So a
process that holds the lock and finds notes knows that their writer was killed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from wellread.errors import DamageError, ModelError, SettingsError, StoreError, WellreadError
from wellread.identity import facts_of
from wellread.ingest.pipeline.parse import ParsedDocument, cut_text
from wellread.kb import INGEST_LOCK, KnowledgeBase
from wellread.store.base import Index, IndexRow
from wellread.store.catalogue.documents.reindexing import PendingVectors
from wellread.store.catalogue.run_logs import JobItem
from wellread.store.row_values import COPIED
from wellread.store.schema.postgresql import is_value_error
from wellread.store.schema.stored_values import (
    DocumentChange,
    SourceChange,
    SourceRecord,
    VersionKey,
)
from wellread.text.languages import document_language
from wellread.types import Document, Passage

logger = logging.getLogger(__name__)

LOCK_SECONDS = 600.0
WRITE_DOCUMENTS = 64  # documents per batch when rows are rewritten from the catalogue


@contextmanager
def writing(kb: KnowledgeBase) -> Iterator[None]:
    """Hold the home's writers' lock.

    Raises:
        StoreError: another process holds it for ten minutes.
    """
    with kb.locks.hold(INGEST_LOCK, LOCK_SECONDS) as acquired:
        if not acquired:
            raise StoreError(
                f"another process has been writing to {kb.home} for {LOCK_SECONDS:.0f} seconds",
                hint="wait until it has finished, or stop it",
            )
        yield


def index_rows(document: Document, passages: Sequence[Passage]) -> list[IndexRow]:
    """Return the index rows for ``passages`` of ``document``."""
    taxonomy = tuple(
        f"{name}={value}" for name, values in document.taxonomy.items() for value in values
    )
    facts = {name: getattr(document, name) for name in (*COPIED, "authors", "published_at")}
    return [
        IndexRow(
            passage_id=passage.id,
            document_id=passage.document_id,
            version=passage.version,
            span=passage.span,
            text=passage.text,
            context=passage.context,
            speakers=passage.speakers,
            taxonomy=taxonomy,
            **facts,
        )
        for passage in passages
    ]


def recover(kb: KnowledgeBase) -> int:
    """Clean up index rows that a killed run left behind; return the number of noted versions."""
    with writing(kb):
        count = drop_noted(kb, kb.live().index)
    if count:
        logger.info("cleaned up %d versions that an interrupted run left behind", count)
    return count


def sync_index(kb: KnowledgeBase) -> None:
    """Apply index changes left by a catalogue upgrade; log a warning if that must wait."""
    if not kb.catalogue.pending():
        return
    try:
        recover(kb)
    except (StoreError, ModelError) as error:
        logger.warning("%s; the moved documents can be found after the next add or sync", error)


def drop_noted(kb: KnowledgeBase, index: Index) -> int:
    """Remove the index rows of every noted version that is not live, and clear the notes.

    Rows of live versions that are noted for writing are written: an upgrade may have given a
    document another id, or a run was killed while it rewrote a live version.
    """
    pending = kb.catalogue.pending()
    if not pending:
        return 0
    keys = [(note.document_id, note.version) for note in pending]
    live = kb.catalogue.live_versions([document for document, _ in keys])
    index.remove([key for key in keys if live.get(key[0]) != key[1]])
    unwritten = [note for note in pending if note.action == "write"]
    put_rows(
        kb,
        index,
        [note.document_id for note in unwritten if live.get(note.document_id) == note.version],
    )
    kb.catalogue.settle(keys)
    return len(keys)


def put_rows(kb: KnowledgeBase, index: Index, document_ids: Sequence[str]) -> None:
    """Write the rows of live documents from the catalogue and mark their vectors as pending."""
    for first in range(0, len(document_ids), WRITE_DOCUMENTS):
        ids = document_ids[first : first + WRITE_DOCUMENTS]
        live = kb.catalogue.live_versions(ids)
        kb.catalogue.integrity.add_pending(live.items())
        rows = []
        for document_id in live:
            document = kb.catalogue.document(document_id)
            if document is not None:
                rows += index_rows(document, kb.catalogue.passages_of([document_id]))
        if rows:
            index.write(rows, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A source that was read: its record and all its documents."""

    record: SourceRecord
    documents: Sequence[ParsedDocument]
    accumulates: bool = False


@dataclass(slots=True)
class Window:
    """Read sources that are written together; ``tokens`` is the size of their passages."""

    tokens: int
    sources: list[ReadSource] = field(default_factory=list)
    seen: list[SourceRecord] = field(default_factory=list)
    results: list[JobItem] = field(default_factory=list)
    passages: int = 0
    opened: float = field(default_factory=time.monotonic)

    def add(self, source: ReadSource) -> None:
        """Add a source; of its documents with the same address only the last is kept."""
        by_id = {document.id: _in_its_language(document) for document in source.documents}
        self.sources.append(replace(source, documents=tuple(by_id.values())))
        self.passages += sum(len(document.cuts) for document in by_id.values())

    def __bool__(self) -> bool:
        return bool(self.sources or self.seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """The number of passages written, and the sources a store rejected, with the reason."""

    passages: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)


def write_window(kb: KnowledgeBase, window: Window) -> WriteResult:
    """Write a window into the stores; source by source if a store rejects one source's content.

    Raises:
        StoreError: a store fails whatever the content is (disk full); the old content stays.
    """
    if window.seen:
        kb.catalogue.record_sources(window.seen)
    try:
        return WriteResult(passages=_write_sources(kb, window, window.sources))
    except (StoreError, ValueError, TypeError, ArithmeticError) as error:
        if not _is_content_error(error):
            raise
    passages, refused = 0, {}
    for source in window.sources:
        try:
            passages += _write_sources(kb, window, [source])
        except (StoreError, ValueError, TypeError, ArithmeticError) as error:
            if not _is_content_error(error):
                raise
            logger.warning("%s: a store rejected the content", source.record.uri, exc_info=True)
            refused[source.record.uri] = f"cannot be stored: {error.__cause__ or error}"
    recover(kb)  # removes rows of rejected sources
    return WriteResult(passages=passages, refused=refused)


def _is_content_error(error: Exception) -> bool:
    """Whether the content to be written caused the error, and not the state of the store."""
    if isinstance(error, DamageError):
        return False
    cause = error.__cause__ if isinstance(error, StoreError) else error
    return isinstance(cause, ValueError | TypeError | ArithmeticError) or is_value_error(cause)


def _write_sources(kb: KnowledgeBase, window: Window, sources: Sequence[ReadSource]) -> int:
    if not sources:
        return 0
    with writing(kb):
        parts = kb.live()
        if window.tokens != parts.tokens:  # the index was switched to another size of passages
            sources = [
                replace(
                    item, documents=[cut_text(doc.document, parts.tokens) for doc in item.documents]
                )
                for item in sources
            ]
        live = kb.catalogue.live_hashes(doc.id for source in sources for doc in source.documents)
        changes = [
            SourceChange(
                record=source.record,
                documents=tuple(
                    DocumentChange(
                        document=doc.document,
                        passages=doc.passages(),
                        owes_vectors=parts.outdated_cuts
                        or live.get(doc.id) != (doc.version, facts_of(doc.document)),
                    )
                    for doc in source.documents
                ),
                accumulates=source.accumulates,
            )
            for source in sources
        ]
        return write_changes(kb, changes, partial(kb.catalogue.commit, changes))


def write_changes(
    kb: KnowledgeBase,
    changes: Sequence[SourceChange],
    commit: Callable[[Sequence[VersionKey]], object],
) -> int:
    """Take the four steps above; ``commit`` gets the versions that were written to the index.

    The caller holds the lock. Returns the number of rows written to the index.
    """
    index = kb.live().index
    rows = [
        row
        for change in changes
        for doc in change.documents
        if doc.owes_vectors
        for row in index_rows(doc.document, doc.passages)
    ]
    drop_noted(kb, index)
    versions = list(dict.fromkeys((row.document_id, row.version) for row in rows))
    kb.catalogue.intend(versions)
    if rows:
        index.write(rows, None)
    commit(versions)
    drop_noted(kb, index)
    return len(rows)


def _in_its_language(parsed: ParsedDocument) -> ParsedDocument:
    """Name the language that the document is written in, unless it names one itself."""
    document = parsed.document
    if document.language or document.kind == "qa":
        return parsed
    language = document_language(document.text)
    return replace(parsed, document=replace(document, language=language))


VECTORS_LOCK = "vectors.lock"
BATCH_PASSAGES = 512  # vectors written to the index together, at least
# A write of vectors reads the ids of the whole index, so many pending ones need larger batches.
LARGEST_BATCH = 4_096
BATCH_SHARE = 16
EMBED_SLICE = 128  # passages embedded between two progress reports and checks whether to stop
WAIT_SECONDS = 0.5


class VectorFiller:
    """A thread that embeds pending passages until ``no_more`` is called and all are done."""

    def __init__(self, kb: KnowledgeBase, on_vectors: Callable[[int], None]) -> None:
        self._kb = kb
        self._on_vectors = on_vectors
        self._more = threading.Event()  # passages were written, or no more will come
        self._last = threading.Event()  # no more passages will be written
        self._stop = threading.Event()  # leave the pending passages to another run
        self._error: WellreadError | None = None
        self._thread = threading.Thread(target=self._run, name="vectors", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Signal that new passages are pending."""
        self._more.set()

    def no_more(self) -> None:
        """End once nothing is pending: no more passages will be written."""
        self._last.set()
        self._more.set()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` and return whether the thread has ended; raise its error."""
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End after the current slice; the other passages stay pending."""
        self._stop.set()
        self._more.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                last = self._last.is_set()
                self._more.clear()
                has_pending = self._kb.catalogue.vectors.passages_pending() > 0
                if has_pending and not self._fill():
                    self._stop.wait(WAIT_SECONDS)  # another process is embedding
                elif not has_pending and last:
                    return
                elif not has_pending:
                    self._more.wait()
        except WellreadError as error:
            self._error = error

    def _fill(self) -> bool:
        """Embed all pending passages; False when another process is doing it."""
        with self._kb.locks.hold(VECTORS_LOCK) as acquired:
            while acquired and not self._stop.is_set():
                pending_count = self._kb.catalogue.vectors.passages_pending()
                size = min(max(BATCH_PASSAGES, pending_count // BATCH_SHARE), LARGEST_BATCH)
                pending = self._kb.catalogue.vectors.next_pending(size)
                if not pending:
                    break
                self._embed_batch(pending)
        return acquired

    def _embed_batch(self, rows: list[PendingVectors]) -> None:
        parts = self._kb.live()
        passages = self._kb.catalogue.passages_of(row.document_id for row in rows)
        vectors = []
        for start in range(0, len(passages), EMBED_SLICE):
            if self._stop.is_set():
                return
            batch = passages[start : start + EMBED_SLICE]
            texts = [embedded_text(passage) for passage in batch]
            vectors.append(parts.embedder.embed(texts, "passage"))
            self._on_vectors(len(batch))
        with writing(self._kb):
            if self._kb.live().fingerprint != parts.fingerprint:
                return  # a new index with its own vectors went live meanwhile
            if vectors:
                ids = [passage.id for passage in passages]
                parts.index.set_vectors(ids, np.concatenate(vectors))
            self._kb.catalogue.vectors.completed([(row.document_id, row.version) for row in rows])


def embedded_text(passage: Passage) -> str:
    """Return the text to embed for a passage: title and heading path, then its own text."""
    return f"{passage.context}\n{passage.text}"


REINDEX_LOCK = "reindex.lock"


def tidy(kb: KnowledgeBase) -> None:
    """Drop unused indexes and what a killed build left.

    Does nothing while another process is re-indexing, which cleans up itself. Needs no embedder.
    """
    if kb.catalogue.reindexing.live() is None:
        return
    with kb.locks.hold(REINDEX_LOCK) as acquired:
        if acquired:
            drop_unused_indexes(kb)


def drop_unused_indexes(kb: KnowledgeBase) -> None:
    """Drop every index but the live one; the caller holds ``REINDEX_LOCK``."""
    if kb.catalogue.reindexing.attempt() is not None:
        kb.catalogue.reindexing.abandon()
    try:
        for name in kb.drop_other_indexes():
            logger.info("dropped the index %s, which is no longer in use", name)
    except (StoreError, SettingsError) as error:
        # Harmless: old files may still be in use, or the old cluster or its address is gone.
        logger.warning("an old index stays until the next run: %s", error)
