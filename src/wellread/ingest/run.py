"""Ingest, top to bottom: found files → documents → passages → index → catalogue. Read this first.

The order of writes is what keeps a home whole at any kill (SPEC 2.1):

1. the catalogue notes which versions are about to go into the index (``intend``);
2. the index takes their rows;
3. the catalogue flips to the new versions, in one transaction that also clears the notes and
   notes the old versions for removal (``commit``);
4. the index drops the old versions, and the catalogue clears those notes (``settle``).

Until 3 the old version is live and its rows are all there; a search never shows a row whose
version is not live. A run that finds notes of a killed one first drops what they name.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from filelock import FileLock, Timeout

from wellread.errors import SourceError, StoreError
from wellread.identity import document_id, facts_of, version_of
from wellread.ingest.base import LoaderLimits, Source
from wellread.ingest.discover import FoundFile, find_files
from wellread.ingest.kinds import is_current, load, loader_for
from wellread.ingest.passages import split
from wellread.ingest.report import OnProgress, Progress, Report, SourceResult
from wellread.ingest.rows import index_rows
from wellread.kb import INGEST_LOCK, KnowledgeBase
from wellread.models.tokens import count_tokens
from wellread.store.base import IndexRow
from wellread.store.catalogue.values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Document, Passage

logger = logging.getLogger(__name__)

WINDOW_PASSAGES = 512  # written to the index and committed together
EMBED_SLICE = 256  # passages between two reports of progress


def add(
    kb: KnowledgeBase,
    inputs: Sequence[str],
    *,
    collection: str = "default",
    on_progress: OnProgress | None = None,
) -> Report:
    """Take in files, folders and globs. One bad source never stops the others.

    Raises:
        StoreError: another run is writing to this home, or a store refused (disk full).
        FingerprintError: the index was built with other settings.
        ModelError: the embedder failed; what was committed before stays.
    """
    started = time.perf_counter()
    with only_writer(kb):
        recover(kb)
        found = find_files(inputs, kb.settings.sources.exclude)
        run = _Run(kb, collection, len(found), on_progress)
        for item in found:
            run.take(item)
        run.finish()
    return Report(
        rows=tuple(run.results),
        passages=run.passages,
        seconds=time.perf_counter() - started,
    )


def recover(kb: KnowledgeBase) -> int:
    """Drop the index rows that a killed run left behind; how many versions were noted."""
    left = _drop_noted(kb)
    if left:
        logger.info("dropped %d versions that an interrupted run had left", left)
    return left


def _drop_noted(kb: KnowledgeBase) -> int:
    """Remove the index rows of every noted version that is not live, and clear the notes."""
    pending = kb.catalogue.pending()
    if not pending:
        return 0
    keys = [(write.document_id, write.version) for write in pending]
    live = kb.catalogue.live_versions([document for document, _ in keys])
    kb.index.remove([key for key in keys if live.get(key[0]) != key[1]])
    kb.catalogue.settle(keys)
    return len(keys)


@contextmanager
def only_writer(kb: KnowledgeBase) -> Iterator[None]:
    """Hold the home's ingest lock; the system frees it when the process dies.

    Raises:
        StoreError: another run holds it.
    """
    lock = FileLock(kb.home / INGEST_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreError(
            f"another run is adding to {kb.home}", hint="wait until it has ended"
        ) from error
    try:
        yield
    finally:
        lock.release()


@dataclass(slots=True)
class _Window:
    """Sources that are written and committed together."""

    changes: list[SourceChange] = field(default_factory=list)
    fresh: list[tuple[Document, Sequence[Passage]]] = field(default_factory=list)
    passages: int = 0


class _Run:
    """One pass over the found files; collects windows and results."""

    def __init__(
        self, kb: KnowledgeBase, collection: str, total: int, on_progress: OnProgress | None
    ) -> None:
        self.kb = kb
        self.collection = collection
        self.total = total
        self.on_progress = on_progress
        self.known = kb.catalogue.sources(collection)
        self.window = _Window()
        self.results: list[SourceResult] = []
        self.passages = 0
        self.limits = LoaderLimits(max_pages=kb.settings.sources.max_pages)

    def take(self, item: FoundFile | SourceError) -> None:
        """Read one source into the window, or note why not."""
        self._tell(item.uri)
        if isinstance(item, SourceError):
            self._fail(item)
            return
        try:
            self._read(item)
        except SourceError as error:
            self._fail(error, item)
        if self.window.passages >= WINDOW_PASSAGES:
            self.flush()

    def finish(self) -> None:
        """Write what is left, fold new rows into the index, and tell that all is done."""
        self.flush()
        if self.total:  # a killed run may have left rows unfolded; with none it costs nothing
            self.kb.index.optimize()
        self._tell("")

    def flush(self) -> None:
        """Write the window: intend, index, commit, settle (the module's text says why)."""
        window, self.window = self.window, _Window()
        if not window.changes:
            return
        kb = self.kb
        rows = [row for document, parts in window.fresh for row in index_rows(document, parts)]
        kb.catalogue.intend(
            [(row.document_id, row.version) for row in _first_of_each_document(rows)]
        )
        vectors = self._embed([f"{row.context}\n{row.text}" for row in rows])
        if rows:
            kb.index.write(rows, vectors)
        kb.catalogue.commit(window.changes)
        _drop_noted(kb)
        self._tell("")

    def _read(self, item: FoundFile) -> None:
        known = self.known.get(item.uri)
        if known and known.digest and not known.reason:
            same_stat = (known.size, known.mtime_ns) == (item.size, item.mtime_ns)
            if same_stat and is_current(known.loader):
                self._note(SourceResult(uri=item.uri, status="unchanged"))
                return
        source = self._open(item)
        entry = loader_for(source)
        if entry is None:
            self._skip(item, "not a kind of file that is read")
            return
        digest = hashlib.blake2b(source.data, digest_size=16).hexdigest()
        record = SourceRecord(
            collection=self.collection,
            uri=item.uri,
            size=item.size,
            mtime_ns=item.mtime_ns,
            digest=digest,
            loader=entry.identity,
            status="updated" if known and known.digest else "added",
            reason="",
        )
        if known and known.digest == digest and known.loader == record.loader:
            self.kb.catalogue.record_source(replace(record, status="unchanged"))
            self._note(SourceResult(uri=item.uri, status="unchanged"))
            return
        self._collect(record, load(source, self.limits))

    def _collect(self, record: SourceRecord, documents: list[Document]) -> None:
        """Split the documents of one source and put them into the window."""
        by_id = {document_id(doc.collection, doc.uri): doc for doc in documents}
        live = self.kb.catalogue.live_hashes(list(by_id))
        changes = []
        for key, document in by_id.items():
            passages = split(document, self.kb.settings.chunking.tokens, count_tokens)
            changes.append(DocumentChange(document=document, passages=passages))
            now = (version_of(document.text, document.marks), facts_of(document))
            if live.get(key) != now:
                self.window.fresh.append((document, passages))
                self.window.passages += len(passages)
        self.window.changes.append(SourceChange(record=record, documents=tuple(changes)))
        self._note(
            SourceResult(
                uri=record.uri,
                status="updated" if record.status == "updated" else "added",
                documents=len(changes),
                passages=sum(len(change.passages) for change in changes),
            )
        )

    def _open(self, item: FoundFile) -> Source:
        if item.size > self.kb.settings.sources.max_bytes:
            raise SourceError(
                item.uri,
                f"too large: {item.size:,} bytes, the limit is "
                f"{self.kb.settings.sources.max_bytes:,} (sources.max_bytes)",
            )
        try:
            data = item.path.read_bytes()
        except OSError as error:
            raise SourceError(item.uri, f"cannot be read: {error.strerror}") from error
        return Source(
            uri=item.uri,
            # Names that are not UTF-8 hold lone surrogates, which no store takes as a title.
            name=os.fsencode(item.path.name).decode("utf-8", errors="replace"),
            data=data,
            collection=self.collection,
            path=item.path,
        )

    def _embed(self, texts: list[str]) -> np.ndarray:
        parts = []
        for start in range(0, len(texts), EMBED_SLICE):
            part = texts[start : start + EMBED_SLICE]
            parts.append(self.kb.embedder.embed(part, "passage"))
            self.passages += len(part)
            self._tell("")
        return np.concatenate(parts) if parts else np.zeros((0, self.kb.embedder.dimensions))

    def _fail(self, error: SourceError, item: FoundFile | None = None) -> None:
        """Note the failure. What an earlier run read from the source stays as it was."""
        known = self.known.get(error.uri)
        if item is not None and known is None:
            self.kb.catalogue.record_source(_bare_record(self.collection, item, "failed", error))
        self._note(SourceResult(uri=error.uri, status="failed", reason=error.reason))

    def _skip(self, item: FoundFile, reason: str) -> None:
        self._note(SourceResult(uri=item.uri, status="skipped", reason=reason))

    def _note(self, result: SourceResult) -> None:
        self.results.append(result)

    def _tell(self, current: str) -> None:
        if self.on_progress:
            self.on_progress(
                Progress(
                    sources_total=self.total,
                    sources_done=len(self.results),
                    passages_done=self.passages,
                    current=current,
                )
            )


def _bare_record(
    collection: str, item: FoundFile, status: Literal["failed"], error: SourceError
) -> SourceRecord:
    return SourceRecord(
        collection=collection,
        uri=item.uri,
        size=item.size,
        mtime_ns=item.mtime_ns,
        digest="",
        loader="",
        status=status,
        reason=error.reason,
    )


def _first_of_each_document(rows: list[IndexRow]) -> list[IndexRow]:
    return list({(row.document_id, row.version): row for row in rows}.values())
