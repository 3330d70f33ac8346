"""Makes the index that the settings ask for beside the live one, and switches at the end.

Queries and runs of ``add`` go on with the live index meanwhile, and a killed or cancelled run is
taken up where it ended. The catalogue lists the documents whose rows are written; a window is
written in an order that keeps this true at any kill: the passages are noted (``intend``), their
rows written, the documents listed with their versions (``stage``).

When every document is there the writers' lock is taken, what changed meanwhile is caught up with,
the rows are compared with what the catalogue lists, and one transaction makes the next index the
live one. The old one is dropped then; a kill just before leaves it to the next run (``tidy``).
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
LOCK_SECONDS = 5.0  # ``tidy`` holds it for a moment at the start of other runs
WINDOW_PASSAGES = 512  # written to the next index together
EMBED_SLICE = 64  # passages between two looks at whether to stop
FOLD_PASSAGES = 20_000  # rows that are written one by one until they are folded in
CATCH_UP_PASSAGES = 128  # embedded at most while other writers wait
STALE_AT_ONCE = 500
LOOK_AT_ONCE = 64  # documents whose ids are asked for together
COMPARISONS = 3  # rounds until what does not match is taken for a defect


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexProgress:
    """How far it is; ``passages`` were embedded by this run. Characters tell the time left."""

    total: Extent
    done: Extent
    passages: int


OnReindexProgress = Callable[[ReindexProgress], None]
_Cut = tuple[Edition, list[Passage]]


class NextIndex:
    """The index in the making. One process at a time may hold it."""

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
        """Fill the next index and switch to it; False when it was asked to stop before."""
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
        """Bring everything that is live into the next index; False when it is to stop."""
        drop_stale(self.kb, self.parts.index)
        self._count()
        for window in _windows(self._missing()):
            if self._stopped() or not self._write(window):
                self._count()
                return False
            if self.unfolded >= FOLD_PASSAGES:
                self.parts.index.optimize()
                self.unfolded = 0
        self._count()
        return not self._stopped()

    def _ready(self) -> bool:
        """Catch up with the last changes and compare; False when that is too much for now.

        The writers' lock is held, so that nothing changes any more.
        """
        try:
            drop_noted(self.kb, self.kb.index)
        except (StoreError, SettingsError) as error:  # all is made from the catalogue
            logger.warning("the index in use cannot be reached and is left as it is: %s", error)
        drop_stale(self.kb, self.parts.index)
        if self.state.whole().passages - self.state.done().passages > CATCH_UP_PASSAGES:
            return False
        for window in _windows(self._missing()):
            if not self._write(window):
                return False
        if unread := self.state.missing("", 1):
            self._try_again(f"document {unread[0]} cannot be read from the catalogue")
            return False
        if self._mismatched():
            return False
        self._count()
        return True

    def _write(self, window: Sequence[_Cut]) -> bool:
        """Embed and write some documents; False when it is to stop, and nothing was written."""
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
        self._tell()
        return True

    def _embed(self, passages: Sequence[Passage]) -> NDArray[np.float32] | None:
        vectors = [np.zeros((0, self.parts.fingerprint.dimensions), dtype=np.float32)]
        for start in range(0, len(passages), EMBED_SLICE):
            if self._stopped():
                return None
            piece = passages[start : start + EMBED_SLICE]
            texts = [embedded_text(passage) for passage in piece]
            vectors.append(self.parts.embedder.embed(texts, "passage"))
            self.embedded += len(piece)
            self._tell()
        return np.concatenate(vectors)

    def _missing(self) -> Iterator[_Cut]:
        """Live documents that are not in the next index, cut as the settings ask for."""
        last = ""
        while ids := self.state.missing(last, LOOK_AT_ONCE):
            for edition in self.state.editions(ids):
                passages = split(edition.document, self.parts.tokens, count_tokens)
                yield edition, _of_version(edition, passages)
            last = ids[-1]

    def _mismatched(self) -> bool:
        """Compare the rows with what is listed; documents that do not match are made anew."""
        listed = {key.passage_id: key.document_id for key in self.state.passage_keys()}
        self.passages = len(listed)
        strays: set[tuple[str, str]] = set()
        for key in self.parts.index.keys():  # noqa: SIM118 - an index is no mapping
            if listed.pop(key.passage_id, None) is None:
                strays.add((key.document_id, key.version))
        wrong = {*listed.values(), *(document for document, _ in strays)}
        if not wrong:
            return False
        self._try_again(
            f"the new index lacks {len(listed)} rows that were written to it, and has rows of "
            f"{len(strays)} documents that were not"
        )
        logger.warning("%d documents of the new index do not match and are made anew", len(wrong))
        self.state.doubt(wrong)
        self.parts.index.remove(sorted(strays))
        return True

    def _try_again(self, reason: str) -> None:
        """Another round, as long as that may help."""
        self.compared += 1
        if self.compared >= COMPARISONS:
            raise StoreError(
                f"the new index cannot take the place of the old one: {reason}",
                hint="check the disk and run 'wellread verify'; the old index stays in use",
            )

    def _stopped(self) -> bool:
        return self.log.look(self._progress())

    def _count(self) -> None:
        """Take stock from the catalogue: documents come and go while this runs."""
        self.total, self.done = self.state.whole(), self.state.done()
        self.log.write(self._progress())
        self._tell()

    def _progress(self) -> Progress:
        return Progress(
            sources_total=self.total.documents,
            sources_done=self.done.documents,
            passages_done=self.embedded,
            passages_written=self.embedded,
        )

    def _tell(self) -> None:
        if self.on_progress:
            self.on_progress(
                ReindexProgress(total=self.total, done=self.done, passages=self.embedded)
            )


def drop_stale(kb: KnowledgeBase, index: Index) -> None:
    """Take out of the index in the making what is not live (any more), or only half there."""
    state = kb.catalogue.reindexing
    while stale := state.stale(STALE_AT_ONCE):
        # In this order: a document whose old version comes back is not taken for written.
        state.doubt(stale)
        index.remove([(known, one) for known, versions in stale.items() for one in versions])
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


def _of_version(edition: Edition, passages: list[Passage]) -> list[Passage]:
    """Passages that go by the live version, also where the stored text was damaged since."""
    known, version = edition.document_id, edition.version
    if all(passage.version == version for passage in passages):
        return passages
    return [
        replace(one, id=passage_id(known, version, one.span), version=version) for one in passages
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """How it ended.

    Attributes:
        before, now: what shaped the live index before the run, and shapes it now.
        documents, passages: in the new index when the run ended, and once it is live.
        embedded: passages that this run embedded; the others were there from an earlier one.
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
    """Make the index that the settings ask for the live one; nothing to do when it is.

    Raises:
        StoreError: another process is re-indexing, or a store refused; what was done stays.
        ModelError: the embedder failed; what was done stays.
    """
    started = time.perf_counter()
    with kb.locks.hold(REINDEX_LOCK, LOCK_SECONDS) as ours:
        if not ours:
            raise StoreError(
                f"another process is re-indexing {kb.home}",
                hint="'wellread jobs' shows how far it is",
            )
        before = (kb.catalogue.reindexing.live() or kb.wanted_live()).fingerprint
        if before == kb.wanted:
            end_dead_jobs(kb)  # one may have been killed between the switch and its own end
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
    """Drop what killed or unfinished re-indexing should not keep: unused indexes, removed texts.

    Does nothing while another process is re-indexing, which does the same. Needs no embedder.
    """
    if kb.catalogue.reindexing.live() is None:
        return
    with kb.locks.hold(REINDEX_LOCK) as ours:
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
    except (StoreError, SettingsError) as error:
        # The live index is whole; files may be in use still, a cluster or its address be gone.
        logger.warning("an old index stays until the next run: %s", error)
