"""Holds the state of a running research run: limits, collected passages and paid model calls.

The reply of every model call is stored under a key made of its prompt. A run that was killed is
repeated: its searches are cheap and find the same, and paid replies are read from the store.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from anyio import to_thread

from wellread.ask.retrieve.ranking import evidence_from
from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.models.base import Excerpt, ModelUsage
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.types import Filters, Hit
from wellread.values.answers import Evidence
from wellread.values.locators import Marks
from wellread.values.reports import Facet, Limits, StopReason
from wellread.values.reports import RunState as StoredState

T = TypeVar("T")
R = TypeVar("R")

RUNS_FOLDER = "research"  # in the knowledge base folder; lock files of running runs
LOCK_SECONDS = 1.0  # longer than another process takes to check whether a run is locked
WORD_WEIGHT = 0.65  # weight of word overlap in similarity; the rest is the cosine
MAX_DIRECT_DOCUMENTS = 6  # documents of the question's own search that always rank first


@dataclass(slots=True)
class Pool:
    """Passages by id, with their rank (from 1) in the search for each facet."""

    hits: dict[str, Hit] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, facet: str, hits: Sequence[Hit]) -> int:
        """Add the hits of one search, best first, and return how many are new."""
        before = len(self.hits)
        for rank, hit in enumerate(hits, 1):
            old = self.hits.get(hit.passage.id)
            if old is None or (hit.similarity or 0.0) > (old.similarity or 0.0):
                self.hits[hit.passage.id] = hit
            ranks = self.ranks.setdefault(hit.passage.id, {})
            ranks[facet] = min(rank, ranks.get(facet, rank))
        return len(self.hits) - before

    def of(self, facet: str) -> list[Hit]:
        """Return the passages found for a facet, best first."""
        found = [passage_id for passage_id, ranks in self.ranks.items() if facet in ranks]
        found.sort(key=lambda passage_id: self.ranks[passage_id][facet])
        return [self.hits[passage_id] for passage_id in found]

    def first_documents(self, limit: int) -> list[Hit]:
        """Return the best passage of each of the first documents of the question's own search."""
        facet = next(iter(next(iter(self.ranks.values()), {})), "")
        best: dict[str, Hit] = {}
        for hit in self.of(facet):
            best.setdefault(hit.document.id, hit)
        return list(best.values())[:limit]

    def documents(self, bridges: Collection[str]) -> list[str]:
        """Return the document ids, ordered by their rank in the searches.

        The first six of the question's own search come first, then those of ``bridges`` (facets
        that the evidence suggested), interleaved with further ones by rank.
        """
        facets = dict.fromkeys(facet for ranks in self.ranks.values() for facet in ranks)
        best: dict[str, float] = {}
        for number, facet in enumerate(facets):
            own_offset = MAX_DIRECT_DOCUMENTS + 1 if number else 0
            offset = MAX_DIRECT_DOCUMENTS - 0.5 if facet in bridges else own_offset
            document_ids = dict.fromkeys(hit.document.id for hit in self.of(facet))
            for rank, document in enumerate(document_ids):
                best[document] = min(rank + offset, best.get(document, rank + offset))
        return sorted(best, key=lambda document: best[document])

    def nearness(self, kb: KnowledgeBase, text: str, facet: str) -> dict[str, float]:
        """Return the similarity (0-1) of a facet's passages to ``text``, from words and cosine."""
        hits = [hit for passage_id, hit in self.hits.items() if facet in self.ranks[passage_id]]
        excerpts = [Excerpt(text=hit.passage.text, title=hit.passage.context) for hit in hits]
        word_scores = kb.lexical.relevance(text, excerpts).tolist()
        return {
            hit.passage.id: WORD_WEIGHT * words
            + (1 - WORD_WEIGHT) * max(0.0, hit.similarity or 0.0)
            for hit, words in zip(hits, word_scores, strict=True)
        }


