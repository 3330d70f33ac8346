"""Fills the index that the settings ask for, beside the live one, and keeps what is there.

Documents go on changing meanwhile, so it takes as many passes as it takes. The catalogue lists the
documents whose rows are written; a window is written in an order that keeps this true at any kill:
the passages are noted (``intend``), their rows written, the documents listed with their versions
(``stage``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wellread.errors import StoreError
from wellread.identity import passage_id
from wellread.ingest.parsing.passages import split
from wellread.ingest.pipeline.commit import drop_noted, index_rows, writing
from wellread.ingest.pipeline.job_log import JobLog, Progress
from wellread.kb import KnowledgeBase
from wellread.models.word_pieces import count_tokens
from wellread.store.base import Index
from wellread.store.catalogue.documents.reindexing import Edition, Reindexing
from wellread.types import Passage

logger = logging.getLogger(__name__)

WINDOW_PASSAGES = 512  # written to the next index together
EMBED_SLICE = 64  # passages between two looks at whether to stop
FOLD_PASSAGES = 20_000  # rows that are written one by one until they are folded in
CATCH_UP_PASSAGES = 128  # embedded at most while other writers wait
STALE_AT_ONCE = 500
LOOK_AT_ONCE = 64  # documents whose ids are asked for together
COMPARISONS = 3  # rounds until what does not match is taken for a defect


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexProgress:
    """How far it is; documents differ much in size, so their characters tell the time left.

    Attributes:
        passages: embedded by this run.
    """

    documents_total: int
    documents_done: int
    characters_total: int
    characters_done: int
    passages: int


OnReindexProgress = Callable[[ReindexProgress], None]
ShouldStop = Callable[[], bool]


class NextIndex:
    """The index in the making. One process at a time may hold it."""

    def __init__(
        self,
        kb: KnowledgeBase,
        log: JobLog,
        on_progress: OnReindexProgress | None,
        should_stop: ShouldStop | None,
    ) -> None:
        self.kb = kb
        self.log = log
        self.on_progress = on_progress
        self.should_stop = should_stop
        self.state: Reindexing = kb.catalogue.reindexing
        self.parts = kb.wanted_parts()
        self.embedded = self.unfolded = self.compared = 0
        self.documents = self.passages = 0
        self._total = self._done = self.state.done()

    def make(self) -> bool:
        """Fill the next index and switch to it; False when it was asked to stop before."""
        while True:
            if not self._fill():
                return False
            self.parts.index.optimize()
            with writing(self.kb):
                if self._ready():
                    live = self.kb.wanted_live()
                    self.state.switch(live)
                    logger.info("the index of %s is live", live.fingerprint.embedder)
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
        drop_noted(self.kb, self.kb.index)
        drop_stale(self.kb, self.parts.index)
        whole, done = self.state.whole(), self.state.done()
        if whole.passages - done.passages > CATCH_UP_PASSAGES:
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

    def _write(self, window: Sequence[tuple[Edition, list[Passage]]]) -> bool:
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
        self._done = replace(
            self._done,
            documents=self._done.documents + len(window),
            characters=self._done.characters
            + sum(len(edition.document.text) for edition, _ in window),
        )
        self._tell()
        return True

    def _embed(self, passages: Sequence[Passage]) -> NDArray[np.float32] | None:
        vectors = [np.zeros((0, self.parts.fingerprint.dimensions), dtype=np.float32)]
        for start in range(0, len(passages), EMBED_SLICE):
            if self._stopped():
                return None
            piece = passages[start : start + EMBED_SLICE]
            texts = [f"{passage.context}\n{passage.text}" for passage in piece]
            vectors.append(self.parts.embedder.embed(texts, "passage"))
            self.embedded += len(piece)
            self._tell()
        return np.concatenate(vectors)

    def _missing(self) -> Iterator[tuple[Edition, list[Passage]]]:
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
        """Another round, as long as that may help.

        Raises:
            StoreError: with ``reason``, when it did not.
        """
        self.compared += 1
        if self.compared >= COMPARISONS:
            raise StoreError(
                f"the new index cannot take the place of the old one: {reason}",
                hint="check the disk and run 'wellread verify'; the old index stays in use",
            )

    def _stopped(self) -> bool:
        if self.should_stop is not None and self.should_stop():
            self.log.cancelled = True
        return self.log.look(self._progress())

    def _count(self) -> None:
        """Take stock from the catalogue: documents come and go while this runs."""
        self._total, self._done = self.state.whole(), self.state.done()
        self.documents = self._done.documents
        self.log.write(self._progress())
        self._tell()

    def _progress(self) -> Progress:
        return Progress(
            sources_total=self._total.documents,
            sources_done=self._done.documents,
            passages_done=self.embedded,
            passages_written=self.embedded,
        )

    def _tell(self) -> None:
        if self.on_progress:
            self.on_progress(
                ReindexProgress(
                    documents_total=self._total.documents,
                    documents_done=self._done.documents,
                    characters_total=self._total.characters,
                    characters_done=self._done.characters,
                    passages=self.embedded,
                )
            )


def drop_stale(kb: KnowledgeBase, index: Index) -> None:
    """Take out of the index in the making what is not live (any more), or only half there."""
    state = kb.catalogue.reindexing
    while stale := state.stale(STALE_AT_ONCE):
        # In this order: a document whose old version comes back is not taken for written.
        state.doubt(stale)
        index.remove(
            [(known, version) for known, versions in stale.items() for version in versions]
        )
        state.forget(stale)


def _windows(
    documents: Iterable[tuple[Edition, list[Passage]]],
) -> Iterator[list[tuple[Edition, list[Passage]]]]:
    window: list[tuple[Edition, list[Passage]]] = []
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
    return [
        passage
        if passage.version == version
        else replace(passage, id=passage_id(known, version, passage.span), version=version)
        for passage in passages
    ]
