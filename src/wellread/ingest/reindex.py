"""Builds a new index with the current settings beside the live one, and switches at the end.

Queries and runs of ``add`` use the live index meanwhile, and a killed or cancelled run continues
where it stopped. The catalogue lists the documents whose rows are written; the order of writes
keeps this list true when the run is killed: passages are noted (``intend``), their rows written,
then the documents are listed with their versions (``stage``).

When every document is written, the writers' lock is taken, recent changes are applied, the rows
are compared with the catalogue's list, and one transaction makes the new index the live one. Then
the old one is dropped; after a kill just before, the next run drops it (``tidy``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wellread.errors import SettingsError, StoreError
from wellread.identity import passage_id
from wellread.ingest.pipeline.commit import drop_noted, embedded_text, index_rows, writing
from wellread.ingest.pipeline.job_log import JobLog, Progress, end_dead_jobs, job_log
from wellread.ingest.pipeline.parse import split
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.base import Fingerprint, Index
from wellread.store.catalogue.documents.reindexing import Edition, Extent, Reindexing
from wellread.types import Passage

logger = logging.getLogger(__name__)

REINDEX_LOCK = "reindex.lock"
LOCK_SECONDS = 5.0  # ``tidy`` holds the lock briefly at the start of other runs
WINDOW_PASSAGES = 512  # passages written to the next index together
EMBED_SLICE = 64  # passages embedded between two checks whether to stop
FOLD_PASSAGES = 20_000  # rows written before the index is optimised
CATCH_UP_PASSAGES = 128  # most passages embedded while other writers wait
STALE_BATCH = 500
LOOKUP_BATCH = 64  # documents looked up together
COMPARISONS = 3  # rounds after which a mismatch counts as a defect


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexProgress:
    """The progress; this run embedded ``passages``. The time left is estimated by characters."""

    total: Extent
    done: Extent
    passages: int


OnReindexProgress = Callable[[ReindexProgress], None]
_Cut = tuple[Edition, list[Passage]]


class NextIndex:
    """Builds the next index. Only one process at a time may do so."""

    def __init__(
        self, kb: KnowledgeBase, log: JobLog, on_progress: OnReindexProgress | None
    ) -> None:
        self.kb = kb
        self.log = log
        self.on_progress = on_progress
        self.state: Reindexing = kb.catalogue.reindexing
        self.parts = kb.wanted_parts()
        self.embedded = self.unfolded = self.compared = self.passages = 0
        self.total = self.done = self.state.done()

    def make(self) -> bool:
        """Fill the next index and switch to it; False if the job was cancelled first."""
        while True:
            if not self._fill():
                return False
            self.parts.index.optimize()
            with writing(self.kb):
                if self._ready():
                    self.state.switch(self.kb.wanted_live())
                    logger.info("the index of %s is live", self.parts.fingerprint.embedder)
                    return True

    def _fill(self) -> bool:
        """Write all live documents into the next index; False if the job was cancelled."""
        drop_stale(self.kb, self.parts.index)
        self._update_totals()
        for window in _windows(self._missing()):
            if self._stopped() or not self._write(window):
                self._update_totals()
                return False
            if self.unfolded >= FOLD_PASSAGES:
                self.parts.index.optimize()
                self.unfolded = 0
        self._update_totals()
        return not self._stopped()

    def _ready(self) -> bool:
        """Apply the last changes and compare, under the writers' lock; False to fill again."""
        try:
            drop_noted(self.kb, self.kb.index)
        except (StoreError, SettingsError) as error:  # not needed: rows come from the catalogue
            logger.warning("the index in use cannot be reached and is left unchanged: %s", error)
        drop_stale(self.kb, self.parts.index)
        if self.state.whole().passages - self.state.done().passages > CATCH_UP_PASSAGES:
            return False
        for window in _windows(self._missing()):
            if not self._write(window):
                return False
        if unread := self.state.missing("", 1):
            self._count_failed_comparison(f"document {unread[0]} cannot be read from the catalogue")
            return False
        if self._mismatched():
            return False
        self._update_totals()
        return True

    def _write(self, window: Sequence[_Cut]) -> bool:
        """Embed and write some documents; False if the job was cancelled before writing."""
        passages = [passage for _, parts in window for passage in parts]
        vectors = self._embed(passages)
        if vectors is None:
            return False
        self.state.intend(window)
        rows = [row for edition, parts in window for row in index_rows(edition.document, parts)]
        if rows:
            self.parts.index.write(rows, vectors)
        self.state.stage([(edition.document_id, edition.version) for edition, _ in window])
        self.unfolded += len(rows)
        characters = sum(len(edition.document.text) for edition, _ in window)
        self.done = replace(
            self.done,
            documents=self.done.documents + len(window),
            characters=self.done.characters + characters,
        )
        self._report_progress()
        return True

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

    def _missing(self) -> Iterator[_Cut]:
        last = ""
        while ids := self.state.missing(last, LOOKUP_BATCH):
            for edition in self.state.editions(ids):
                passages = split(edition.document, self.parts.tokens, count_tokens)
                yield edition, _with_version(edition, passages)
            last = ids[-1]

    def _mismatched(self) -> bool:
        """Compare the rows with the catalogue's list; mark documents that differ for rewriting."""
        listed = {key.passage_id: key.document_id for key in self.state.passage_keys()}
        self.passages = len(listed)
        strays: set[tuple[str, str]] = set()
        for key in self.parts.index.keys():  # noqa: SIM118 - an index is no mapping
            if listed.pop(key.passage_id, None) is None:
                strays.add((key.document_id, key.version))
        wrong = {*listed.values(), *(document for document, _ in strays)}
        if not wrong:
            return False
        self._count_failed_comparison(
            f"the new index lacks {len(listed)} rows that were written to it, and has unexpected "
            f"rows of {len(strays)} documents"
        )
        logger.warning("%d documents of the new index do not match; writing them again", len(wrong))
        self.state.mark_incomplete(wrong)
        self.parts.index.remove(sorted(strays))
        return True

    def _count_failed_comparison(self, reason: str) -> None:
        self.compared += 1
        if self.compared >= COMPARISONS:
            raise StoreError(
                f"the new index cannot replace the old one: {reason}",
                hint="check the disk and run 'wellread verify'; the old index stays in use",
            )

    def _stopped(self) -> bool:
        return self.log.record_if_due(self._progress())

    def _update_totals(self) -> None:
        """Update the totals from the catalogue: documents come and go while this runs."""
        self.total, self.done = self.state.whole(), self.state.done()
        self.log.write(self._progress())
        self._report_progress()

    def _progress(self) -> Progress:
        return Progress(
            sources_total=self.total.documents,
            sources_done=self.done.documents,
            passages_done=self.embedded,
            passages_written=self.embedded,
        )

    def _report_progress(self) -> None:
        if self.on_progress:
            self.on_progress(
                ReindexProgress(total=self.total, done=self.done, passages=self.embedded)
            )


