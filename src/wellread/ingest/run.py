"""Adds and syncs sources: found sources → documents → passages → index → catalogue.

Start reading here. Three kinds of work go on at the same time:

- parser processes read sources and cut them into passages, within limits (``workers.py``); web
  addresses are fetched first (``readers.py``);
- this thread writes the results window by window, so that full-text search finds them at once
  (``commit.py`` explains the order of writes that makes a kill at any moment safe);
- another thread embeds the written passages (also ``commit.py``).

Every run is a job in the catalogue, with a line per source. It can be cancelled from anywhere:
written passages stay, and another run with the same inputs does the rest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from wellread.ingest.integrity.backups import back_up_if_due
from wellread.ingest.integrity.purge import purge_if_quick
from wellread.ingest.joining.story_refresh import finish_run
from wellread.ingest.pipeline.change_detection import (
    ChangeDetector,
    absolute_input,
    gone_sources,
    source_rules,
    with_feed_entries,
)
from wellread.ingest.pipeline.commit import (
    VectorFiller,
    Window,
    recover,
    tidy,
    write_window,
    writing,
)
from wellread.ingest.pipeline.job_log import JobLog, OnProgress, Progress, Report, job_log
from wellread.ingest.pipeline.readers import Readers
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.remove import remove_sources
from wellread.ingest.settings.folder_settings import effective_settings
from wellread.ingest.sources.discover import Input, find_files
from wellread.ingest.sources.stores import OpenStore
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.run_logs import JobItem

WINDOW_PASSAGES = 512  # passages written to the index and committed together
WINDOW_SECONDS = 5.0  # seconds after which a window is written even if it is not full
OPTIMIZE_PASSAGES = 20_000  # rows that searches may scan one by one before the index is optimised
PROGRESS_SECONDS = 0.2  # seconds between progress reports while only vectors are missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a run.

    Attributes:
        settings: a file that maps the sources' fields and links to document fields
            (docs/collections.md). It is stored and applies to the whole collection; a
            ``wellread-collection.yaml`` in an added folder applies to that folder only.
        published_at: the date of all that the inputs hold, in place of their own.
        changed_only: leave unchanged sources out of the report and the log.
        job_id: the id of the job, if it was promised before; otherwise it gets a new one.
    """

    collection: str = "default"
    settings: Path | None = None
    published_at: str = ""
    on_progress: OnProgress | None = None
    changed_only: bool = False
    job_id: str = ""


class GivenOptions(TypedDict, total=False):
    """Fields of ``Options`` as keyword arguments of ``add`` and ``sync``."""

    collection: str
    settings: Path | None
    published_at: str
    on_progress: OnProgress | None
    changed_only: bool
    job_id: str


def add(kb: KnowledgeBase, inputs: Sequence[Input], **options: Unpack[GivenOptions]) -> Report:
    """Add files, folders, globs and web addresses. One bad source never stops the others.

    Raises:
        SettingsError: a settings file is invalid.
        StoreError: a store cannot be written (disk full); earlier windows stay written.
        ModelError: the embedder failed; written passages stay and full-text search finds them.
    """
    return _run_job(kb, "add", inputs, Options(**options))


def sync(kb: KnowledgeBase, inputs: Sequence[Input], **options: Unpack[GivenOptions]) -> Report:
    """Run ``add``, then remove sources that an earlier run found and that no longer exist.

    Nothing is removed under an input that cannot be read or is suddenly empty (a disk that
    is not mounted); the report says so.

    Raises:
        StoreError, ModelError, SettingsError: as ``add``.
    """
    return _run_job(kb, "sync", inputs, Options(**options))


def _run_job(
    kb: KnowledgeBase, action: Literal["add", "sync"], given: Sequence[Input], options: Options
) -> Report:
    started = time.perf_counter()
    inputs = [absolute_input(item) if isinstance(item, str) else item for item in given]
    names = [item if isinstance(item, str) else item.uri for item in inputs]
    with job_log(kb, action, options.collection, names, options.job_id) as log:
        tidy(kb)
        recover(kb)
        sources = kb.settings.sources
        with WorkerPool(seconds=sources.max_seconds, memory=sources.max_memory) as pool:
            run = _Run(kb, inputs, options, log, pool)
            try:
                run.read()
                if action == "sync":
                    run.drop_gone()
                run.finish()
            finally:
                run.close()
    with writing(kb):
        back_up_if_due(kb)
    return Report(
        rows=tuple(
            sorted(run.results, key=lambda row: run.positions.get(row.uri, len(run.positions)))
        ),
        passages=run.vectors,
        seconds=time.perf_counter() - started,
        job_id=log.job.id,
        cancelled=log.cancelled,
        notes=run.notes,
    )


