"""Questions that are being answered for pages: their events are numbered and can be replayed.

What is replayed is looked at again first: words of a source that was removed, or that whoever asked
may not read any more, do not come from memory.

A run belongs to the server, not to the connection that began it: a page that is reloaded, a second
tab and a computer that slept all read the same events again from where they were. Runs live in
memory only; the finished answer is in the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Literal, cast

from anyio import to_thread
from fastapi import Depends, Request

from wellread.ask.answer import answer
from wellread.errors import UnknownNameError, WellreadError
from wellread.identity import EVERYTHING, Everything
from wellread.ingest.pipeline.commit import bring_in_step
from wellread.ingest.sources.discover import Input
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import reads_all_of
from wellread.learning import asking_again
from wellread.learning.asking_again import after_ingest
from wellread.serve.error_shapes import INTERNAL, Problem, problem_of, problem_of_status
from wellread.values.answers import Answer, Event, FinalEvent, Question, StepEvent

logger = logging.getLogger(__name__)

State = Literal["running", "done", "failed", "cancelled"]
MOST_KEPT = 100
MOST_RUNNING = 8


@dataclass(slots=True, eq=False)
class AskRun:
    """One question on its way.

    Attributes:
        kb: as its asker has it.
        events: all events so far; the place in this list is an event's number.
        problem: why it failed.
        answer: the delivered answer, once there is one.
        material: of what the documents were when it began.
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
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, Event]]:
        """The events from number ``after`` on, as they come, until the run has ended."""
        while True:
            more = self._more
            while after < len(self.events):
                yield after, self.events[after]
                after += 1
            if self.state != "running":
                return
            await more.wait()

    def as_now(self, kb: KnowledgeBase, event: Event) -> Event | None:
        """What the asker of ``kb`` may be told of an event now; None: nothing.

        A step has no words of a source. The answer is told as it is kept by now; the draft and its
        sentences only while the documents are as they were.
        """
        if isinstance(event, StepEvent):
            return event
        if self.answer is not None and self.answer.id:
            kept = kb.catalogue.sessions.answer(self.answer.id, kb.asker.owner)
            if kept is None:
                raise UnknownNameError("the answer is not there any more", hint="ask again")
            if isinstance(event, FinalEvent):
                return FinalEvent(answer=kept[1])
        return event if self.material == _material(self.kb, self.question) else None

    def add(self, event: Event) -> None:
        """Keep an event and wake up who follows."""
        self.events.append(event)
        if isinstance(event, FinalEvent):
            self.answer = event.answer
        self._wake()

    def end(self, state: State, problem: Problem | None = None) -> None:
        """The last that happens to a run."""
        self.state, self.problem = state, problem
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


class AskRuns:
    """The runs of one server, the newest kept for a while after they have ended."""

    def __init__(self) -> None:
        self._runs: dict[str, AskRun] = {}

    def start(self, kb: KnowledgeBase, question: Question) -> AskRun | None:
        """Begin to answer in the name of the asker of ``kb``; None when there are too many."""
        if sum(run.state == "running" for run in self._runs.values()) >= MOST_RUNNING:
            return None
        run = AskRun(id=secrets.token_urlsafe(12), question=question, kb=kb)
        self._runs[run.id] = run
        self._forget()
        run.task = asyncio.create_task(self._answer(run))
        return run

    def get(self, kb: KnowledgeBase, run_id: str) -> AskRun | None:
        """The run of that id of the asker of ``kb``; None when there is none on this server.

        There is none either for who may not read any more what it was begun with.
        """
        run = self._runs.get(run_id)
        if run is None or run.kb.asker.owner != kb.asker.owner:
            return None
        return run if reads_all_of(kb, run.kb) else None

    async def cancel(self, run: AskRun) -> None:
        """Stop the work, the call of a model included. What has ended stays as it is."""
        if run.task is not None and not run.task.done():
            run.task.cancel()
            await asyncio.wait([run.task])

    async def close(self) -> None:
        """Stop all that is running."""
        for run in list(self._runs.values()):
            await self.cancel(run)

    async def _answer(self, run: AskRun) -> None:
        try:
            run.material = await to_thread.run_sync(_material, run.kb, run.question)
            async for event in answer(run.kb, run.question):
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
        ended = [known for known, run in self._runs.items() if run.state != "running"]
        for known in ended[: max(0, len(self._runs) - MOST_KEPT)]:
            del self._runs[known]


