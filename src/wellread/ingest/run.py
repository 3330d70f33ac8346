"""Ingest, top to bottom: found sources → documents → passages → index → catalogue. Read this first.

A run has three hands that work at the same time:

- parser processes read and cut sources (``workers.py``), under limits; web addresses are fetched
  before (``readers.py``);
- this thread writes what they yield, window by window, so that it is found by its words at once
  (``commit.py`` has the order of writes that keeps a home whole at any kill);
- another thread embeds what was written (the same file).

Every run is a job in the catalogue, with a line per source. It can be cancelled from anywhere;
what was written stays, and running the same inputs again takes up the rest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

from wellread.ingest.integrity.backups import back_up_if_due
from wellread.ingest.integrity.purge import purge_if_quick
from wellread.ingest.joining.story_refresh import finish_run
from wellread.ingest.pipeline.change_detection import (
    ChangeDetector,
    absolute,
    gone_sources,
    source_rules,
    with_entries,
)
from wellread.ingest.pipeline.commit import VectorFiller, Window, recover, settled, write, writing
from wellread.ingest.pipeline.job_log import JobLog, OnProgress, Progress, Report, job_log
from wellread.ingest.pipeline.readers import Readers, open_pool
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.reindex import tidy
from wellread.ingest.remove import remove_sources
from wellread.ingest.settings.folder_settings import settings_in_force
from wellread.ingest.sources.discover import Input, find_files
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.run_logs import JobItem

WINDOW_PASSAGES = 512  # written to the index and committed together
WINDOW_SECONDS = 5.0  # a window that fills slowly is written after that
FOLD_PASSAGES = 20_000  # rows that searches scan one by one, until they are folded in
LOOK_SECONDS = 0.2  # between two reports of progress while only vectors are missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a run is asked to do; ``settings``: a settings file for the collection."""

    action: Literal["add", "sync"]
    inputs: tuple[Input, ...]
    collection: str
    settings: Path | None = None
    changed_only: bool = False


class Syncing(TypedDict, total=False):
    """What ``sync`` may be told beside its inputs."""

    collection: str
    on_progress: OnProgress | None
    changed_only: bool


class Adding(TypedDict, total=False):
    """What ``add`` may be told beside its inputs."""

    collection: str
    on_progress: OnProgress | None
    settings: Path | None


