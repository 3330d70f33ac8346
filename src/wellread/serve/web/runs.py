"""Runs the background work of a server: questions asked on pages, and the ingest queue.

The events of a question are numbered and can be replayed. Before a replay they are checked again,
so that text of sources that were removed or are no longer readable is not shown from memory.

A run belongs to the server, not to the connection that started it: a reloaded page, a second tab
or a computer after sleep continues with the same events. Runs are kept in memory only; the finished
answer is in the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Literal, cast

from anyio import to_thread
from fastapi import Depends, Request

from wellread.asking import answer_in_mode
from wellread.errors import UnknownNameError, WellreadError
from wellread.identity import EVERYTHING, Everything
from wellread.ingest.pipeline.commit import sync_index
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import reads_all_of
from wellread.learning import asking_again
from wellread.learning.asking_again import after_ingest
from wellread.serve.error_shapes import INTERNAL, Problem, problem_of, problem_of_status
from wellread.values.answers import Answer, Event, FinalEvent, Question, StepEvent

logger = logging.getLogger(__name__)

State = Literal["running", "done", "failed", "cancelled"]
MAX_KEPT_RUNS = 100  # questions in memory, running or ended
MAX_RUNNING = 8  # questions answered at the same time


@dataclass(slots=True, eq=False)
class AskRun:
    """One question that is being answered.

    Attributes:
        kb: restricted to what its user may read.
        events: all events so far; the index in this list is an event's number.
        problem: why it failed.
        answer: the delivered answer, once it exists.
        material: stamps of the documents when the run started.
    """

    id: str
    question: Question
    kb: KnowledgeBase
    state: State = "running"
    events: list[Event] = field(default_factory=list)
    problem: Problem | None = None
    answer: Answer | None = None
    material: Mapping[str, str] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None
    begun: float = field(default_factory=time.monotonic)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def elapsed(self) -> float:
        """The seconds since it started."""
        return time.monotonic() - self.begun

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        """Yield the events from number ``after`` on as they come, until the run has ended."""
        while True:
            more = self._more
            while after < len(self.events):
                yield after, self.events[after]
                after += 1
            if self.state != "running":
                return
            await more.wait()

    def as_now(self, kb: KnowledgeBase, event: Event) -> Event | None:
        """Return the event as the user of ``kb`` may see it now; None if not at all.

        A step contains no source text. The answer is shown as currently stored; the draft and its
        sentences are shown only while the documents are unchanged.
        """
        if isinstance(event, StepEvent):
            return event
        if self.answer is not None and self.answer.id:
            stored = kb.catalogue.sessions.answer(self.answer.id, kb.asker.owner)
            if stored is None:
                raise UnknownNameError("the answer no longer exists", hint="ask again")
            if isinstance(event, FinalEvent):
                return FinalEvent(answer=stored[1])
        return event if self.material == _document_stamps(self.kb, self.question) else None

    def add(self, event: Event) -> None:
        """Append an event and wake up the followers."""
        self.events.append(event)
        if isinstance(event, FinalEvent):
            self.answer = event.answer
        self._wake()

    def end(self, state: State, problem: Problem | None = None) -> None:
        """Set the final state and wake up the followers."""
        self.state, self.problem = state, problem
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


class AskRuns:
    """The questions of one server: all running ones, and the newest ended ones."""

    def __init__(self) -> None:
        self._runs: dict[str, AskRun] = {}

    def start(self, kb: KnowledgeBase, question: Question) -> AskRun | None:
        """Start answering for the user of ``kb``; None when too many questions are running."""
        if sum(run.state == "running" for run in self._runs.values()) >= MAX_RUNNING:
            return None
        run = AskRun(id=secrets.token_urlsafe(12), question=question, kb=kb)
        self._runs[run.id] = run
        self._forget()
        run.task = asyncio.create_task(self._answer(run))
        return run

    def get(self, kb: KnowledgeBase, run_id: str) -> AskRun | None:
        """The run with this id, if it belongs to the user of ``kb``; else None.

        Also None when the user has since lost read access to the run's material.
        """
        run = self._runs.get(run_id)
        if run is None or run.kb.asker.owner != kb.asker.owner:
            return None
        return run if reads_all_of(kb, run.kb) else None

    async def cancel(self, run: AskRun) -> None:
        """Stop a running question, including its model call; an ended run is not changed."""
        if run.task is not None and not run.task.done():
            run.task.cancel()
            await asyncio.wait([run.task])

    async def close(self) -> None:
        """Stop all running questions."""
        for run in list(self._runs.values()):
            await self.cancel(run)

    async def _answer(self, run: AskRun) -> None:
        try:
            run.material = await to_thread.run_sync(_document_stamps, run.kb, run.question)
            async for event in answer_in_mode(run.kb, run.question):
                run.add(event)
            run.end("done")
        except asyncio.CancelledError:
            run.end("cancelled")
        except WellreadError as error:
            run.end("failed", problem_of(error))
        except Exception:
            logger.exception("answering failed")
            run.end("failed", INTERNAL)

    def _forget(self) -> None:
        ended = [run_id for run_id, run in self._runs.items() if run.state != "running"]
        for run_id in ended[: max(0, len(self._runs) - MAX_KEPT_RUNS)]:
            del self._runs[run_id]


def _document_stamps(kb: KnowledgeBase, question: Question) -> dict[str, str]:
    """Stamps that change whenever the question's documents change."""
    return kb.catalogue.vocabulary.stamps(question.filters.collections)


