"""The one way into the stores: intend, index, commit, settle, under the writers' lock.

The order of writes is what keeps a home whole at any kill:

1. the catalogue notes which versions are about to go into the index (``intend``);
2. the index takes their rows, which are found by their words from then on;
3. the catalogue flips to the new versions, in one transaction that also clears the notes, notes
   the old versions for removal and the new ones as still to be embedded (``commit``);
4. the index drops the old versions, and the catalogue clears those notes (``settle``).

Until 3 the old version is live and its rows are all there; a search never shows a row whose
version is not live. All four happen under one lock, held for a moment per window of sources. So
whoever holds it and finds notes knows that their writer was killed, and may drop what they name.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from wellread.errors import DamageError, ModelError, StoreError, WellreadError
from wellread.identity import facts_of, version_of
from wellread.ingest.pipeline.parse import ParsedDocument, cut_up
from wellread.kb import INGEST_LOCK, KnowledgeBase
from wellread.kb.home_catalogue import refuse_writing
from wellread.store.base import Index, IndexRow
from wellread.store.catalogue.documents.reindexing import VectorDebt
from wellread.store.catalogue.run_logs import JobItem
from wellread.store.schema.postgresql import of_content
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.types import Document, Passage

logger = logging.getLogger(__name__)

LOCK_SECONDS = 600.0
WRITE_DOCUMENTS = 64  # whose rows are written together, when they are made of the catalogue


@contextmanager
def writing(kb: KnowledgeBase) -> Iterator[None]:
    """Hold the home's writers' lock.

    Raises:
        StoreError: another process has held it for ten minutes, or the home is read-only.
    """
    refuse_writing(kb.home, read_only=kb.read_only)
    with kb.locks.hold(INGEST_LOCK, LOCK_SECONDS) as ours:
        if not ours:
            raise StoreError(
                f"another process has been writing to {kb.home} for {LOCK_SECONDS:.0f} seconds",
                hint="wait until it has ended, or stop it",
            )
        yield


def index_rows(document: Document, passages: Sequence[Passage]) -> list[IndexRow]:
    """What the index keeps of ``passages`` of ``document``."""
    taxonomy = tuple(
        f"{name}={value}" for name, values in document.taxonomy.items() for value in values
    )
    return [
        IndexRow(
            passage_id=passage.id,
            document_id=passage.document_id,
            version=passage.version,
            span=passage.span,
            collection=document.collection,
            kind=document.kind,
            text=passage.text,
            context=passage.context,
            source_type=document.source_type,
            language=document.language,
            authors=document.authors,
            speakers=passage.speakers,
            taxonomy=taxonomy,
            published_at=document.published_at,
        )
        for passage in passages
    ]


def recover(kb: KnowledgeBase) -> int:
    """Drop the index rows that a killed run left behind; how many versions were noted."""
    with writing(kb):
        left = drop_noted(kb, kb.live().index)
    if left:
        logger.info("dropped %d versions that an interrupted run had left", left)
    return left


def bring_in_step(kb: KnowledgeBase) -> None:
    """Let the index follow what an upgrade of the catalogue moved; told where it cannot yet."""
    if kb.read_only or not kb.catalogue.pending():
        return
    try:
        recover(kb)
    except (StoreError, ModelError) as error:
        logger.warning("%s; what moved is found after the next add or sync", error)


def drop_noted(kb: KnowledgeBase, index: Index) -> int:
    """Remove the index rows of every noted version that is not live, and clear the notes.

    What is noted as to be written and is live has its rows written: documents that an upgrade
    gave another id, and what a run was killed over while it wrote a live version anew.
    """
    pending = kb.catalogue.pending()
    if not pending:
        return 0
    keys = [(write.document_id, write.version) for write in pending]
    live = kb.catalogue.live_versions([document for document, _ in keys])
    index.remove([key for key in keys if live.get(key[0]) != key[1]])
    unwritten = [one for one in pending if one.action == "write"]
    put_rows(
        kb,
        index,
        [one.document_id for one in unwritten if live.get(one.document_id) == one.version],
    )
    kb.catalogue.settle(keys)
    return len(keys)


def put_rows(kb: KnowledgeBase, index: Index, document_ids: Sequence[str]) -> None:
    """Write the rows of live documents as the catalogue has them; their vectors are owed then."""
    for first in range(0, len(document_ids), WRITE_DOCUMENTS):
        ids = document_ids[first : first + WRITE_DOCUMENTS]
        live = kb.catalogue.live_versions(ids)
        kb.catalogue.integrity.owe(live.items())
        rows = []
        for known in live:
            document = kb.catalogue.document(known)
            if document is not None:
                rows += index_rows(document, kb.catalogue.passages_of([known]))
        if rows:
            index.write(rows, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """A source that was read: its record and everything that it yields."""

    record: SourceRecord
    documents: Sequence[ParsedDocument]
    accumulates: bool = False


@dataclass(slots=True)
class Window:
    """Read sources that are written together; ``tokens`` is the size their passages were cut to."""

    tokens: int
    sources: list[ReadSource] = field(default_factory=list)
    seen: list[SourceRecord] = field(default_factory=list)
    results: list[JobItem] = field(default_factory=list)
    passages: int = 0
    opened: float = field(default_factory=time.monotonic)

    def add(self, source: ReadSource) -> None:
        """One more; of two documents with the same address in one source the last counts."""
        by_id = {each.id: each for each in source.documents}
        self.sources.append(replace(source, documents=tuple(by_id.values())))
        self.passages += sum(len(each.cuts) for each in by_id.values())

    def __bool__(self) -> bool:
        """Whether there is something to write."""
        return bool(self.sources or self.seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many passages went into the index; and the sources that no store takes, with why."""

    passages: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)