def add(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    collection: str = "default",
    settings: Path | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Take in files, folders, globs and web addresses. One bad source never stops the others.

    Args:
        settings: how fields and links of the sources map to ours (docs/collections.md). It is
            kept for later runs and holds for the whole collection; ``wellread-collection.yaml``
            in an added folder holds for that folder.

    Raises:
        SettingsError: a settings file says something that cannot be understood.
        StoreError: a store refused (disk full); what was written before stays.
        ModelError: the embedder failed; texts that were written stay, and are found by words.
    """
    order = Order(action="add", inputs=_lasting(inputs), collection=collection, settings=settings)
    return _one_run(kb, order, on_progress)


def sync(
    kb: KnowledgeBase,
    inputs: Sequence[Input],
    *,
    collection: str = "default",
    on_progress: OnProgress | None = None,
    changed_only: bool = False,
) -> Report:
    """``add``, and remove what an earlier run found under these inputs and is there no more.

    Nothing is removed under an input that cannot be read, or that is suddenly empty (a disk that
    is not mounted); the report says so.

    Args:
        changed_only: report and log no source that is unchanged.

    Raises:
        StoreError, ModelError, SettingsError: as ``add``.
    """
    order = Order(
        action="sync", inputs=_lasting(inputs), collection=collection, changed_only=changed_only
    )
    return _one_run(kb, order, on_progress)


def _lasting(inputs: Sequence[Input]) -> tuple[Input, ...]:
    return tuple(absolute(given) if isinstance(given, str) else given for given in inputs)


def _one_run(kb: KnowledgeBase, order: Order, on_progress: OnProgress | None) -> Report:
    started = time.perf_counter()
    names = [given if isinstance(given, str) else given.uri for given in order.inputs]
    with job_log(kb, order.action, order.collection, names) as log:
        tidy(kb)
        recover(kb)
        with open_pool(kb.settings.sources) as pool:
            run = _Run(kb, order, log, on_progress, pool)
            try:
                run.read()
                run.drop_gone()
                run.finish()
            finally:
                run.close()
    with writing(kb):
        back_up_if_due(kb)
    return Report(
        rows=tuple(sorted(run.results, key=lambda row: run.order.get(row.uri, len(run.order)))),
        passages=run.vectors,
        seconds=time.perf_counter() - started,
        job_id=log.job.id,
        cancelled=log.cancelled,
        notes=run.settings.notes,
    )


class _Run:
    """One pass over found sources: has them read, writes windows, keeps results."""

    def __init__(
        self,
        kb: KnowledgeBase,
        order: Order,
        log: JobLog,
        on_progress: OnProgress | None,
        pool: WorkerPool,
    ) -> None:
        self.kb = kb
        self.asked = order
        self.log = log
        self.on_progress = on_progress
        self.known = kb.catalogue.sources(order.collection)
        self.tokens = kb.live().tokens
        self.window = Window(self.tokens)
        self.results: list[JobItem] = []
        self.written = self.vectors = self.unfolded = self.unnoted = 0
        paths = [given for given in order.inputs if isinstance(given, str)]
        sources = kb.settings.sources
        self.found = find_files(order.inputs, sources.exclude, follow_links=sources.follow_links)
        self.order = {item.uri: place for place, item in enumerate(self.found)}
        self.settings = settings_in_force(kb, order.collection, paths, order.settings)
        rules = source_rules(self.settings, self.found, self.known)
        self.changes = ChangeDetector(order.collection, self.known, rules)
        self.readers = Readers(kb, order.collection, self.known, rules, pool)
        self.filler = VectorFiller(kb, self._embedded)

    def close(self) -> None:
        """Let go of parsers and the embedding thread, also when the run was broken off."""
        self.readers.close()
        self.filler.stop()

    def read(self) -> None:
        """Read every source that changed since it was last read."""
        for item in self.found:
            if self._stopped():
                return
            self._tell(item.uri)
            known = self.changes.at_once(item)
            if known is not None:
                self._note(known)
                continue
            while self.readers.busy:
                self._collect()
            self.readers.give(item)
        while self.readers.waiting and not self._stopped():
            self._collect()

    def drop_gone(self) -> None:
        """Remove sources that are there no more; of what must stay, say why."""
        if self.asked.action != "sync" or self.log.cancelled:
            return
        self._flush()
        found = [*self.found, *self.readers.came_up]
        gone = gone_sources(self.asked.inputs, found, self.known, self.readers.lists)
        gone += [JobItem(uri=uri, status="removed") for uri in self.changes.gone]
        uris = [result.uri for result in gone if result.status == "removed"]
        remove_sources(self.kb, self.asked.collection, with_entries(uris, self.known))
        for result in gone:
            self._note(result)

    def finish(self) -> None:
        """Write what is left, wait for the vectors, and bring the collection up to date."""
        self._flush()
        self.filler.no_more()
        while not self.filler.wait(LOOK_SECONDS):
            self._tell()
            if self._stopped():
                self.filler.stop()
        if not self.log.cancelled:
            self._tell("names and stories")
            finish_run(self.kb, self.asked.collection)
        if self.results:  # a killed run may have left rows unfolded; with none it costs nothing
            self.kb.live().index.optimize()
            purge_if_quick(self.kb)
        self._tell()
        self.log.write(self._progress())

    def _collect(self) -> None:
        for item, outcome in self.readers.ready(WINDOW_SECONDS):
            result, sources, seen = self.changes.of(item, outcome)
            for source in sources:
                self.window.add(source)
            self.window.seen += seen
            if sources:
                self.window.results.append(result)
            else:
                self._note(result)
            if self.window.passages >= WINDOW_PASSAGES:  # however many were ready at once
                self._flush()
        if time.monotonic() - self.window.opened > WINDOW_SECONDS:
            self._flush()

    def _flush(self) -> None:
        """Write the window; its passages are found by their words from here on."""
        window, self.window = self.window, Window(self.tokens)
        if not window:
            return
        written = write(self.kb, window)
        for result in settled(window, written):
            self._note(result)
        self.written += written.passages
        self.unfolded += written.passages
        if written.passages:
            self.filler.wake()
        if self.unfolded >= FOLD_PASSAGES:
            self.kb.live().index.optimize()
            self.unfolded = 0
        self._tell()

    def _embedded(self, passages: int) -> None:
        self.vectors += passages

    def _note(self, result: JobItem) -> None:
        if result.status == "unchanged" and self.asked.changed_only:
            self.unnoted += 1
            return
        self.results.append(result)
        self.log.note(result)

    def _stopped(self) -> bool:
        return self.log.look(self._progress())

    def _progress(self, current: str = "") -> Progress:
        done = self.unnoted + len(self.results) + len(self.window.results)
        total = max(len(self.found) + len(self.readers.came_up), done)
        return Progress(
            sources_total=total,
            sources_done=done,
            passages_done=self.vectors,
            passages_written=self.written,
            current=current,
        )

    def _tell(self, current: str = "") -> None:
        if self.on_progress:
            self.on_progress(self._progress(current))
