"""Runs of research that a server works on, and the events of any run as they come.

A run belongs to the server, not to the connection that began it; what it did and told is in the
catalogue, so that its events can be read again, also while another process works on it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack

import anyio
from anyio import to_thread

from wellread.errors import RequestError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import check_rights, now
from wellread.research.research import research
from wellread.research.run_state import here, queued
from wellread.serve.error_shapes import INTERNAL, problem_of_status
from wellread.serve.features.researching.research_bodies import OPEN, EndedBody, State, state_of
from wellread.store.catalogue.asking.research_records import KEPT, ResearchRun
from wellread.values.reports import NumberedEvent, ReportEvent, ResearchRequest

logger = logging.getLogger(__name__)

MOST_RUNNING = 4
POLL_SECONDS = 0.2
in_thread = to_thread.run_sync


class ResearchTasks:
    """The runs that one server works on, a few at a time; the others wait for their turn."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(MOST_RUNNING)

    @property
    def full(self) -> bool:
        """Whether as many runs are being worked on as there may be."""
        return len(self._tasks) >= MOST_RUNNING

    def works_on(self, run_id: str) -> bool:
        """Whether the run is being worked on here, or waits for its turn."""
        return run_id in self._tasks

    async def start(self, kb: KnowledgeBase, run_id: str, request: ResearchRequest) -> None:
        """Work on a run that the asker of ``kb`` began, when it is its turn.

        The next server does if this one ends.

        Raises:
            RequestError: another process has it wait for its turn.
        """
        if run_id in self._tasks:
            return
        turn, noted = ExitStack(), asyncio.Event()
        # In this thread, which has to be the one that lets go again.
        turn.enter_context(queued(kb, run_id))

        def over(_: asyncio.Task[None]) -> None:
            del self._tasks[run_id]
            turn.close()
            noted.set()

        task = asyncio.create_task(self._work(kb, run_id, request, noted))
        self._tasks[run_id] = task
        task.add_done_callback(over)
        await noted.wait()

    async def take_up(self) -> list[str]:
        """Work on the runs that a process of this machine left behind; their ids."""
        taken = []
        for run in await in_thread(_left_behind, self._kb):
            try:
                theirs = await in_thread(now, self._kb, run.owner)
                await self.start(theirs, run.id, run.request)
            except RequestError as error:  # another server was quicker
                logger.info("research %s is not taken up: %s", run.id, error)
            else:
                taken.append(run.id)
        return taken

    async def stop(self, run_id: str) -> None:
        """Stop working on a run, which stays as it is."""
        task = self._tasks.get(run_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        """Stop working on all of them; the next server takes them up."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()  # all at once, so that none begins where another made room
        if tasks:
            await asyncio.wait(tasks)

    async def _work(
        self, kb: KnowledgeBase, run_id: str, request: ResearchRequest, noted: asyncio.Event
    ) -> None:
        try:
            await in_thread(kb.catalogue.research.queue, run_id, *here())
            noted.set()
            async with self._room:
                async for _ in research(kb, request, run_id=run_id):
                    pass
        except WellreadError as error:
            logger.info("research %s has failed: %s", run_id, error)
        except Exception:
            logger.exception("research failed")
            await in_thread(kb.catalogue.research.fail, run_id, INTERNAL.detail)


async def follow(kb: KnowledgeBase, run_id: str, after: int = 0) -> AsyncIterator[NumberedEvent]:
    """The events of a run with a higher number than ``after``, as they come, until it has ended.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    while True:
        await in_thread(check_rights, kb)
        # The state first: nothing that was told before it changed is missed.
        state = (await in_thread(ended_body, kb, run_id)).state
        for told in await in_thread(kb.catalogue.research.events, run_id, after):
            after = told.number
            yield told
        if state not in OPEN:
            break
        await anyio.sleep(POLL_SECONDS)
    untold = await in_thread(_untold_report, kb, run_id)
    if untold is not None and untold.number > after:
        yield untold


def ended_body(kb: KnowledgeBase, run_id: str) -> EndedBody:
    """How a run stands, for who follows it.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    run = kb.catalogue.research.get(run_id, kb.asker.owner)
    if run is None:
        return EndedBody(id=run_id, state="removed", reason="a source that it read was removed")
    return EndedBody.of(run, state=state_of(kb, run))


def cancel_run(kb: KnowledgeBase, run: ResearchRun) -> State | None:
    """Ask a run to stop and answer from what it has; one that nobody works on ends at once.

    Returns:
        How it stands now; None: it had ended before.

    Raises:
        StoreError: the catalogue cannot be written.
    """
    state = state_of(kb, run)
    if state == "running" and kb.catalogue.research.cancel(run.id):
        return "running"
    if state in ("planned", "interrupted"):
        kb.catalogue.research.fail(run.id, "cancelled while nobody worked on it", "cancelled")
        return "cancelled"
    return None


def _left_behind(kb: KnowledgeBase) -> list[ResearchRun]:
    """The oldest first."""
    runs = kb.catalogue.research.newest(None, KEPT)
    return [run for run in reversed(runs) if state_of(kb, run) == "interrupted"]


def _untold_report(kb: KnowledgeBase, run_id: str) -> NumberedEvent | None:
    """The report of a run whose process ended after writing it and before telling of it."""
    report = kb.catalogue.research.report(run_id)
    told = kb.catalogue.research.events(run_id)
    if report is None or any(isinstance(one.event, ReportEvent) for one in told):
        return None
    return NumberedEvent(number=len(told) + 1, event=ReportEvent(report=report))


TOO_MANY = problem_of_status(
    429,
    f"{MOST_RUNNING} researches are being worked on already.",
    "Wait until one is done, or cancel one.",
)
