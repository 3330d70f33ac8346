"""Builds a new index with the current settings beside the live one, and switches at the end.

Queries and runs of ``add`` use the live index meanwhile, and keep it after a killed or cancelled
build; the next run drops what was built (``tidy``) and begins anew.

When every document is written, the writers' lock is taken, recent changes are applied, the rows
are compared with the catalogue's list, and one transaction makes the new index the live one. Then
the old one is dropped; if the process is killed just before, the next run drops it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wellread.errors import SettingsError, StoreError
from wellread.identity import passage_id
from wellread.ingest.pipeline.commit import (
    REINDEX_LOCK,
    drop_noted,
    drop_unused_indexes,
    embedded_text,
    index_rows,
    writing,
)
from wellread.ingest.pipeline.job_log import JobLog, Progress, end_dead_jobs, job_log
from wellread.ingest.pipeline.parse import split
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.base import Fingerprint
from wellread.store.catalogue.documents.reindexing import Edition
from wellread.types import Passage

logger = logging.getLogger(__name__)

LOCK_SECONDS = 5.0  # ``tidy`` holds the lock briefly at the start of other runs
WINDOW_PASSAGES = 512  # passages written to the next index together
EMBED_SLICE = 64  # passages embedded between two checks whether to stop
OPTIMIZE_PASSAGES = 20_000  # rows written before the index is optimised
CATCH_UP_DOCUMENTS = 8  # at most this many documents are embedded while other writers wait
MAX_COMPARISONS = 3  # a mismatch after this many counts as a defect


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexProgress:
    """The number of documents to write, of those written, and of passages embedded."""

    total: int
    done: int
    passages: int


OnReindexProgress = Callable[[ReindexProgress], None]
_Cut = tuple[Edition, list[Passage]]


class NextIndex:
    """Builds the next index. Only one process at a time may do so.

    ``written`` has the version and facts hash of each document whose rows are in that index.
    """

    def __init__(
        self, kb: KnowledgeBase, log: JobLog, on_progress: OnReindexProgress | None
    ) -> None:
        self.kb = kb
        self.log = log
        self.on_progress = on_progress
        self.state = kb.catalogue.reindexing
        self.parts = kb.wanted_parts()
        self.written: dict[str, tuple[str, str]] = {}
        self.total = self.embedded = self.unoptimized = self.compared = self.passages = 0

    def make(self) -> bool:
        """Fill the next index and switch to it; False if the job was cancelled first."""
        while self._write(self._missing()):
            self.parts.index.optimize()
            with writing(self.kb):
                if self._ready():
                    self.state.switch(self.kb.wanted_live())
                    logger.info("the index of %s is live", self.parts.fingerprint.embedder)
                    return True
        return False

    def _ready(self) -> bool:
        """Apply the last changes and compare, under the writers' lock; False to fill again."""
        try:
            drop_noted(self.kb, self.kb.index)
        except (StoreError, SettingsError) as error:  # not needed: rows come from the catalogue
            logger.warning("the index in use cannot be reached and is left unchanged: %s", error)
        missing = self._missing()
        if len(missing) > CATCH_UP_DOCUMENTS or not self._write(missing):
            return False
        if unread := self._missing():
            self._count_failed_comparison(f"document {unread[0]} cannot be read from the catalogue")
            return False
        return not self._mismatched()

    def _missing(self) -> list[str]:
        """Drop the rows of documents that changed; return the documents to write."""
        live = self.state.live_hashes()
        self.total = len(live)
        self._drop([key for key, hashes in self.written.items() if live.get(key) != hashes])
        return [document_id for document_id in live if document_id not in self.written]

    def _drop(self, document_ids: Collection[str]) -> None:
        versions = [(document_id, self.written[document_id][0]) for document_id in document_ids]
        self.parts.index.remove(versions)
        self.state.forget(document_ids)
        for document_id in document_ids:
            del self.written[document_id]

    def _write(self, document_ids: Iterable[str]) -> bool:
        """Write these documents in windows; False if the job was cancelled."""
        window: list[_Cut] = []
        size = 0
        for document_id in document_ids:
            if edition := self.state.edition(document_id):
                passages = split(edition.document, self.parts.tokens, count_tokens)
                window.append((edition, _with_version(edition, passages)))
                size += len(passages)
            if size >= WINDOW_PASSAGES:
                if not self._write_window(window):
                    return False
                window, size = [], 0
        complete = self._write_window(window)
        self.log.write(self._progress())
        return complete

    def _write_window(self, window: Sequence[_Cut]) -> bool:
        """Embed and write some documents; False if the job was cancelled before writing."""
        passages = [passage for _, parts in window for passage in parts]
        vectors = self._embed(passages)
        if vectors is None:
            return False
        self.state.intend([parts for _, parts in window])
        rows = [row for edition, parts in window for row in index_rows(edition.document, parts)]
        if rows:
            self.parts.index.write(rows, vectors)
        self.written |= {item.document_id: (item.version, item.facts) for item, _ in window}
        self.unoptimized += len(rows)
        if self.unoptimized >= OPTIMIZE_PASSAGES:
            self.parts.index.optimize()
            self.unoptimized = 0
        self._report_progress()
        return not self._stopped()

    def _embed(self, passages: Sequence[Passage]) -> NDArray[np.float32] | None:
        vectors = [np.zeros((0, self.parts.fingerprint.dimensions), dtype=np.float32)]
        for start in range(0, len(passages), EMBED_SLICE):
            if self._stopped():
                return None
            batch = passages[start : start + EMBED_SLICE]
            texts = [embedded_text(passage) for passage in batch]
            vectors.append(self.parts.embedder.embed(texts, "passage"))
            self.embedded += len(batch)
            self._report_progress()
        return np.concatenate(vectors)

    def _mismatched(self) -> bool:
        """Compare the rows with the catalogue's list; drop those of documents that differ."""
        listed = {key.passage_id: key.document_id for key in self.state.passage_keys()}
        self.passages = len(listed)
        strays: set[tuple[str, str]] = set()
        for key in self.parts.index.keys():  # noqa: SIM118 - an index is no mapping
            if listed.pop(key.passage_id, None) is None:
                strays.add((key.document_id, key.version))
        wrong = {*listed.values(), *(document_id for document_id, _ in strays)}
        if not wrong:
            return False
        self._count_failed_comparison(
            f"the new index lacks {len(listed)} rows that were written to it, and has unexpected "
            f"rows of {len(strays)} documents"
        )
        logger.warning("%d documents of the new index do not match; writing them again", len(wrong))
        self._drop(wrong & self.written.keys())
        self.parts.index.remove(sorted(strays))
        return True

    def _count_failed_comparison(self, reason: str) -> None:
        self.compared += 1
        if self.compared >= MAX_COMPARISONS:
            raise StoreError(
                f"the new index cannot replace the old one: {reason}",
                hint="check the disk and run 'wellread verify'; the old index stays in use",
            )

    def _stopped(self) -> bool:
        return self.log.record_if_due(self._progress())

    def _progress(self) -> Progress:
        return Progress(
            sources_total=self.total,
            sources_done=len(self.written),
            passages_done=self.embedded,
            passages_written=self.embedded,
        )

    def _report_progress(self) -> None:
        if self.on_progress:
            done = len(self.written)
            self.on_progress(ReindexProgress(total=self.total, done=done, passages=self.embedded))


