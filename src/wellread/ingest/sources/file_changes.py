"""Tells which files change below some places, also when a place goes away and comes back."""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import watchfiles

from wellread.ingest.sources.discover import IGNORE_FILE, uri_of

logger = logging.getLogger(__name__)

GROUP_MS = 1_600  # changes that go on are told after this at the latest
QUIET_MS = 100  # changes are told when nothing more came for this long
LOOK_MS = 500  # between two looks whether the place is still the same folder
START_SECONDS = 10.0
LONGEST_PAUSE = 60.0
REFUSALS_BEFORE_POLLING = 2
POLLING_MS = 2_000  # between two looks over a place without notices
_UNKNOWN = "\ufffd"  # stands in a path that is not UTF-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder to follow, with everything below it or without."""

    path: str
    deep: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What happened since the last time.

    Attributes:
        uris: files and folders that came, went or changed.
        lost: something happened that nobody can name; look at everything.
    """

    uris: frozenset[str] = frozenset()
    lost: bool = False

    def __or__(self, other: Changed) -> Changed:
        return Changed(uris=self.uris | other.uris, lost=self.lost or other.lost)

    def __bool__(self) -> bool:
        return bool(self.uris) or self.lost


class Changes:
    """Follows ``places``, each in a thread of its own, until ``stop`` is set.

    Args:
        passed_over: whether changes at a path are nobody's business.
    """

    def __init__(
        self, places: Sequence[Place], passed_over: Callable[[str], bool], stop: threading.Event
    ) -> None:
        self._queue: queue.SimpleQueue[Changed] = queue.SimpleQueue()
        self._followers = [_Follower(place, passed_over, stop, self._queue.put) for place in places]

    def start(self) -> None:
        """Begin; returns when every place is being followed, or cannot be."""
        for follower in self._followers:
            follower.thread.start()
        for follower in self._followers:
            follower.settled.wait(START_SECONDS)

    def wait(self, seconds: float) -> Changed:
        """What changed, as soon as something did; nothing after ``seconds`` of quiet."""
        try:
            changed = self._queue.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return Changed()
        while not self._queue.empty():
            changed |= self._queue.get()
        return changed

    def close(self) -> None:
        """Wait for the threads; ``stop`` must be set."""
        for follower in self._followers:
            follower.thread.join()


class _Follower:
    def __init__(
        self,
        place: Place,
        passed_over: Callable[[str], bool],
        stop: threading.Event,
        tell: Callable[[Changed], None],
    ) -> None:
        self._place = place
        self._passed_over = passed_over
        self._stop = stop
        self._tell = tell
        self._troubles = 0
        self._refusals = 0
        self.settled = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True, name="follow")

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (OSError, RuntimeError) as error:  # RuntimeError: what watchfiles raises
                if not self._troubles:
                    logger.warning("%s cannot be followed: %s", self._place.path, error)
                    self._tell(Changed(lost=True))
                self._troubles += 1
                self._refusals += os.path.isdir(self._place.path)
            self.settled.set()
            if self._troubles:
                self._stop.wait(min(2.0 ** (self._troubles - 1), LONGEST_PAUSE))

    def _follow(self) -> None:
        """Tell changes until the place is another folder than at the start, or gone."""
        path = self._place.path
        start = _folder(path)
        for changes in watchfiles.watch(
            path,
            watch_filter=None,
            debounce=GROUP_MS,
            step=QUIET_MS,
            stop_event=self._stop,
            rust_timeout=LOOK_MS if self.settled.is_set() else QUIET_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            # A system that has no watches left, or none at all, is looked over again and again.
            force_polling=True if self._refusals >= REFUSALS_BEFORE_POLLING else None,
            poll_delay_ms=POLLING_MS,
            recursive=self._place.deep,
            ignore_permission_denied=True,
        ):
            self.settled.set()
            if self._troubles:
                logger.info("%s is followed again", path)
                self._troubles = 0
                self._tell(Changed(lost=True))
            uris = frozenset(
                self._uri(name) for _, name in changes if not self._passed_over(self._own(name))
            )
            if uris:
                self._tell(Changed(uris=uris))
            if _folder(path) != start:
                self._tell(Changed(lost=True))
                return

    def _uri(self, name: str) -> str:
        """The uri of what to look at; a folder where the changed name says too little."""
        path = self._own(name)
        if os.path.basename(path) == IGNORE_FILE or _UNKNOWN in path:
            path = os.path.dirname(path.partition(_UNKNOWN)[0] if _UNKNOWN in path else path)
        return uri_of(path)

    def _own(self, name: str) -> str:
        """The path as the place names it; some systems tell it with links resolved."""
        path, real = self._place.path, os.path.realpath(self._place.path)
        if real != path and (name == real or name.startswith(real.rstrip(os.sep) + os.sep)):
            return path + name[len(real) :]
        return name


def _folder(path: str) -> tuple[int, int]:
    """What tells a folder from another of the same name."""
    status = os.stat(path)
    return status.st_dev, status.st_ino
