"""Runs the questions that are asked on pages, in the background of the server.

The events of a question are numbered and can be replayed. Before a replay they are checked again,
so that text of sources that were removed or are no longer readable is not shown from memory.

A run belongs to the server, not to the connection that started it: a reloaded page, a second tab
or a computer after sleep continues with the same events. Runs are kept in memory only; the finished
answer is in the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from anyio import to_thread

from wellread.asking import answer_in_mode
from wellread.errors import UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import reads_all_of
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
    _more: asyncio.Event = field(default_factory=asyncio.Event)

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
