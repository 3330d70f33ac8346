"""Keeps a collection in step with folders, feeds and pages until it is told to stop.

Files are followed by the system's own notices. Those get lost (a full queue, a network drive), so
folders are looked over at the start, after trouble, and now and then as well. Feeds and pages are
asked every ``web.poll_minutes``.
"""

from __future__ import annotations

import glob
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence

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

LOOK_SECONDS = 0.25  # between two looks whether to stop
FIRST_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 300.0
GROUP_MS = 1_600  # changes that go on are told after this at the latest
QUIET_MS = 100  # changes are told when nothing more came for this long
PLACES_MS = 500  # between two looks whether the places are still the same folders
LONGEST_PAUSE = 60.0
REFUSALS_BEFORE_POLLING = 2
POLLING_MS = 2_000  # between two looks over a place without notices

OnReport = Callable[[Report], None]
Run = Callable[..., Report]
"""What brings the collection in step; called as ``ingest.run.sync`` is."""


def watch(
    kb: KnowledgeBase,
    inputs: Sequence[str],
    *,
    collection: str,
    on_report: OnReport,
    stop: threading.Event,
    run: Run = sync,
) -> None:
    """Follow ``inputs`` until ``stop`` is set; a run that is under way is finished first.

    A store or a model that fails is tried again, later and later.

    Raises:
        FingerprintError: the index was built by other settings.
    """
    home = os.path.realpath(kb.home) + os.sep
    changed = threading.Event()
    followers = [
        _Follower(places, home, changed, stop, deep=deep)
        for deep in (True, False)
        if (places := _places(inputs, deep=deep))
    ]
    for follower in followers:
        follower.start()
    try:
        _Watch(kb, inputs, collection, on_report, run).follow(changed, stop)
    finally:
        stop.set()
        for follower in followers:
            follower.join()


class _Watch:
    def __init__(
        self,
        kb: KnowledgeBase,
        inputs: Sequence[str],
        collection: str,
        on_report: OnReport,
        run: Run,
    ) -> None:
        self.kb = kb
        self.inputs = inputs
        self.collection = collection
        self.on_report = on_report
        self.run = run
        self.local = [given for given in inputs if not is_web(given)]
        self.web = [
            given for given in inputs if is_web(given) or given.lower().endswith(LIST_EXTENSION)
        ]
        self.rescan_at = self.poll_at = self.retry_at = 0.0  # everything is looked at first
        self.failures = 0

    def follow(self, changed: threading.Event, stop: threading.Event) -> None:
        """Wait for something to do, and do it."""
        while not stop.is_set():
            now = time.monotonic()
            rescan, poll = now >= self.rescan_at, now >= self.poll_at
            if now >= self.retry_at and (changed.is_set() or rescan or poll):
                noticed = changed.is_set()
                changed.clear()
                files = rescan or (noticed and self._differs())
                if not self._step(files=files, pages=poll) and noticed:
                    changed.set()  # for the next try
            changed.wait(LOOK_SECONDS)
            if changed.is_set():
                stop.wait(LOOK_SECONDS)

    def _step(self, *, files: bool, pages: bool) -> bool:
        """Bring files, pages or both in step; False when that is to be tried again."""
        chosen = self.inputs if files and pages else self.local if files else self.web
        try:
            report = None
            if chosen and (files or pages):
                report = self.run(self.kb, chosen, collection=self.collection, changed_only=True)
        except FingerprintError:
            raise
        except (StoreError, ModelError) as error:
            wait = min(FIRST_RETRY_SECONDS * (1 << min(self.failures, 10)), LONGEST_RETRY_SECONDS)
            logger.error("the run failed and is tried again in %.0f seconds: %s", wait, error)
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

    def _differs(self) -> bool:
        """Whether a run would find any file that is not as the catalogue knows it."""
        own = uri_of(self.kb.home) + "/"  # changes with every run
        known = self.kb.catalogue.sources(self.collection)
        known = {uri: record for uri, record in known.items() if not uri.startswith(own)}
        roots = {root_of(given) for given in self.local}
        sources = self.kb.settings.sources
        found = find_files(self.local, sources.exclude, follow_links=sources.follow_links)
        found = [item for item in found if not item.uri.startswith(own)]
        for item in found:
            record = known.get(item.uri)
            if isinstance(item, FoundPage) and record is None:
                return True
            if isinstance(item, SourceError) and item.uri in roots:
                return True  # the run tells that it is not there
            seen = (record.size, record.mtime_ns) if record else ()
            if isinstance(item, FoundFile) and seen != (item.size, item.mtime_ns):
                return True
        return bool(gone_sources(self.local, found, known))


class _Follower(threading.Thread):
    """Sets ``changed`` when something changes at the places, also when one goes or comes back."""

    def __init__(
        self,
        places: Sequence[str],
        home: str,
        changed: threading.Event,
        stop: threading.Event,
        *,
        deep: bool,
    ) -> None:
        super().__init__(daemon=True, name="follow")
        self._places = places
        self._deep = deep
        self._home = home
        self._changed = changed
        self._stop_event = stop
        self._refusals = 0

    def run(self) -> None:
        """Follow until ``stop`` is set."""
        while not self._stop_event.is_set():
            there = self._there()
            try:
                self._follow(there)
                self._refusals = 0
            except (OSError, RuntimeError) as error:  # RuntimeError: what watchfiles raises
                if there == self._there():
                    logger.warning("%s cannot be followed: %s", ", ".join(there), error)
                    self._stop_event.wait(min(2.0**self._refusals, LONGEST_PAUSE))
                    self._refusals += 1
            self._changed.set()

    def _follow(self, there: dict[str, tuple[int, int]]) -> None:
        """Tell changes until the places are other folders than at the start."""
        if not there:
            while not (self._stop_event.wait(PLACES_MS / 1000) or self._there()):
                pass
            return
        fresh = True  # what changed before it was followed is told too
        for changes in watchfiles.watch(
            *there,
            watch_filter=None,
            debounce=GROUP_MS,
            step=QUIET_MS,
            stop_event=self._stop_event,
            rust_timeout=PLACES_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            # A system that has no watches left, or none at all, is looked over again and again.
            force_polling=True if self._refusals >= REFUSALS_BEFORE_POLLING else None,
            poll_delay_ms=POLLING_MS,
            recursive=self._deep,
            ignore_permission_denied=True,
        ):
            names = (os.path.realpath(name) + os.sep for _, name in changes)
            if fresh or not all(name.startswith(self._home) for name in names):
                self._changed.set()
            fresh = False
            if self._there() != there:
                return

    def _there(self) -> dict[str, tuple[int, int]]:
        """The places that are there, with what tells a folder from another of the same name."""
        found = {path: os.stat(path) for path in self._places if os.path.isdir(path)}
        return {path: (status.st_dev, status.st_ino) for path, status in found.items()}


def _places(inputs: Sequence[str], *, deep: bool) -> list[str]:
    """What to follow: folders and globs' fixed parts (``deep``), or the folders of single files.

    A file itself is not followed, since editors replace files instead of writing into them.
    """
    places: dict[str, None] = {}
    for given in inputs:
        if is_web(given) or given == "-":
            continue
        pattern = pattern_of(given)
        path = os.path.abspath(_fixed_part(pattern) if pattern else local_path(given))
        single = os.path.isfile(path)
        if single is not deep:
            places[os.path.dirname(path) if single else path] = None
    return list(places)


def _fixed_part(pattern: str) -> str:
    """The folder above the first part of a pattern that is not plain."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern or os.curdir
