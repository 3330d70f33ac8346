"""Ingest, top to bottom: found sources → documents → passages → index → catalogue. Read this first.

A run has three hands that work at the same time:

- parser processes read and cut sources (``workers.py``), under limits;
- this thread writes what they yield, window by window, so that it is found by its words at once
  (``writing.py`` has the order of writes that keeps a home whole at any kill);
- another thread embeds what was written (``vectors.py``).

Every run is a job in the catalogue, with a line per source. It can be cancelled from anywhere;
what was written stays, and running the same inputs again takes up the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from types import TracebackType
from typing import Self

from wellread.errors import SourceError
from wellread.ingest.base import LoaderLimits
from wellread.ingest.discover import FoundFile, find_files
from wellread.ingest.finish import finish_run
from wellread.ingest.gone import absolute, gone_sources
from wellread.ingest.log import Counts, JobLog, job_log
from wellread.ingest.parsing import Parsed, ParseRequest, is_current
from wellread.ingest.remove import remove_sources
from wellread.ingest.report import OnProgress, Progress, Report, SourceResult, Status
from wellread.ingest.vectors import VectorFiller
from wellread.ingest.window import ReadSource, Window, write
from wellread.ingest.workers import WorkerPool
from wellread.ingest.writing import recover
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.jobs import JobAction
from wellread.store.catalogue.values import SourceRecord, SourceStatus

WINDOW_PASSAGES = 512  # written to the index and committed together
WINDOW_SECONDS = 5.0  # a window that fills slowly is written after that
FOLD_PASSAGES = 20_000  # rows that searches scan one by one, until they are folded in
AHEAD = 3  # sources given out per parser before the first of them is back
LOOK_SECONDS = 0.2  # between two reports of progress while only vectors are missing


def add(
    kb: KnowledgeBase,
    inputs: Sequence[str],
    *,
    collection: str = "default",
    on_progress: OnProgress | None = None,
) -> Report:
    """Take in files, folders and globs. One bad source never stops the others.

    Raises:
        StoreError: a store refused (disk full); what was written before stays.
        ModelError: the embedder failed; texts that were written stay, and are found by words.
    """
    return _ingest(kb, "add", inputs, collection, on_progress)


def sync(
    kb: KnowledgeBase,
    inputs: Sequence[str],
    *,
    collection: str = "default",
    on_progress: OnProgress | None = None,
) -> Report:
    """``add``, and remove what an earlier run found under these inputs and is there no more.

    Nothing is removed under an input that cannot be read, or that is suddenly empty (a disk that
    is not mounted); the report says so.

    Raises:
        StoreError, ModelError: as ``add``.
    """
    return _ingest(kb, "sync", inputs, collection, on_progress)


def _ingest(
    kb: KnowledgeBase,
    action: JobAction,
    inputs: Sequence[str],
    collection: str,
    on_progress: OnProgress | None,
) -> Report:
    started = time.perf_counter()
    inputs = [absolute(given) for given in inputs]
    with job_log(kb, action, collection, inputs) as log:
        recover(kb)
        found = find_files(inputs, kb.settings.sources.exclude)
        with _Run(kb, collection, log, on_progress) as run:
            run.read(found)
            if action == "sync" and not log.cancelled:
                run.drop(gone_sources(inputs, found, run.known))
            run.finish()
    order = {item.uri: place for place, item in enumerate(found)}
    return Report(
        rows=tuple(sorted(run.results, key=lambda row: order.get(row.uri, len(order)))),
        passages=run.vectors,
        seconds=time.perf_counter() - started,
        job_id=log.job.id,
        cancelled=log.cancelled,
    )


class _Run:
    """One pass over found sources: hands them to the parsers, writes windows, keeps results."""

    def __init__(
        self, kb: KnowledgeBase, collection: str, log: JobLog, on_progress: OnProgress | None
    ) -> None:
        self.kb = kb
        self.collection = collection
        self.log = log
        self.on_progress = on_progress
        self.known = kb.catalogue.sources(collection)
        self.tokens = kb.live().tokens
        self.window = Window(self.tokens)
        self.results: list[SourceResult] = []
        self.total = self.written = self.vectors = self.unfolded = 0
        sources = kb.settings.sources
        self.limits = LoaderLimits(max_pages=sources.max_pages)
        self.pool = WorkerPool(seconds=sources.max_seconds, memory=sources.max_memory)
        self.waiting: dict[Future[Parsed], FoundFile] = {}
        self.filler = VectorFiller(kb, self._embedded)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of parsers and the embedding thread, also when the run was broken off."""
        self.pool.close()
        self.filler.stop()

    def read(self, found: Sequence[FoundFile | SourceError]) -> None:
        """Read every source that changed since it was last read."""
        self.total = len(found)
        for item in found:
            if self._stopped():
                return
            self._take(item)
        while self.waiting and not self._stopped():
            self._collect()

    def drop(self, gone: Sequence[SourceResult]) -> None:
        """Remove sources that are there no more; of what must stay, say why."""
        uris = [result.uri for result in gone if result.status == "removed"]
        self._flush()
        remove_sources(self.kb, self.collection, uris)
        self.total += len(gone)
        for result in gone:
            self._note(result)

    def finish(self) -> None:
        """Write what is left, wait for the vectors, and bring the collection up to date."""
        self._flush()
        self.filler.no_more()
        while not self.filler.wait(LOOK_SECONDS):
            self._tell("")
            if self._stopped():
                self.filler.stop()
        if not self.log.cancelled:
            finish_run(self.kb, self.collection)
        if self.total:  # a killed run may have left rows unfolded; with none it costs nothing
            self.kb.live().index.optimize()
        self._tell("")
        self.log.write(self._counts())

    def _take(self, item: FoundFile | SourceError) -> None:
        """Hand one source to the parsers, or note at once what became of it."""
        self._tell(item.uri)
        if isinstance(item, SourceError):
            self._note(SourceResult(uri=item.uri, status="failed", reason=item.reason))
            return
        known = self.known.get(item.uri)
        same = known and (known.size, known.mtime_ns) == (item.size, item.mtime_ns)
        if known and same and known.digest and not known.reason and is_current(known.loader):
            self._note(SourceResult(uri=item.uri, status="unchanged"))
            return
        while len(self.waiting) >= self.pool.size * AHEAD:
            self._collect()
        self.waiting[self.pool.submit(self._request(item))] = item

    def _request(self, item: FoundFile) -> ParseRequest:
        known = self.known.get(item.uri)
        return ParseRequest(
            uri=item.uri,
            # Names that are not UTF-8 hold lone surrogates, which no store takes as a title.
            name=os.fsencode(item.path.name).decode("utf-8", errors="replace"),
            collection=self.collection,
            path=str(item.path),
            max_bytes=self.kb.settings.sources.max_bytes,
            known_digest=known.digest if known and not known.reason else "",
            known_loader=known.loader if known else "",
            limits=self.limits,
            tokens=self.tokens,
        )

    def _collect(self) -> None:
        """Take what the parsers have ready, and write when it is enough."""
        ready, _ = wait(self.waiting, timeout=WINDOW_SECONDS, return_when=FIRST_COMPLETED)
        for future in [each for each in self.waiting if each in ready]:  # in their order
            self._accept(self.waiting.pop(future), future.result())
        full = self.window.passages >= WINDOW_PASSAGES
        if full or self.window.age > WINDOW_SECONDS:
            self._flush()

    def _accept(self, item: FoundFile, parsed: Parsed) -> None:
        """Put what a parser made of a source into the window."""
        known = self.known.get(item.uri)
        held = known is not None and bool(known.digest) and known.status != "skipped"
        result = SourceResult(
            uri=item.uri,
            status="failed",
            reason=parsed.reason,
            documents=len(parsed.documents),
            passages=sum(len(each.cuts) for each in parsed.documents),
            seconds=parsed.seconds,
        )
        status: Status
        if parsed.status == "parsed":
            status = "updated" if held else "added"
            record = self._record(item, parsed, status)
            self.window.add(ReadSource(record=record, documents=parsed.documents))
        else:
            status = parsed.status
            # Of a source that cannot be read any more, what an earlier run read stays as it was.
            if status == "unchanged" or not held:
                self.window.seen.append(self._record(item, parsed, status))
        self._note(replace(result, status=status))

    def _record(self, item: FoundFile, parsed: Parsed, status: SourceStatus) -> SourceRecord:
        return SourceRecord(
            collection=self.collection,
            uri=item.uri,
            size=parsed.size or item.size,
            mtime_ns=parsed.mtime_ns or item.mtime_ns,
            digest=parsed.digest,
            loader=parsed.loader,
            status=status,
            reason=parsed.reason if status == "failed" else "",
        )

    def _flush(self) -> None:
        """Write the window; its passages are found by their words from here on."""
        window, self.window = self.window, Window(self.tokens)
        if window.empty:
            return
        fresh = write(self.kb, window)
        self.written += fresh
        self.unfolded += fresh
        if fresh:
            self.filler.wake()
        if self.unfolded >= FOLD_PASSAGES:
            self.kb.live().index.optimize()
            self.unfolded = 0
        self._tell("")

    def _embedded(self, passages: int) -> None:
        self.vectors += passages

    def _note(self, result: SourceResult) -> None:
        self.results.append(result)
        self.log.note(result)

    def _stopped(self) -> bool:
        return self.log.look(self._counts())

    def _counts(self) -> Counts:
        return Counts(
            total=self.total,
            done=len(self.results),
            passages=self.written,
            vectors=self.vectors,
        )

    def _tell(self, current: str) -> None:
        if self.on_progress:
            self.on_progress(
                Progress(
                    sources_total=self.total,
                    sources_done=len(self.results),
                    passages_done=self.vectors,
                    passages_written=self.written,
                    current=current,
                )
            )
