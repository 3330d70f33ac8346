"""What a run has done and may still do: its journal, its limits, and what it has read.

Every search and every call of a model goes through ``once``: its outcome is kept under a key, and
a run that was killed and goes on finds it there and does not do it again. So a resumed run takes
the way of the first one, and everything between the steps hangs on their outcomes alone.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from anyio import Lock, to_thread

from wellread.errors import RequestError, StoreError
from wellread.kb import KnowledgeBase
from wellread.models.base import ModelUsage
from wellread.reports import MOST_FACETS, Facet, Limits, StopReason
from wellread.research.pool import Pool
from wellread.types import Filters, Hit

RUNS_FOLDER = "research"  # of the home; locked files of each run at work or in a queue
_WORK, _QUEUE = ".lock", ".queue.lock"
LOCK_SECONDS = 1.0  # who only looks whether somebody works on a run is quicker than that
STOPPED = "stopped"  # how the keys of the places begin where a limit was reached


@dataclass(slots=True)
class RunState:
    """One run at work.

    Attributes:
        filters: the limits of the question, a hard border.
        journal: key to outcome of every step so far, those before a restart included.
        searches, calls, dollars: that were made and spent, those before a restart included.
        facets: all so far, in order.
        rounds: how many rounds of searching there were.
        stopped: why there is no further one; None while they run. ``failure``: of a model that
            was to lead them, in words.
        tokens: that language models read and wrote.
        fresh: passages new in the last round, of the best of its searches.
    """

    kb: KnowledgeBase
    id: str
    limits: Limits
    journal: dict[str, Any] = field(default_factory=dict)
    before: float = 0.0
    filters: Filters = field(default_factory=Filters)
    pool: Pool = field(default_factory=Pool)
    searches: int = 0
    calls: int = 0
    dollars: float = 0.0
    facets: list[Facet] = field(default_factory=list)
    rounds: int = 0
    stopped: StopReason | None = None
    failure: str = ""
    fresh: int = 0
    tokens: tuple[int, int] = (0, 0)
    began: float = field(default_factory=time.monotonic)
    _lock: Lock = field(default_factory=Lock)
    _seen: set[str] = field(default_factory=set)
    _read: set[str] = field(default_factory=set)
    _done_before: int = 0

    def __post_init__(self) -> None:
        self._done_before = sum(not key.startswith(STOPPED) for key in self.journal)

    @property
    def seconds(self) -> float:
        """How long the run has worked, before a restart included."""
        return self.before + time.monotonic() - self.began

    def stop(self) -> StopReason | None:
        """Why nothing more may be done; asked before every search and every call of a model.

        Where the run stopped before a restart, it stops again; where it went on, it goes on.

        Raises:
            StoreError: the catalogue cannot be read or written.
        """
        place = f"{STOPPED}:{len(self._seen)}"
        if place in self.journal:
            reason: StopReason = self.journal[place]
            return reason
        if len(self._seen) < self._done_before:
            return None
        found = self._limit_reached()
        if found is not None:
            self._write(place, found, ())
            self.journal[place] = found
        return found

    def _limit_reached(self) -> StopReason | None:
        if self.kb.catalogue.research.cancelled(self.id):
            return "cancelled"
        if self.seconds >= self.limits.seconds:
            return "time_limit"
        if self.searches >= self.limits.searches:
            return "budget"
        if self.limits.dollars is not None and self.dollars >= self.limits.dollars:
            return "budget"
        return None

    async def reason_to_stop(self) -> StopReason | None:
        """``stop``, for who must not block."""
        return await to_thread.run_sync(self.stop)

    def has(self, key: str) -> bool:
        """Whether the step was done before."""
        if key in self.journal:
            self._seen.add(key)
        return key in self.journal

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """What ``make`` gave the first time that this step was done, as plain values.

        Raises:
            RequestError: the run is not there any more, since a source that it read was removed.
            StoreError: the catalogue cannot be written.
        """
        if not self.has(key):
            await self.keep(key, await make())
        return self.journal[key]

    async def keep(self, key: str, result: Any, read: Iterable[str] = ()) -> None:
        """Write the outcome of a step down."""
        async with self._lock:
            self._read.update(read)
            await to_thread.run_sync(self._write, key, result, sorted(self._read))
        self.journal[key] = result
        self._seen.add(key)

    def _write(self, key: str, result: Any, read: Sequence[str]) -> None:
        research = self.kb.catalogue.research
        try:
            research.done(self.id, key, result, seconds=self.seconds, read=read)
        except StoreError:
            if research.cancelled(self.id):
                raise RequestError(
                    "a source that this research had read was removed, and the run with it",
                    hint="ask again; what is there now will be searched",
                ) from None
            raise

    @property
    def searches_left(self) -> int:
        """How many more may be made."""
        return max(0, self.limits.searches - self.searches)

    def searched(self, times: int = 1) -> None:
        """A search is about to begin, or some were made."""
        self.searches += times

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        """Put passages into what was read; how many were new."""
        self._read.update(hit.document.id for hit in hits)
        return self.pool.add(facet, hits)

    def found(self, facet: str) -> list[Hit]:
        """The passages that were found for a facet, the best first."""
        ranks = self.pool.ranks
        own = [known for known in self.pool.hits if facet in ranks[known]]
        return [self.pool.hits[known] for known in sorted(own, key=lambda one: ranks[one][facet])]

    def open_facet(self, title: str, query: str, round_number: int) -> str:
        """A facet that a model named; its id, also that of one that is the same.

        Empty: there are as many as a run takes.
        """
        for one in self.facets:
            if title.casefold() == one.title.casefold():
                return one.id
        if len(self.facets) >= MOST_FACETS:
            return ""
        number = f"f{len(self.facets) + 1}"
        self.facets.append(
            Facet(
                id=number,
                kind="model",
                title=title,
                query=query,
                filters=self.filters,
                why="the model asked for it",
                round=round_number,
            )
        )
        return number

    def end_rounds(self, reason: StopReason | Literal["failed"], text: str = "") -> None:
        """The rounds that a model led are over."""
        if reason == "failed":
            self.failure = text
        else:
            self.stopped = reason

    def spend(self, usage: ModelUsage) -> None:
        """Count one call of a model."""
        self.calls += 1
        self.dollars += usage.cost
        self.tokens = (
            self.tokens[0] + usage.input_tokens,
            self.tokens[1] + usage.output_tokens,
        )


def here() -> tuple[str, int]:
    """This machine and this process."""
    return platform.node(), os.getpid()


@contextmanager
def held(kb: KnowledgeBase, run_id: str) -> Iterator[None]:
    """Keep a run to oneself while working on it. The system lets go when the process dies.

    Raises:
        RequestError: somebody works on it already.
    """
    with _alone(kb, run_id, _WORK):
        yield


@contextmanager
def queued(kb: KnowledgeBase, run_id: str) -> Iterator[None]:
    """Have a run wait for its turn in this process, which is to work on it inside.

    Raises:
        RequestError: it waits for its turn already.
    """
    with _alone(kb, run_id, _QUEUE):
        yield


def worked_on(kb: KnowledgeBase, run_id: str, host: str) -> bool:
    """Whether a process works on a run that is noted as running on ``host``."""
    if host != platform.node() and not kb.locks.everywhere:
        return True  # another machine's; its lock says nothing here
    return _taken(kb, run_id, _WORK)


def waits(kb: KnowledgeBase, run_id: str) -> bool:
    """Whether a process of this machine has the run wait for its turn."""
    return _taken(kb, run_id, _QUEUE)


@contextmanager
def _alone(kb: KnowledgeBase, run_id: str, what: str) -> Iterator[None]:
    name = f"{RUNS_FOLDER}/{run_id}{what}"
    with kb.locks.hold(name, LOCK_SECONDS) as ours:
        if not ours:
            raise RequestError(
                f"research {run_id} is being worked on", hint="follow it, or cancel it"
            )
        try:
            yield
        finally:
            kb.locks.forget(name)


def _taken(kb: KnowledgeBase, run_id: str, what: str) -> bool:
    return kb.locks.taken(f"{RUNS_FOLDER}/{run_id}{what}")


# --- passages in the journal: their ids and scores, no words -------------------------------------


def hits_to_plain(hits: Sequence[Hit]) -> list[list[Any]]:
    """Ids and scores of passages, as they are journaled."""
    return [[hit.passage.id, hit.document.id, round(hit.score, 6), hit.similarity] for hit in hits]


def hits_from_plain(kb: KnowledgeBase, plain: Sequence[Sequence[Any]]) -> list[Hit]:
    """The passages again; those that are not live any more are left out.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    passages = kb.catalogue.live_passages([str(one[0]) for one in plain])
    facts = kb.catalogue.facts({str(one[1]) for one in plain})
    found = []
    for known, document, score, similarity in plain:
        passage, about = passages.get(known), facts.get(document)
        if passage is None or about is None or about.version != passage.version:
            continue
        found.append(
            Hit(
                passage=passage,
                document=about,
                score=float(score),
                similarity=similarity,
            )
        )
    return found