TOO_MANY = problem_of_status(
    429,
    f"{MAX_RUNNING} questions are already being answered.",
    "Wait until one has finished, or cancel one.",
)


MAX_QUEUED_RUNS = 50
Action = Literal["add", "sync"]


@dataclass(slots=True, kw_only=True)
class QueuedRun:
    """A queued ingest run.

    Attributes:
        state: ``done`` means that it became a job, which has its own state.
    """

    action: Action
    collection: str
    inputs: tuple[str, ...]
    at: datetime
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    problem: Problem | None = None


class IngestRuns:
    """The ingest queue of one server. Parsing is done in worker processes, as in every run."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ingest")
        self._queue: deque[QueuedRun] = deque(maxlen=MAX_QUEUED_RUNS)
        self._lock = threading.Lock()

    def start(self, action: Action, inputs: Sequence[str], collection: str) -> QueuedRun:
        """Add a run to the end of the queue."""
        queued = QueuedRun(
            action=action, collection=collection, inputs=tuple(inputs), at=datetime.now(UTC)
        )
        with self._lock:
            self._queue.appendleft(queued)
        self._thread.submit(self._run, queued)
        return queued

    def take_up(self) -> None:
        """Finish an earlier process's work: synchronize the index, then retry open questions."""
        self._thread.submit(sync_index, self._kb)
        self._thread.submit(after_ingest, self._kb)

    def unfinished(self, kb: KnowledgeBase | None = None) -> list[QueuedRun]:
        """The runs that wait, run, or failed before they became a job; newest first.

        Args:
            kb: restricts the list to what its user may read; None: no restriction.
        """
        reads = EVERYTHING if kb is None else kb.asker.reads
        with self._lock:
            queued = [run for run in self._queue if run.state != "done"]
        if isinstance(reads, Everything):
            return queued
        return [run for run in queued if run.collection in reads]

    def busy(self, kb: KnowledgeBase | None = None) -> bool:
        """Whether any run is waiting or running; ``kb`` as for ``unfinished``."""
        return any(run.state in ("waiting", "running") for run in self.unfinished(kb))

    def close(self) -> None:
        """Ask the running job to stop, drop waiting runs, and wait for the job's end."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self.busy():
            running = (job for job in self._kb.catalogue.jobs.newest(MAX_QUEUED_RUNS, "running"))
            for job in running:
                if (job.host, job.pid) == (platform.node(), os.getpid()):
                    self._kb.catalogue.jobs.cancel(job.id)
        self._thread.shutdown(wait=True)

    def _run(self, queued: QueuedRun) -> None:
        inputs: list[Input] = list(queued.inputs)
        work = asking_again.sync if queued.action == "sync" else asking_again.add
        queued.state = "running"
        try:
            work(self._kb, inputs, collection=queued.collection)
            queued.state = "done"
        except WellreadError as error:
            queued.problem, queued.state = problem_of(error), "failed"
        except Exception:
            logger.exception("adding failed")
            queued.problem, queued.state = INTERNAL, "failed"


def _ingest(request: Request) -> IngestRuns:
    return cast(IngestRuns, request.app.state.ingest)


Ingest = Annotated[IngestRuns, Depends(_ingest)]