def _with_version(edition: Edition, passages: list[Passage]) -> list[Passage]:
    """Give passages the ids of the live version, even if the stored text has been damaged."""
    document_id, version = edition.document_id, edition.version
    if all(passage.version == version for passage in passages):
        return passages
    return [
        replace(passage, id=passage_id(document_id, version, passage.span), version=version)
        for passage in passages
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """The result of re-indexing: the live index before and now, and the size of the new one."""

    before: Fingerprint
    now: Fingerprint
    switched: bool = False
    cancelled: bool = False
    documents: int = 0
    passages: int = 0
    embedded: int = 0
    seconds: float = 0.0
    job_id: str = ""


def reindex(kb: KnowledgeBase, *, on_progress: OnReindexProgress | None = None) -> ReindexReport:
    """Rebuild the index with the current settings, unless the live one has them already.

    Raises:
        StoreError: another process is re-indexing, or a store failed; the old index stays in use.
        ModelError: the embedder failed; the old index stays in use.
    """
    started = time.perf_counter()
    with kb.locks.hold(REINDEX_LOCK, LOCK_SECONDS) as acquired:
        if not acquired:
            raise StoreError(
                f"another process is re-indexing {kb.home}",
                hint="'wellread jobs' shows its progress",
            )
        before = (kb.catalogue.reindexing.live() or kb.wanted_live()).fingerprint
        drop_unused_indexes(kb)
        if before == kb.wanted:
            end_dead_jobs(kb)  # a run may have been killed right after the switch
            return ReindexReport(before=before, now=before)
        kb.catalogue.reindexing.begin(kb.wanted)
        with job_log(kb, "reindex", "", [before.embedder, kb.wanted.embedder]) as log:
            run = NextIndex(kb, log, on_progress)
            switched = run.make()
        drop_unused_indexes(kb)
    return ReindexReport(
        before=before,
        now=kb.wanted if switched else before,
        switched=switched,
        cancelled=not switched,
        documents=len(run.written),
        passages=run.passages,
        embedded=run.embedded,
        seconds=time.perf_counter() - started,
        job_id=log.job.id,
    )
