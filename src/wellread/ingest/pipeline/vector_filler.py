"""Gives passages their vectors, beside the run that writes their texts.

The catalogue says which documents are still owed vectors, so a killed run's work is taken up by
the next one. One process at a time embeds for a home: an embedder takes all cores as it is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import numpy as np

from wellread.errors import WellreadError
from wellread.ingest.pipeline.commit import writing
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.reindexing import VectorDebt
from wellread.types import Passage

logger = logging.getLogger(__name__)

VECTORS_LOCK = "vectors.lock"
BATCH_PASSAGES = 512  # written to the index together, at least
# A write of vectors reads the ids of the whole index, so many owed ones go in larger batches.
LARGEST_BATCH = 4_096
BATCH_SHARE = 16
EMBED_SLICE = 128  # passages between two reports of progress, and two looks at whether to stop
WAIT_SECONDS = 0.5

OnVectors = Callable[[int], None]


class VectorFiller:
    """A thread that embeds what is owed until it is told that no more will come.

    Args:
        on_vectors: called with the number of passages embedded since the last call.
    """

    def __init__(self, kb: KnowledgeBase, on_vectors: OnVectors) -> None:
        self._kb = kb
        self._on_vectors = on_vectors
        self._more = threading.Event()  # something was written, or the end is near
        self._last = threading.Event()  # nothing will be written any more
        self._stop = threading.Event()  # leave the rest to another run
        self._error: WellreadError | None = None
        self._thread = threading.Thread(target=self._run, name="vectors", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something new is owed."""
        self._more.set()

    def no_more(self) -> None:
        """Nothing will be written any more: end when nothing is owed."""
        self._last.set()
        self._more.set()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most so many seconds.

        Raises:
            ModelError, StoreError: as they happened; what was not embedded stays owed.
        """
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End after the passages at hand; the rest stays owed."""
        self._stop.set()
        self._more.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                last = self._last.is_set()
                self._more.clear()
                owed = self._kb.catalogue.vectors.passages_owed() > 0
                if owed and not self._fill():
                    self._stop.wait(WAIT_SECONDS)  # another process is embedding
                elif not owed and last:
                    return
                elif not owed:
                    self._more.wait()
        except WellreadError as error:
            self._error = error

    def _fill(self) -> bool:
        """Embed all that is owed; False when another process is at it."""
        with self._kb.locks.hold(VECTORS_LOCK) as ours:
            while ours and not self._stop.is_set():
                owed = self._kb.catalogue.vectors.passages_owed()
                size = min(max(BATCH_PASSAGES, owed // BATCH_SHARE), LARGEST_BATCH)
                debts = self._kb.catalogue.vectors.owed(size)
                if not debts:
                    break
                self._pay(debts)
        return ours

    def _pay(self, debts: list[VectorDebt]) -> None:
        parts = self._kb.live()
        passages = self._kb.catalogue.passages_of(debt.document_id for debt in debts)
        vectors = []
        for start in range(0, len(passages), EMBED_SLICE):
            if self._stop.is_set():
                return
            piece = passages[start : start + EMBED_SLICE]
            texts = [embedded_text(passage) for passage in piece]
            vectors.append(parts.embedder.embed(texts, "passage"))
            self._on_vectors(len(piece))
        with writing(self._kb):
            if self._kb.live().fingerprint != parts.fingerprint:
                return  # the index was switched meanwhile, and the new one has its vectors
            if vectors:
                ids = [passage.id for passage in passages]
                parts.index.set_vectors(ids, np.concatenate(vectors))
            self._kb.catalogue.vectors.paid([(debt.document_id, debt.version) for debt in debts])


def embedded_text(passage: Passage) -> str:
    """What is embedded of a passage: title and heading path, then its own text."""
    return f"{passage.context}\n{passage.text}"