def drop_stale(kb: KnowledgeBase, index: Index) -> None:
    """Remove rows from the next index that are not live or were not completely written."""
    state = kb.catalogue.reindexing
    while stale := state.stale(STALE_BATCH):
        # This order keeps a document whose old version returns from counting as written.
        state.mark_incomplete(stale)
        index.remove([(doc, v) for doc, versions in stale.items() for v in versions])
        state.forget(stale)


def _windows(documents: Iterable[_Cut]) -> Iterator[list[_Cut]]:
    window: list[_Cut] = []
    size = 0
    for edition, passages in documents:
        window.append((edition, passages))
        size += len(passages)
        if size >= WINDOW_PASSAGES:
            yield window
            window, size = [], 0
    if window:
        yield window


def _with_version(edition: Edition, passages: list[Passage]) -> list[Passage]:
    """Give passages the ids of the live version, even if the stored text has been damaged."""
    doc_id, version = edition.document_id, edition.version
    if all(passage.version == version for passage in passages):
        return passages
    return [replace(p, id=passage_id(doc_id, version, p.span), version=version) for p in passages]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """The result of re-indexing.

    Attributes:
        before, now: fingerprint of the live index before and after the run.
        documents, passages: counts of the new index (passages: only once it was compared).
        embedded: passages that this run embedded; an earlier run embedded the others.
    """

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
        StoreError: another process is re-indexing, or a store failed; finished work stays.
        ModelError: the embedder failed; finished work stays.
    """
    started = time.perf_counter()
    with kb.locks.hold(REINDEX_LOCK, LOCK_SECONDS) as acquired:
        if not acquired:
            raise StoreError(
                f"another process is re-indexing {kb.home}",
                hint="'wellread jobs' shows its progress",
            )
        before = (kb.catalogue.reindexing.live() or kb.wanted_live()).fingerprint
        if before == kb.wanted:
            end_dead_jobs(kb)  # a run may have been killed right after the switch
            _tidy(kb, keep_attempt=False)
            return ReindexReport(before=before, now=before)
        if kb.catalogue.reindexing.attempt() != kb.wanted:
            _tidy(kb, keep_attempt=False)
            kb.catalogue.reindexing.begin(kb.wanted)
        with job_log(kb, "reindex", "", [before.embedder, kb.wanted.embedder]) as log:
            run = NextIndex(kb, log, on_progress)
            switched = run.make()
        if switched:
            _drop_others(kb)
    return ReindexReport(
        before=before,
        now=kb.wanted if switched else before,
        switched=switched,
        cancelled=not switched,
        documents=run.done.documents,
        passages=run.passages,
        embedded=run.embedded,
        seconds=time.perf_counter() - started,
        job_id=log.job.id,
    )


def tidy(kb: KnowledgeBase) -> None:
    """Drop unused indexes, and removed texts from an unfinished index.

    Does nothing while another process is re-indexing, which cleans up itself. Needs no embedder.
    """
    if kb.catalogue.reindexing.live() is None:
        return
    with kb.locks.hold(REINDEX_LOCK) as acquired:
        if acquired:
            _tidy(kb, keep_attempt=True)


def _tidy(kb: KnowledgeBase, *, keep_attempt: bool) -> None:
    attempt = kb.catalogue.reindexing.attempt()
    if attempt is not None and keep_attempt:
        drop_stale(kb, kb.open_index(attempt))
    elif attempt is not None:
        kb.catalogue.reindexing.abandon()
    _drop_others(kb)


def _drop_others(kb: KnowledgeBase) -> None:
    try:
        for name in kb.drop_other_indexes():
            logger.info("dropped the index %s, which is no longer in use", name)
    except (StoreError, SettingsError) as error:
        # Harmless: old files may still be in use, or the old cluster or its address is gone.
        logger.warning("an old index stays until the next run: %s", error)