class _Run:
    """One pass over the found sources: reads them, writes windows and collects results."""

    def __init__(
        self,
        kb: KnowledgeBase,
        inputs: Sequence[Input],
        options: Options,
        log: JobLog,
        pool: WorkerPool,
    ) -> None:
        self.kb = kb
        self.inputs = inputs
        self.options = options
        self.log = log
        self.records = kb.catalogue.sources(options.collection)
        self.tokens = kb.live().tokens
        self.window = Window(self.tokens)
        self.results: list[JobItem] = []
        self.written = self.vectors = self.unoptimized = self.skipped_unchanged = 0
        paths = [path for path in inputs if isinstance(path, str)]
        self.settings = effective_settings(
            kb, options.collection, paths, options.settings, options.published_at
        )
        sources = kb.settings.sources
        self.stores = ExitStack()
        links, store = sources.follow_links, self._open_store
        self.sources = find_files(inputs, sources.exclude, follow_links=links, open_store=store)
        self.positions = {item.uri: position for position, item in enumerate(self.sources)}
        self.notes = self.settings.notes
        rules = source_rules(self.settings, self.sources, self.records)
        self.changes = ChangeDetector(options.collection, self.records, rules, ocr=sources.ocr)
        self.readers = Readers(kb, options.collection, self.records, rules, pool)
        self.filler = VectorFiller(kb, self._count_vectors)

    def close(self) -> None:
        """Release parsers and stores and end the embedding thread, also after a failure."""
        self.readers.close()
        self.stores.close()
        self.filler.stop()

    def _open_store(self, address: str) -> OpenStore:
        opened = OpenStore(address, self.kb.home, self.kb.settings.sources.max_bytes)
        return self.stores.enter_context(closing(opened))

    def read(self) -> None:
        """Read every source that changed since it was last read."""
        changed = (item for item in self.sources if not self.changes.without_reading(item))
        if told := self.readers.told(changed):
            self.notes += (told,)
            self._report_progress(told)
        for item in self.sources:
            if self._stopped():
                return
            self._report_progress(item.uri)
            result = self.changes.without_reading(item)
            if result is not None:
                self._add_result(result)
                continue
            while self.readers.busy:
                self._collect()
            self.readers.submit(item)
        while self.readers.waiting and not self._stopped():
            self._collect()

    def drop_gone(self) -> None:
        """Remove sources that no longer exist; report inputs under which nothing may be removed."""
        if self.log.cancelled:
            return
        self._flush()
        sources = [*self.sources, *self.readers.listed_feeds]
        gone = gone_sources(self.inputs, sources, self.records, self.readers.feed_lists)
        gone += [JobItem(uri=uri, status="removed") for uri in self.changes.gone]
        uris = [result.uri for result in gone if result.status == "removed"]
        remove_sources(self.kb, self.options.collection, with_feed_entries(uris, self.records))
        for result in gone:
            self._add_result(result)

    def finish(self) -> None:
        """Write the last window, wait for the vectors, and update mentions and stories."""
        self._flush()
        self.filler.no_more()
        while not self.filler.wait(PROGRESS_SECONDS):
            self._report_progress()
            if self._stopped():
                self.filler.stop()
        if not self.log.cancelled:
            self._report_progress("names and stories")
            finish_run(self.kb, self.options.collection)
        if self.results:  # also for rows that a killed run left; costs nothing if there are none
            self.kb.live().index.optimize()
            purge_if_quick(self.kb)
        self._report_progress()
        self.log.write(self._progress())

    def _collect(self) -> None:
        for item, outcome in self.readers.ready(WINDOW_SECONDS):
            result, sources, seen = self.changes.decide(item, outcome)
            for source in sources:
                self.window.add(source)
            self.window.seen += seen
            if sources:
                self.window.results.append(result)
            else:
                self._add_result(result)
            if self.window.passages >= WINDOW_PASSAGES:
                self._flush()
        if time.monotonic() - self.window.opened > WINDOW_SECONDS:
            self._flush()

    def _flush(self) -> None:
        """Write the window; from then on full-text search finds its passages."""
        window, self.window = self.window, Window(self.tokens)
        if not window:
            return
        write_result = write_window(self.kb, window)
        refused = write_result.refused
        for result in window.results:
            if result.uri not in refused:
                self._add_result(result)
        for uri, reason in refused.items():
            self._add_result(JobItem(uri=uri, status="failed", reason=reason))
        self.written += write_result.passages
        self.unoptimized += write_result.passages
        if write_result.passages:
            self.filler.wake()
        if self.unoptimized >= OPTIMIZE_PASSAGES:
            self.kb.live().index.optimize()
            self.unoptimized = 0
        self._report_progress()

    def _count_vectors(self, passages: int) -> None:
        self.vectors += passages

    def _add_result(self, result: JobItem) -> None:
        if result.status == "unchanged" and self.options.changed_only:
            self.skipped_unchanged += 1
            return
        self.results.append(result)
        self.log.note(result)

    def _stopped(self) -> bool:
        return self.log.record_if_due(self._progress())

    def _progress(self, current: str = "") -> Progress:
        done = self.skipped_unchanged + len(self.results) + len(self.window.results)
        total = max(len(self.sources) + len(self.readers.listed_feeds), done)
        return Progress(
            sources_total=total,
            sources_done=done,
            passages_done=self.vectors,
            passages_written=self.written,
            current=current,
        )

    def _report_progress(self, current: str = "") -> None:
        if self.options.on_progress:
            self.options.on_progress(self._progress(current))
