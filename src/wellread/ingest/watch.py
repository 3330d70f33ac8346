"""Watches folders, feeds and pages, and syncs the collection whenever they change.

Files are watched through the operating system's change notifications. These can get lost (a full
queue, a network drive), so folders are also scanned at the start, after errors, and from time to
time. Feeds and pages are fetched every ``web.poll_minutes``.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import watchfiles

from wellread.errors import FingerprintError, ModelError, SourceError, StoreError
from wellread.ingest.pipeline.change_detection import gone_sources, root_of
from wellread.ingest.pipeline.job_log import Report
from wellread.ingest.run import sync
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import (
    LIST_EXTENSION,
    FoundFile,
    FoundPage,
    find_files,
    local_path,
    pattern_of,
    uri_of,
)
from wellread.kb import KnowledgeBase

logger = logging.getLogger(__name__)

CHECK_SECONDS = 0.25  # time between two checks whether to stop
FIRST_RETRY_SECONDS = 5.0
MAX_RETRY_SECONDS = 300.0
GROUP_MS = 1_600  # changes are reported after this time at the latest …
QUIET_MS = 100  # … or when no further change came for this time
FOLDER_CHECK_MS = 500  # time between two checks whether the paths are still the same folders
MAX_PAUSE_SECONDS = 60.0  # after a folder could not be watched
REFUSALS_BEFORE_POLLING = 2
POLLING_MS = 2_000  # time between two scans of a folder without notifications

OnReport = Callable[[Report], None]
Run = Callable[..., Report]
"""The function that syncs the collection, with the parameters of ``ingest.run.sync``."""


def watch(
    kb: KnowledgeBase,
    inputs: Sequence[str],
    *,
    collection: str,
    on_report: OnReport,
    stop: threading.Event,
    run: Run = sync,
) -> None:
    """Watch ``inputs`` until ``stop`` is set; a run in progress is finished first.

    When a store or a model fails, the run is repeated after increasing pauses.

    Raises:
        FingerprintError: the index was built with other settings.
    """
    home = os.path.realpath(kb.home) + os.sep
    changed = threading.Event()
    watchers = [
        _FolderWatcher(paths, home, changed, stop, deep=deep)
        for deep in (True, False)
        if (paths := _watched_paths(inputs, deep=deep))
    ]
    for watcher in watchers:
        watcher.start()
    try:
        _SyncLoop(kb, inputs, collection, on_report, run).follow(changed, stop)
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()


@dataclass
class _SyncLoop:
    kb: KnowledgeBase
    inputs: Sequence[str]
    collection: str
    on_report: OnReport
    run: Run

    def __post_init__(self) -> None:
        self.local = [entry for entry in self.inputs if not is_web(entry)]
        self.web = [
            entry
            for entry in self.inputs
            if is_web(entry) or entry.lower().endswith(LIST_EXTENSION)
        ]
        self.rescan_at = self.poll_at = self.retry_at = 0.0  # start with a sync of everything
        self.failures = 0

    def follow(self, changed: threading.Event, stop: threading.Event) -> None:
        """Sync whenever something changed or a scan is due, until ``stop`` is set."""
        while not stop.is_set():
            now = time.monotonic()
            rescan, poll = now >= self.rescan_at, now >= self.poll_at
            if now >= self.retry_at and (changed.is_set() or rescan or poll):
                was_changed = changed.is_set()
                changed.clear()
                files = rescan or (was_changed and self._has_changed_files())
                if not self._sync(files=files, pages=poll) and was_changed:
                    changed.set()  # for the next try
            changed.wait(CHECK_SECONDS)
            if changed.is_set():
                stop.wait(CHECK_SECONDS)

    def _sync(self, *, files: bool, pages: bool) -> bool:
        """Sync files, pages or both; return False if it failed and has to be repeated."""
        inputs = self.inputs if files and pages else self.local if files else self.web
        try:
            report = None
            if inputs and (files or pages):
                report = self.run(self.kb, inputs, collection=self.collection, changed_only=True)
        except FingerprintError:
            raise
        except (StoreError, ModelError) as error:
            wait = min(FIRST_RETRY_SECONDS * (1 << min(self.failures, 10)), MAX_RETRY_SECONDS)
            logger.error("the run failed and will be repeated in %.0f seconds: %s", wait, error)
            self.failures += 1
            self.retry_at = time.monotonic() + wait
            return False
        settings, now = self.kb.settings, time.monotonic()
        if files:
            self.rescan_at = now + settings.sources.rescan_minutes * 60
        if pages:
            self.poll_at = now + settings.web.poll_minutes * 60
        self.retry_at, self.failures = 0.0, 0
        if report is not None:
            self.on_report(report)
        return True

    def _has_changed_files(self) -> bool:
        home = uri_of(self.kb.home) + "/"  # left out, since every run changes files in it
        records = self.kb.catalogue.sources(self.collection)
        records = {uri: record for uri, record in records.items() if not uri.startswith(home)}
        roots = {root_of(entry) for entry in self.local}
        sources = self.kb.settings.sources
        items = find_files(self.local, sources.exclude, follow_links=sources.follow_links)
        items = [item for item in items if not item.uri.startswith(home)]
        for item in items:
            record = records.get(item.uri)
            if isinstance(item, FoundPage) and record is None:
                return True
            if isinstance(item, SourceError) and item.uri in roots:
                return True  # the run will report that the input is missing
            recorded = (record.size, record.mtime_ns) if record else ()
            if isinstance(item, FoundFile) and recorded != (item.size, item.mtime_ns):
                return True
        return bool(gone_sources(self.local, items, records))


class _FolderWatcher(threading.Thread):
    """Sets ``changed`` when a file in the folders changes, or a folder vanishes or returns."""

    def __init__(
        self,
        paths: Sequence[str],
        home: str,
        changed: threading.Event,
        stop: threading.Event,
        *,
        deep: bool,
    ) -> None:
        super().__init__(daemon=True, name="follow")
        self._paths = paths
        self._deep = deep
        self._home = home
        self._changed = changed
        self._stop_event = stop
        self._refusals = 0

    def run(self) -> None:
        """Watch until ``stop`` is set."""
        while not self._stop_event.is_set():
            folders = self._existing_folders()
            try:
                self._follow(folders)
                self._refusals = 0
            except (OSError, RuntimeError) as error:  # watchfiles raises RuntimeError
                if folders == self._existing_folders():
                    logger.warning("%s cannot be watched: %s", ", ".join(folders), error)
                    self._stop_event.wait(min(2.0**self._refusals, MAX_PAUSE_SECONDS))
                    self._refusals += 1
            self._changed.set()

    def _follow(self, folders: dict[str, tuple[int, int]]) -> None:
        """Report changes until a path is missing or is a different folder than at the start."""
        if not folders:
            while not (self._stop_event.wait(FOLDER_CHECK_MS / 1000) or self._existing_folders()):
                pass
            return
        is_first = True  # the first round also covers changes before watching began
        for changes in watchfiles.watch(
            *folders,
            watch_filter=None,
            debounce=GROUP_MS,
            step=QUIET_MS,
            stop_event=self._stop_event,
            rust_timeout=FOLDER_CHECK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            # Without notifications (none left, or not supported) the folders are polled.
            force_polling=True if self._refusals >= REFUSALS_BEFORE_POLLING else None,
            poll_delay_ms=POLLING_MS,
            recursive=self._deep,
            ignore_permission_denied=True,
        ):
            names = (os.path.realpath(name) + os.sep for _, name in changes)
            if is_first or not all(name.startswith(self._home) for name in names):
                self._changed.set()
            is_first = False
            if self._existing_folders() != folders:
                return

    def _existing_folders(self) -> dict[str, tuple[int, int]]:
        """Return the existing folders with device and inode, which identify them."""
        folders = {}
        for path in self._paths:
            # One call: a folder can vanish between two.
            with contextlib.suppress(OSError):
                status = os.stat(path)
                if stat.S_ISDIR(status.st_mode):
                    folders[path] = (status.st_dev, status.st_ino)
        return folders


def _watched_paths(inputs: Sequence[str], *, deep: bool) -> list[str]:
    # For a file, its folder is watched, since editors replace files instead of writing into them.
    paths: dict[str, None] = {}
    for entry in inputs:
        if is_web(entry) or entry == "-":
            continue
        pattern = pattern_of(entry)
        path = os.path.abspath(_fixed_part(pattern) if pattern else local_path(entry))
        is_file = os.path.isfile(path)
        if is_file is not deep:
            paths[os.path.dirname(path) if is_file else path] = None
    return list(paths)


def _fixed_part(pattern: str) -> str:
    """Return the folder above the first part of a pattern with wildcards."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern or os.curdir
