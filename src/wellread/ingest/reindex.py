"""Makes the index that the settings ask for beside the live one, and switches at the end.

Queries and runs of ``add`` go on with the live index meanwhile, and a killed or cancelled run is
taken up where it ended (``next_index.py``). When every document is there the writers' lock is
taken, what changed meanwhile is caught up with, the rows are compared with what the catalogue
lists, one by one, and one transaction makes the next index the live one. The old one is dropped
then; a kill just before that leaves it to the next run (``tidy``).
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from wellread.errors import StoreError
from wellread.ingest.next_index import NextIndex, OnReindexProgress, ShouldStop, drop_stale
from wellread.ingest.pipeline.commit import locked
from wellread.ingest.pipeline.job_log import job_log
from wellread.kb import KnowledgeBase
from wellread.store.base import Fingerprint

logger = logging.getLogger(__name__)

REINDEX_LOCK = "reindex.lock"
LOCK_SECONDS = 5.0  # ``tidy`` holds it for a moment at the start of other runs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """How it ended.

    Attributes:
        before, now: what shaped the live index before the run, and shapes it now.
        switched: the index that the settings ask for took the place of the live one.
        cancelled: it was asked to stop; the next run goes on from there.
        documents: in the new index when the run ended.
        passages: in the new index, once it is live.
        embedded: passages that this run embedded; the others were there from an earlier one.
        job_id: of the run's record in the catalogue; empty when there was nothing to do.
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


def reindex(
    kb: KnowledgeBase,
    *,
    on_progress: OnReindexProgress | None = None,
    should_stop: ShouldStop | None = None,
) -> ReindexReport:
    """Make the index that the settings ask for the live one; nothing to do when it is.

    Raises:
        StoreError: another process is re-indexing, or a store refused; what was done stays.
        ModelError: the embedder failed; what was done stays.
    """
    started = time.perf_counter()
    with locked(kb.home / REINDEX_LOCK, LOCK_SECONDS) as ours:
        if not ours:
            raise StoreError(
                f"another process is re-indexing {kb.home}",
                hint="'wellread jobs' shows how far it is",
            )
        before = (kb.catalogue.reindexing.live() or kb.wanted_live()).fingerprint
        if before == kb.wanted:
            _tidy(kb, keep_attempt=False)
            return ReindexReport(before=before, now=before)
        if kb.catalogue.reindexing.attempt() != kb.wanted:
            _tidy(kb, keep_attempt=False)
            kb.catalogue.reindexing.begin(kb.wanted)
        with job_log(kb, "reindex", "", [before.embedder, kb.wanted.embedder]) as log:
            run = NextIndex(kb, log, on_progress, should_stop)
            switched = run.make()
        if switched:
            _drop_others(kb)
    return ReindexReport(
        before=before,
        now=kb.wanted if switched else before,
        switched=switched,
        cancelled=not switched,
        documents=run.documents,
        passages=run.passages,
        embedded=run.embedded,
        seconds=time.perf_counter() - started,
        job_id=log.job.id,
    )


def tidy(kb: KnowledgeBase) -> None:
    """Drop what killed or unfinished re-indexing should not keep: unused indexes, removed texts.

    Does nothing while another process is re-indexing, which does the same. Needs no embedder.

    Raises:
        StoreError: a store refused.
    """
    if kb.catalogue.reindexing.live() is None:
        return
    with locked(kb.home / REINDEX_LOCK) as ours:
        if ours:
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
            logger.info("dropped the index %s, which is not in use any more", name)
    except StoreError as error:
        # The live index is whole; some systems do not let go of files that are being read.
        logger.warning("an old index stays until the next run: %s", error)
