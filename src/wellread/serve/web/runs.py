"""Runs the background work of a server: questions asked on pages and research.

The events of a question are numbered and can be replayed. Before a replay they are checked again,
so that text of sources that were removed or are no longer readable is not shown from memory.

A run belongs to the server, not to the connection that started it: a reloaded page, a second tab
or a computer after sleep continues with the same events. Runs are kept in memory only; the finished
answer is in the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, cast

from anyio import to_thread

from wellread.asking import answer_in_mode
from wellread.errors import UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import reads_all_of, with_current_rights
from wellread.research.research import research
from wellread.research.run_state import is_running, state_of
from wellread.serve.error_shapes import INTERNAL, Problem, problem_of_status, problem_to_tell
from wellread.serve.guards.route_rules import kept_in_state
from wellread.store.catalogue.asking.research_records import ResearchRun
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
        except Exception as error:  # noqa: BLE001 - the page tells it
            run.end("failed", problem_to_tell(error, "answering failed"))

    def _forget(self) -> None:
        ended = [run_id for run_id, run in self._runs.items() if run.state != "running"]
        for run_id in ended[: max(0, len(self._runs) - MAX_KEPT_RUNS)]:
            del self._runs[run_id]


def _document_stamps(kb: KnowledgeBase, question: Question) -> dict[str, str]:
    """Stamps that change whenever the question's documents change."""
    return kb.catalogue.vocabulary.stamps(question.filters.collections)


MAX_RESEARCH = 2  # research runs at work at the same time; others wait
MAX_RESEARCH_WAITING = 20  # research runs at work or waiting
TAKE_UP_HOURS = 24  # an unfinished run is taken up again for that long


class ResearchRuns:
    """The research runs that this server works on. They are stored, so another one can go on.

    A run that is taken up searches again, which is cheap; paid replies of models are read back.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._tasks: dict[str, tuple[asyncio.Task[None], float]] = {}  # with the time it began
        self._places = asyncio.Semaphore(MAX_RESEARCH)
        self._taking_up: asyncio.Task[None] | None = None

    @property
    def full(self) -> bool:
        """Whether no further run may be started now."""
        return len(self._tasks) >= MAX_RESEARCH_WAITING

    def seconds(self, run_id: str) -> float | None:
        """The seconds since this server took the run up; None if it does not work on it."""
        return time.monotonic() - self._tasks[run_id][1] if run_id in self._tasks else None

    def start(self, kb: KnowledgeBase, run: ResearchRun) -> None:
        """Work on a stored run for the user of ``kb``, unless that has begun already."""
        if run.id not in self._tasks:
            task = asyncio.create_task(self._work(kb, run))
            self._tasks[run.id] = task, time.monotonic()
            task.add_done_callback(lambda _: self._tasks.pop(run.id, None))

    async def cancel(self, run: ResearchRun) -> None:
        """Stop a run, including its model call; one that another process works on is not."""
        if run.id in self._tasks:
            task, _ = self._tasks[run.id]
            task.cancel()
            await asyncio.wait([task])
        await to_thread.run_sync(self._record_cancelled, run)

    def take_up(self) -> None:
        """Go on with the runs that an earlier process of this machine left unfinished."""
        self._taking_up = asyncio.create_task(self._take_up())

    async def close(self) -> None:
        """Leave all runs to the next process."""
        if self._taking_up:  # its thread reads the catalogue, which is closed next
            await asyncio.wait([self._taking_up])
        tasks = [task for task, _ in self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _take_up(self) -> None:
        for kb, run in await to_thread.run_sync(self._unfinished):
            self.start(kb, run)

    def _unfinished(self) -> list[tuple[KnowledgeBase, ResearchRun]]:
        since = datetime.now(UTC) - timedelta(hours=TAKE_UP_HOURS)
        runs = self._kb.catalogue.research.newest(None, MAX_RESEARCH_WAITING)
        return [
            (with_current_rights(self._kb, run.owner), run)
            for run in reversed(runs)
            if run.state in ("planned", "running")
            and run.created_at > since
            and not is_running(self._kb, run.id, run.host or platform.node())
        ]

    def _record_cancelled(self, run: ResearchRun) -> None:
        records = self._kb.catalogue.research
        current = records.get(run.id, run.owner)
        if current is not None and state_of(self._kb, current) in ("planned", "interrupted"):
            records.fail(run.id, "", "cancelled")

    async def _work(self, kb: KnowledgeBase, run: ResearchRun) -> None:
        async with self._places:
            events = cast(AsyncGenerator[object], research(kb, run.request, run_id=run.id))
            try:
                async with aclosing(events):
                    async for _ in events:
                        continue
            except WellreadError as error:  # the run has recorded it
                logger.info("research %s ended: %s", run.id, error)
            except Exception:
                logger.exception("research failed")
                fail = self._kb.catalogue.research.fail
                await to_thread.run_sync(fail, run.id, INTERNAL.detail)


TOO_MANY_RESEARCH = problem_of_status(
    429,
    f"{MAX_RESEARCH_WAITING} research runs are at work or waiting.",
    "Wait until one has finished, or cancel one.",
)
TOO_MANY = problem_of_status(
    429,
    f"{MAX_RUNNING} questions are already being answered.",
    "Wait until one has finished, or cancel one.",
)
Research = Annotated[ResearchRuns, kept_in_state("research")]