@dataclass(slots=True)
class RunState:
    """One running research run.

    Attributes:
        filters: the limits of the question, which no search may exceed.
        journal: the replies of models by key, including those from before a restart.
        stopped: why searching ended; None while it continues.
        failure: why the model that led the rounds failed.
    """

    kb: KnowledgeBase
    id: str
    limits: Limits
    journal: dict[str, Any] = field(default_factory=dict)
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
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Working time of the run in this process."""
        return time.monotonic() - self.began

    def stop(self) -> StopReason | None:
        """Return the limit that ends the run now, if any; asked before each search and call."""
        if not self.kb.catalogue.research.exists(self.id):
            return "source_removed"
        if self.seconds >= self.limits.seconds:
            return "time_limit"
        spent = self.limits.dollars is not None and self.dollars >= self.limits.dollars
        return "budget" if spent or self.searches >= self.limits.searches else None

    async def run_searches(
        self, jobs: Sequence[T], search: Callable[[T], R]
    ) -> AsyncIterator[tuple[T, R]]:
        """Yield each job with the result of its search, a few at a time, until a limit is reached.

        A limit is set as ``stopped``.
        """
        batch_size = self.kb.settings.research.side_by_side
        for first in range(0, len(jobs), batch_size):
            started: list[T] = []
            for job in jobs[first : first + batch_size]:
                self.stopped = await to_thread.run_sync(self.stop)
                if self.stopped is not None:
                    break
                self.searches += 1
                started.append(job)
            for job, result in zip(started, await _side_by_side(started, search), strict=True):
                yield job, result
            if self.stopped is not None:
                return

    async def once(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return the journaled reply under ``key``, as plain values; ask for it the first time."""
        if key not in self.journal:
            self.journal[key] = await make()
            await to_thread.run_sync(self._keep, key)
        return self.journal[key]

    def _keep(self, key: str) -> None:
        research = self.kb.catalogue.research
        research.done(self.id, key, self.journal[key], seconds=self.seconds)

    def note_read(self, hits: Iterable[Hit]) -> None:
        """Note the documents of ``hits``: the run goes when one of them is removed."""
        self.kb.catalogue.research.note_read(self.id, {hit.document.id for hit in hits})

    def spend(self, usage: ModelUsage) -> None:
        """Add the usage of one model call, whether it failed or not."""
        self.calls += 1
        self.dollars += usage.cost
        read, written = self.tokens
        self.tokens = (read + usage.input_tokens, written + usage.output_tokens)


async def _side_by_side(jobs: Sequence[T], search: Callable[[T], R]) -> list[R]:
    """Return the results in the order of ``jobs``; an error is raised alone, not in a group."""
    results: dict[int, R] = {}
    errors: list[WellreadError] = []

    async def run(index: int, job: T) -> None:
        try:
            results[index] = await to_thread.run_sync(search, job)
        except WellreadError as error:
            errors.append(error)

    async with anyio.create_task_group() as group:
        for index, job in enumerate(jobs):
            group.start_soon(run, index, job)
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(jobs))]


# --- locks of a run ------------------------------------------------------------------------------


def this_process() -> tuple[str, int]:
    """Return the name of this machine and the id of this process."""
    return platform.node(), os.getpid()


def is_running(kb: KnowledgeBase, run_id: str, host: str) -> bool:
    """Whether a process works on a run that is recorded as running on ``host``."""
    if host != platform.node() and not kb.locks.everywhere:
        return True  # locks of another machine cannot be checked here
    return kb.locks.taken(_lock_name(run_id))


def state_of(kb: KnowledgeBase, run: ResearchRun) -> StoredState:
    """Return the state of a run; ``interrupted`` when its process has ended."""
    if run.state != "running" or not run.pid or is_running(kb, run.id, run.host):
        return run.state
    # It may have ended in the meantime.
    current = kb.catalogue.research.get(run.id, run.owner)
    return "interrupted" if current is None or current.state == "running" else current.state


@contextmanager
def lock_run(kb: KnowledgeBase, run_id: str) -> Iterator[None]:
    """Lock a run while working on it. The system releases the lock when the process dies."""
    with kb.locks.hold(_lock_name(run_id), LOCK_SECONDS) as acquired:
        if not acquired:
            raise RequestError(f"research {run_id} is already running", hint="wait for it to end")
        try:
            yield
        finally:
            kb.locks.forget(_lock_name(run_id))


def _lock_name(run_id: str) -> str:
    return f"{RUNS_FOLDER}/{run_id}.lock"


# --- passages by id, and as evidence --------------------------------------------------------------


def live_hits(kb: KnowledgeBase, ids: Iterable[str]) -> list[Hit]:
    """Return the passages with these ids, in that order, without those that are not live."""
    passage_ids = list(dict.fromkeys(filter(None, ids)))
    passages = kb.catalogue.live_passages(passage_ids)
    facts = kb.catalogue.facts({passage.document_id for passage in passages.values()})
    return [
        Hit(passage=passage, document=document, score=1.0)
        for passage in (passages[key] for key in passage_ids if key in passages)
        if (document := facts.get(passage.document_id)) and document.version == passage.version
    ]


def evidence_of(kb: KnowledgeBase, hits: Sequence[Hit]) -> list[Evidence]:
    """Return whole passages as evidence with the keys ``e1``, ``e2``, ... in order."""
    places = [(hit.passage.document_id, hit.passage.span) for hit in hits]
    pairs = zip(hits, kb.catalogue.marks_over(places), strict=True)
    return [
        evidence_from(number, hit, hit.passage.text, Marks(marks))
        for number, (hit, marks) in enumerate(pairs, 1)
    ]