def _material(kb: KnowledgeBase, question: Question) -> dict[str, str]:
    """Another one whenever documents change that the question is asked of."""
    return kb.catalogue.vocabulary.stamps(question.filters.collections)


TOO_MANY = problem_of_status(
    429,
    f"{MOST_RUNNING} questions are being answered already.",
    "Wait until one is done, or cancel one.",
)


MOST_ASKED_KEPT = 50
Action = Literal["add", "sync"]


@dataclass(slots=True, kw_only=True)
class Asked:
    """Something that was asked for.

    Attributes:
        state: ``done`` says that it became a job, whose own state tells how it went.
    """

    action: Action
    collection: str
    inputs: tuple[str, ...]
    at: datetime
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    problem: Problem | None = None


class IngestRuns:
    """The queue of one server. Parsing is done in worker processes, as with every run."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ingest")
        self._asked: deque[Asked] = deque(maxlen=MOST_ASKED_KEPT)
        self._lock = threading.Lock()

    def start(self, action: Action, inputs: Sequence[str], collection: str) -> Asked:
        """Put a run at the end of the queue."""
        asked = Asked(
            action=action, collection=collection, inputs=tuple(inputs), at=datetime.now(UTC)
        )
        with self._lock:
            self._asked.appendleft(asked)
        self._thread.submit(self._run, asked)
        return asked

    def take_up(self) -> None:
        """Ask the open questions again that an earlier process left, when the index is in step."""
        self._thread.submit(bring_in_step, self._kb)
        self._thread.submit(after_ingest, self._kb)

    def open_ones(self, kb: KnowledgeBase | None = None) -> list[Asked]:
        """What waits or runs, and what failed without becoming a job; newest first.

        Args:
            kb: as the asker has it who is told; None: all of it.
        """
        reads = EVERYTHING if kb is None else kb.asker.reads
        with self._lock:
            waiting = [one for one in self._asked if one.state != "done"]
        if isinstance(reads, Everything):
            return waiting
        return [one for one in waiting if one.collection in reads]

    def busy(self, kb: KnowledgeBase | None = None) -> bool:
        """Whether anything waits or runs; ``kb`` as for ``open_ones``."""
        return any(one.state in ("waiting", "running") for one in self.open_ones(kb))

    def close(self) -> None:
        """Ask the running job to stop, drop what waits, and wait for it."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self.busy():
            mine = (job for job in self._kb.catalogue.jobs.newest(MOST_ASKED_KEPT, "running"))
            for job in mine:
                if (job.host, job.pid) == (platform.node(), os.getpid()):
                    self._kb.catalogue.jobs.cancel(job.id)
        self._thread.shutdown(wait=True)

    def _run(self, asked: Asked) -> None:
        given: list[Input] = list(asked.inputs)
        work = asking_again.sync if asked.action == "sync" else asking_again.add
        asked.state = "running"
        try:
            work(self._kb, given, collection=asked.collection)
            asked.state = "done"
        except WellreadError as error:
            asked.problem, asked.state = problem_of(error), "failed"
        except Exception:
            logger.exception("adding failed")
            asked.problem, asked.state = INTERNAL, "failed"


def _ingest(request: Request) -> IngestRuns:
    return cast(IngestRuns, request.app.state.ingest)


Ingest = Annotated[IngestRuns, Depends(_ingest)]
