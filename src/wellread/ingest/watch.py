"""Keeps a collection in step with folders, feeds and pages until it is told to stop.

Files are followed by the system's own notices, and only what changed is looked at. Feeds and
pages are asked again at their own pace. Notices get lost (a full queue, a network
drive), so folders are looked over as a whole at the start, after trouble, and now and then.

Each feed and page has its own time: after ``web.poll_minutes``, or later when its server says that
nothing changes before.
"""

from __future__ import annotations

import glob
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from wellread.errors import FingerprintError, ModelError, SourceError, StoreError
from wellread.ingest.pipeline.job_log import Report
from wellread.ingest.run import sync
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import (
    LIST_EXTENSION,
    FoundFile,
    FoundPage,
    Selection,
    find_files,
    local_path,
    pattern_of,
    uri_of,
)
from wellread.ingest.sources.file_changes import Changed, Changes, Place
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import SourceRecord

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.25  # between two looks whether to stop
MOST_CHANGES = 5_000  # more are a full look
FIRST_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 300.0


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

    Args:
        on_report: called after every run.
        run: what brings the collection in step.

    Raises:
        FingerprintError: the index was built by other settings.
    """
    places = list(dict.fromkeys(place for given in inputs if (place := _place(given))))
    home = os.path.realpath(kb.home) + os.sep

    def passed_over(path: str) -> bool:
        return (os.path.realpath(path) + os.sep).startswith(home)

    changes = Changes(places, passed_over, stop)
    changes.start()
    try:
        _Watch(kb, inputs, collection, on_report, run).follow(changes, stop)
    finally:
        stop.set()
        changes.close()


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
        self.interval = timedelta(minutes=kb.settings.web.poll_minutes)
        self.due: dict[str, datetime] = {}  # when each feed and page is to be asked
        self.rescan_seconds = kb.settings.sources.rescan_minutes * 60
        self.local = frozenset(name for given in inputs for name in _local_names(given))
        self.pending = Changed(lost=True)  # everything is looked at first
        self.rescan_at = 0.0
        self.retry_at = 0.0
        self.failures = 0

    def follow(self, changes: Changes, stop: threading.Event) -> None:
        """Wait for something to do, and do it."""
        self._know_pages(self.kb.catalogue.sources(self.collection), starting=True)
        while not stop.is_set():
            self._step()
            self.pending |= changes.wait(LOOK_SECONDS)

    def _step(self) -> None:
        now = time.monotonic()
        if now < self.retry_at:
            return
        if self.rescan_seconds and self.rescan_at and now >= self.rescan_at:
            self.pending |= Changed(lost=True)
        now_utc = datetime.now(UTC)
        due = frozenset(uri for uri, moment in self.due.items() if moment <= now_utc)
        files = self._files() if self.pending else frozenset()
        only = None if files is None else due | files
        if only is not None and not only:
            self.pending = Changed()
            return
        try:
            report = self.run(self.kb, self.inputs, collection=self.collection, only=only)
        except FingerprintError:
            raise
        except (StoreError, ModelError) as error:
            self._try_again(error)
            return
        self._done(report, due)

    def _files(self) -> frozenset[str] | None:
        """The local uris to look at; none when what changed is of no concern.

        Where nothing is left of an input (a drive that was taken out), it is None for everything:
        a run over the whole inputs knows better than to remove all that was there.
        """
        if any(_empty(given) for given in self.inputs):
            return None
        uris = self.pending.uris
        if self.pending.lost or len(uris) > MOST_CHANGES:
            return self.local
        return uris if self._matters(uris) else frozenset()

    def _matters(self, uris: frozenset[str]) -> bool:
        """Whether a run would find anything at ``uris`` that it does not know already."""
        known = self.kb.catalogue.sources(self.collection)
        sources = self.kb.settings.sources
        follow = sources.follow_links
        found = find_files(self.inputs, sources.exclude, only=uris, follow_links=follow)
        for item in found:
            record = known.get(item.uri)
            if not (isinstance(item, FoundFile) and record):
                return True
            if (record.size, record.mtime_ns) != (item.size, item.mtime_ns):
                return True
        there = {item.uri for item in found}
        chosen = Selection(uris)
        return any(chosen.covers(uri) and uri not in there for uri in known)

    def _done(self, report: Report, due: frozenset[str]) -> None:
        if self.pending.lost and self.rescan_seconds:
            self.rescan_at = time.monotonic() + self.rescan_seconds
        self.pending = Changed()
        self.retry_at = self.failures = 0
        known = self.kb.catalogue.sources(self.collection)
        self._know_pages(known, starting=False)
        after = datetime.now(UTC) + self.interval
        for uri in due & self.due.keys():
            record = known.get(uri)
            self.due[uri] = max(after, record.poll_after) if record and record.poll_after else after
        self.on_report(report)

    def _try_again(self, error: StoreError | ModelError) -> None:
        seconds = min(FIRST_RETRY_SECONDS * (1 << min(self.failures, 10)), LONGEST_RETRY_SECONDS)
        logger.error("the run failed and is tried again in %.0f seconds: %s", seconds, error)
        self.failures += 1
        self.retry_at = time.monotonic() + seconds

    def _know_pages(self, known: Mapping[str, SourceRecord], *, starting: bool) -> None:
        """Keep the list of addresses to poll. The feeds of a list on the web are read with it."""
        given = [
            name for name in self.inputs if is_web(name) or name.lower().endswith(LIST_EXTENSION)
        ]
        pages = {item.uri for item in find_files(given, ()) if isinstance(item, FoundPage)}
        now = datetime.now(UTC)
        self.due = {uri: self.due.get(uri, now) for uri in pages}
        for uri in pages if starting else ():
            record = known.get(uri)
            if record and record.poll_after:
                self.due[uri] = max(now, record.poll_after)


def _place(given: str) -> Place | None:
    """What to follow for an input: the folder, a glob's fixed part, or the folder of a file.

    A file itself is not followed, since editors replace files instead of writing into them.
    """
    if is_web(given) or given == "-":
        return None
    pattern = pattern_of(given)
    if pattern:
        return Place(path=os.path.abspath(_fixed_part(pattern)))
    path = os.path.abspath(local_path(given))
    return (
        Place(path=path) if os.path.isdir(path) else Place(path=os.path.dirname(path), deep=False)
    )


def _local_names(given: str) -> set[str]:
    """What stands for all of a local input, and for one that is wrong; nothing for an address."""
    if is_web(given) or given == "-":
        return {item.uri for item in find_files([given], ()) if isinstance(item, SourceError)}
    pattern = pattern_of(given)
    # The pattern itself is the name under which it is told that nothing matches it.
    return {given, uri_of(_fixed_part(pattern))} if pattern else {uri_of(local_path(given))}


def _fixed_part(pattern: str) -> str:
    """The folder above the first part of a pattern that is not plain."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern or os.curdir


def _empty(given: str) -> bool:
    """Whether nothing is there any more at a local input."""
    if is_web(given) or given == "-" or pattern_of(given):
        return False
    path = local_path(given)
    try:
        with os.scandir(path) as listing:
            return next(listing, None) is None
    except NotADirectoryError:
        return False
    except OSError:
        return True