def write(kb: KnowledgeBase, window: Window) -> Written:
    """Write a window into the stores; source by source where one holds what no store takes.

    Raises:
        StoreError: a store refused whatever the content is (disk full); the old content stays.
    """
    if window.seen:
        kb.catalogue.record_sources(window.seen)
    try:
        return Written(passages=_write(kb, window, window.sources))
    except (StoreError, ValueError, TypeError, ArithmeticError) as error:
        if not _is_of_content(error):
            raise
    passages, refused = 0, {}
    for source in window.sources:
        try:
            passages += _write(kb, window, [source])
        except (StoreError, ValueError, TypeError, ArithmeticError) as error:
            if not _is_of_content(error):
                raise
            logger.warning("%s: refused by a store", source.record.uri, exc_info=True)
            refused[source.record.uri] = f"cannot be stored: {error.__cause__ or error}"
    recover(kb)  # no row stays of what was refused
    return Written(passages=passages, refused=refused)


def settled(window: Window, written: Written) -> list[JobItem]:
    """How the window's sources fared, now that they were written."""
    refused = [
        JobItem(uri=uri, status="failed", reason=reason) for uri, reason in written.refused.items()
    ]
    return [result for result in window.results if result.uri not in written.refused] + refused


def _is_of_content(error: Exception) -> bool:
    """Whether it is what was to be written that a store cannot take, and not the store's state."""
    if isinstance(error, DamageError):
        return False
    cause = error.__cause__ if isinstance(error, StoreError) else error
    return isinstance(cause, ValueError | TypeError | ArithmeticError) or of_content(cause)


def _write(kb: KnowledgeBase, window: Window, sources: Sequence[ReadSource]) -> int:
    if not sources:
        return 0
    with writing(kb):
        parts = kb.live()
        if window.tokens != parts.tokens:  # the index was switched to another size of passages
            sources = [
                replace(
                    one, documents=[cut_up(each.document, parts.tokens) for each in one.documents]
                )
                for one in sources
            ]
        live = kb.catalogue.live_hashes(each.id for source in sources for each in source.documents)
        changes = [
            SourceChange(
                record=source.record,
                documents=tuple(
                    DocumentChange(
                        document=each.document,
                        passages=each.passages(),
                        owes_vectors=parts.outdated_cuts or live.get(each.id) != _hashes(each),
                    )
                    for each in source.documents
                ),
                accumulates=source.accumulates,
            )
            for source in sources
        ]
        rows = [
            row
            for change in changes
            for each in change.documents
            if each.owes_vectors
            for row in index_rows(each.document, each.passages)
        ]
        drop_noted(kb, parts.index)
        noted = list(dict.fromkeys((row.document_id, row.version) for row in rows))
        kb.catalogue.intend(noted)
        if rows:
            parts.index.write(rows, None)
        kb.catalogue.commit(changes, noted)
        drop_noted(kb, parts.index)
    return len(rows)


def _hashes(parsed: ParsedDocument) -> tuple[str, str]:
    document = parsed.document
    version = parsed.version or version_of(document.text, document.marks)
    return version, facts_of(document)


VECTORS_LOCK = "vectors.lock"
BATCH_PASSAGES = 512  # written to the index together, at least
# A write of vectors reads the ids of the whole index, so many owed ones go in larger batches.
LARGEST_BATCH = 4_096
BATCH_SHARE = 16
EMBED_SLICE = 128  # passages between two reports of progress, and two looks at whether to stop
WAIT_SECONDS = 0.5

OnVectors = Callable[[int], None]


class VectorFiller:
    """A thread that embeds what is owed until it is told that no more will come."""

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
        """Whether it has ended, after at most so many seconds."""
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
