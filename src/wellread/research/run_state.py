"""A run of research at work: its journal, its limits, and the passages that it has read.

Every search and every call of a model is a step whose outcome is kept under a key. A run that was
killed and goes on finds it there and does not do it again, so it takes the way of the first one:
everything between the steps hangs on their outcomes alone.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from anyio import Lock, to_thread

from wellread.errors import RequestError, StoreError
from wellread.kb import KnowledgeBase
from wellread.models.base import Excerpt, ModelUsage
from wellread.types import Filters, Hit
from wellread.values.answers import Evidence
from wellread.values.locators import Marks
from wellread.values.reports import Facet, Limits, StopReason

RUNS_FOLDER = "research"  # of the home; locked files of each run at work or in a queue
_WORK, _QUEUE = ".lock", ".queue.lock"
LOCK_SECONDS = 1.0  # who only looks whether somebody works on a run is quicker than that
STOPPED = "stopped"  # how the keys of the places begin where a limit was reached
WORDS = 0.65  # of how near a passage is to a text; the rest is the cosine
BEHIND = 6  # documents of the question's own search that stand before what they lead on to

RoundsEnd = StopReason | Literal["failed"]
"""Why the rounds of a model ended; ``failed``: the model did, and the run goes on without it."""


@dataclass(slots=True)
class Pool:
    """Passages by id, each with the facets that it was found for and its rank there, from 1."""

    hits: dict[str, Hit] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        """Put the hits of one search in, best first; how many were not there yet."""
        before = len(self.hits)
        for rank, hit in enumerate(hits, 1):
            old = self.hits.get(hit.passage.id)
            if old is None or (hit.similarity or 0.0) > (old.similarity or 0.0):
                self.hits[hit.passage.id] = hit
            places = self.ranks.setdefault(hit.passage.id, {})
            places[facet] = min(rank, places.get(facet, rank))
        return len(self.hits) - before

    def of(self, facet: str) -> list[Hit]:
        """The passages that were found for a facet, the best first."""
        own = [(places[facet], name) for name, places in self.ranks.items() if facet in places]
        return [self.hits[name] for _, name in sorted(own, key=lambda each: each[0])]

    def first_documents(self, most: int) -> list[Hit]:
        """The best passage of each of the first documents of the question's own search."""
        facet = next(iter(next(iter(self.ranks.values()), {})), "")
        best: dict[str, Hit] = {}
        for hit in self.of(facet):
            best.setdefault(hit.document.id, hit)
        return list(best.values())[:most]

    def documents(self, led: Collection[str]) -> list[str]:
        """The ids of the documents: by their place in the searches for them.

        Args:
            led: facets that the evidence led on to; their documents come behind the first six.
        """
        facets = dict.fromkeys(facet for places in self.ranks.values() for facet in places)
        best: dict[str, float] = {}
        for number, facet in enumerate(facets):
            behind = BEHIND - 0.5 if facet in led else BEHIND + 1 if number else 0
            own = dict.fromkeys(hit.document.id for hit in self.of(facet))
            for place, document in enumerate(own, 0):
                best[document] = min(place + behind, best.get(document, place + behind))
        return sorted(best, key=lambda document: best[document])

    def nearness(self, kb: KnowledgeBase, text: str, facet: str) -> dict[str, float]:
        """How near the passages of a facet are to ``text``, 0-1: by words and by their cosine."""
        hits = [hit for name, hit in self.hits.items() if facet in self.ranks[name]]
        read = [Excerpt(text=hit.passage.text, title=hit.passage.context) for hit in hits]
        close = kb.lexical.relevance(text, read).tolist()
        return {
            hit.passage.id: WORDS * words + (1 - WORDS) * max(0.0, hit.similarity or 0.0)
            for hit, words in zip(hits, close, strict=True)
        }


@dataclass(slots=True)
class RunState:
    """One run at work.

    Attributes:
        filters: the limits of the question, a hard border.
        journal: key to outcome of every step so far, those before a restart included.
        searches, calls, dollars, tokens: made, spent, read and written; before a restart too.
        facets: all so far, in order.
        rounds: how many rounds of searching there were.
        stopped: why there is no further one; None while they run. ``failure``: of a model that
            was to lead them, in words.
        read: ids of the documents read.
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
    tokens: tuple[int, int] = (0, 0)
    facets: list[Facet] = field(default_factory=list)
    rounds: int = 0
    stopped: StopReason | None = None
    failure: str = ""
    read: set[str] = field(default_factory=set)
    began: float = field(default_factory=time.monotonic)
    _lock: Lock = field(default_factory=Lock)
    _seen: set[str] = field(default_factory=set)
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
        """
        place = f"{STOPPED}:{len(self._seen)}"
        if place in self.journal:
            reason: StopReason = self.journal[place]
            return reason
        if len(self._seen) < self._done_before:
            return None
        limit = self._limit_reached()
        if limit is not None:
            self._write(place, limit, ())
            self.journal[place] = limit
        return limit

    def _limit_reached(self) -> StopReason | None:
        if self.kb.catalogue.research.cancelled(self.id):
            return "cancelled"
        if self.seconds >= self.limits.seconds:
            return "time_limit"
        spent = self.limits.dollars is not None and self.dollars >= self.limits.dollars
        return "budget" if spent or self.searches >= self.limits.searches else None

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """What ``make`` gave the first time that this step was done, as plain values."""
        if key not in self.journal:
            await self.keep(key, await make())
        self._seen.add(key)
        return self.journal[key]

    async def keep(self, key: str, result: Any) -> None:
        """Write the outcome of a step down."""
        async with self._lock:
            await to_thread.run_sync(self._write, key, result, sorted(self.read))
        self.journal[key] = result

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

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        """Put passages into what was read; how many were new."""
        self.read.update(hit.document.id for hit in hits)
        return self.pool.add(facet, hits)

    def spend(self, usage: ModelUsage) -> None:
        """Count one call of a model, whether it failed or not."""
        self.calls += 1
        self.dollars += usage.cost
        read, written = self.tokens
        self.tokens = (read + usage.input_tokens, written + usage.output_tokens)


# --- who works on a run --------------------------------------------------------------------------


def here() -> tuple[str, int]:
    """This machine and this process."""
    return platform.node(), os.getpid()


def held(kb: KnowledgeBase, run_id: str) -> AbstractContextManager[None]:
    """Keep a run to oneself while working on it. The system lets go when the process dies."""
    return _alone(kb, f"{run_id}{_WORK}")


def queued(kb: KnowledgeBase, run_id: str) -> AbstractContextManager[None]:
    """Have a run wait for its turn in this process, which is to work on it inside."""
    return _alone(kb, f"{run_id}{_QUEUE}")


def worked_on(kb: KnowledgeBase, run_id: str, host: str) -> bool:
    """Whether a process works on a run that is noted as running on ``host``."""
    if host != platform.node() and not kb.locks.everywhere:
        return True  # another machine's; its lock says nothing here
    return kb.locks.taken(f"{RUNS_FOLDER}/{run_id}{_WORK}")


def waits(kb: KnowledgeBase, run_id: str) -> bool:
    """Whether a process of this machine has the run wait for its turn."""
    return kb.locks.taken(f"{RUNS_FOLDER}/{run_id}{_QUEUE}")


@contextmanager
def _alone(kb: KnowledgeBase, name: str) -> Iterator[None]:
    with kb.locks.hold(f"{RUNS_FOLDER}/{name}", LOCK_SECONDS) as ours:
        if not ours:
            raise RequestError(
                f"research {name.partition('.')[0]} is being worked on",
                hint="follow it, or cancel it",
            )
        try:
            yield
        finally:
            kb.locks.forget(f"{RUNS_FOLDER}/{name}")


# --- passages in the journal (their ids and scores, no words), and as evidence -------------------


def hits_to_plain(hits: Iterable[Hit]) -> list[list[Any]]:
    """Ids and scores of passages, as they are journaled."""
    return [[hit.passage.id, hit.document.id, round(hit.score, 6), hit.similarity] for hit in hits]


def hits_from_plain(kb: KnowledgeBase, plain: Iterable[Sequence[Any]]) -> list[Hit]:
    """The passages again; those that are not live any more are left out."""
    rows = list(plain)
    passages = kb.catalogue.live_passages([str(row[0]) for row in rows])
    facts = kb.catalogue.facts({passage.document_id for passage in passages.values()})
    hits = []
    for name, _, score, similarity in rows:
        passage = passages.get(name)
        document = facts.get(passage.document_id) if passage else None
        if passage and document and document.version == passage.version:
            hits.append(
                Hit(passage=passage, document=document, score=float(score), similarity=similarity)
            )
    return hits


def evidence_of(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Evidence]:
    """Whole passages as evidence, ``e1``, ``e2``, ... in their order."""
    places = [(hit.passage.document_id, hit.passage.span) for hit in hits]
    evidence = []
    for number, (hit, held_marks) in enumerate(
        zip(hits, kb.catalogue.marks_over(places), strict=True), 1
    ):
        marks = Marks(held_marks)
        evidence.append(
            Evidence(
                key=f"e{number}",
                hit=hit,
                text=hit.passage.text,
                span=hit.passage.span,
                locator=marks.locate(hit.passage.span),
                turns=marks.turns(hit.passage.span),
            )
        )
    return evidence
