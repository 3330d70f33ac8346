"""Deep research: runs that a server works on, their plans and events.

A run belongs to the server, not to the connection that began it; what it did and told is in the
catalogue, so that its events can be read again, also while another process works on it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

import anyio
from anyio import to_thread

from wellread.errors import RequestError, UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import dollars
from wellread.kb.seen_by import check_rights, now
from wellread.research.research import research, usual_limits
from wellread.research.run_state import here, queued, waits, worked_on
from wellread.serve.error_shapes import INTERNAL, problem_of_status
from wellread.serve.features.answering import AskResponse, answer_body
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.asking.research_records import KEPT, ResearchRun
from wellread.values.reports import (
    Facet,
    Limits,
    NumberedEvent,
    PlanEvent,
    ProgressEvent,
    ReadDocument,
    Report,
    ReportEvent,
    ReportSection,
    ResearchEvent,
    ResearchPlan,
    ResearchRequest,
    StopReason,
)

logger = logging.getLogger(__name__)

# ``planned``: it waits to be started, or for its turn. ``interrupted``: its process is gone, and it
# can be resumed.
State = Literal["planned", "running", "interrupted", "done", "failed", "cancelled"]
OPEN: tuple[State, ...] = ("planned", "running")  # more may happen by itself
RESUMABLE: tuple[State, ...] = ("interrupted", "failed")
LAST = "last"
MOST_RUNNING = 4
POLL_SECONDS = 0.2
SHORT_ROUNDS, SHORT_SECONDS = 2, 20.0  # of a research that answers a single question
in_thread = to_thread.run_sync

FACES.show(Facet, "* -filters -passages")
FACES.show_whole(Limits, ResearchPlan, ProgressEvent, ReadDocument)
FACES.show(ReportSection, "facet title start=span.start end=span.end found")
FACES.show(
    Report,
    "* answer",
    answer=(AskResponse, lambda report: answer_body(report.answer)),
)


class RunFactsBody(
    Shape,
    line="""id=run.id state question=run.request.question.text created_at=run.created_at
    finished_at=run.finished_at seconds=run.seconds cancel=run.cancel reason=run.reason
    answer_id=run.answer_id""",
):
    """A run in short. ``cancel``: it was asked to stop; ``reason``: why it failed."""

    run: ResearchRun
    state: State


class RunBody(Shape, line="*facts limits=facts.run.request.limits plan report"):
    """A run with its plan and, once there is one, its report."""

    facts: RunFactsBody
    plan: ResearchPlan | None
    report: Report | None


class RunsBody(Shape):
    """Runs, newest first."""

    runs: tuple[RunFactsBody, ...]


class EndedBody(Shape):
    """What became of a run whose events were followed; ``removed``: it is not there any more."""

    id: str
    state: State | Literal["removed"]
    reason: str


EventName = Literal["plan", "progress", "report"]


def research_event_body(event: ResearchEvent) -> tuple[EventName, object]:
    """The name and the data of an event."""
    match event:
        case PlanEvent(plan=plan):
            return "plan", plan
        case ProgressEvent():
            return "progress", event
    return "report", event.report


def run_facts(kb: KnowledgeBase, run: ResearchRun) -> RunFactsBody:
    """A run in short, as it stands."""
    return RunFactsBody(run=run, state=state_of(kb, run))


def run_body(kb: KnowledgeBase, run: ResearchRun) -> RunBody:
    """A run with its plan and its report."""
    report = kb.catalogue.research.report(run.id)
    plan = report.plan if report else run.plan
    return RunBody(facts=run_facts(kb, run), plan=plan, report=report)


def state_of(kb: KnowledgeBase, run: ResearchRun) -> State:
    """How a run stands; one that nobody works on any more is interrupted."""
    if run.state not in OPEN or not run.pid or worked_on(kb, run.id, run.host):
        return run.state
    if waits(kb, run.id):
        return "planned"
    # It may have ended between the looks.
    now = kb.catalogue.research.get(run.id, run.owner)
    return "interrupted" if now is None or now.state in OPEN else now.state


def run_named(kb: KnowledgeBase, name: str) -> ResearchRun:
    """The run of this id, of the only one that begins so, or the ``last`` one."""
    exact = kb.catalogue.research.get(name, kb.asker.owner)
    if exact is not None:
        return exact
    runs = kb.catalogue.research.newest(kb.asker.owner, KEPT)
    if name == LAST:
        found = runs[:1]
    else:
        found = [
            one
            for one in runs
            if name and one.id.removeprefix("run_").startswith(name.removeprefix("run_"))
        ]
    if len(found) != 1:
        raise UnknownNameError(
            f"there is no research {name!r}" if not found else f"{name!r} begins several runs",
            hint="see 'wellread research --list'",
        )
    return found[0]


# --- plans before they are followed ----------------------------------------------------------


def short_limits(kb: KnowledgeBase) -> Limits:
    """The limits of a short research: those of the settings where they are lower."""
    usual = usual_limits(kb)
    return replace(
        usual,
        rounds=min(usual.rounds, SHORT_ROUNDS),
        seconds=min(usual.seconds, SHORT_SECONDS),
    )


def needs_yes(kb: KnowledgeBase, plan: ResearchPlan) -> bool:
    """Whether the estimate is above what is followed without asking, or its price is not known."""
    own = kb.settings.research
    dear = plan.cost > own.auto_dollars or not plan.priced
    return plan.seconds > own.auto_seconds or (bool(plan.model) and dear)


# --- runs that a server works on -------------------------------------------------------------


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
    """The events of a run with a higher number than ``after``, as they come, until it has ended."""
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
    """How a run stands, for who follows it."""
    run = kb.catalogue.research.get(run_id, kb.asker.owner)
    if run is None:
        return EndedBody(id=run_id, state="removed", reason="a source that it read was removed")
    return EndedBody(id=run.id, state=state_of(kb, run), reason=run.reason)


def cancel_run(kb: KnowledgeBase, run: ResearchRun) -> State | None:
    """Ask a run to stop and answer from what it has; one that nobody works on ends at once.

    Returns:
        How it stands now; None: it had ended before.
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

# --- in words --------------------------------------------------------------------------------

_STOPS: dict[StopReason, str] = {
    "complete": "there was nothing more to look for",
    "no_new_evidence": "the last round found nothing new",
    "round_limit": "the last round allowed was over",
    "time_limit": "the time was used up",
    "budget": "the budget was used up",
    "cancelled": "it was cancelled",
}


def estimate(plan: ResearchPlan) -> str:
    """What a plan takes at most, in words."""
    said = f"At most {plan.searches} searches, about {plan.seconds:.0f} s"
    if plan.model:
        money = dollars(plan.cost) if plan.priced else "an unknown price"
        said += f"; {plan.model}: up to {plan.tokens:,} tokens, {money}"
    found = f"a first look found {plan.documents} documents"
    return f"{said}; {found}" if plan.documents else said


def end_line(report: Report) -> str:
    """What a run took, why it ended, and what it was called."""
    cited = sum(one.cited for one in report.documents)
    took = f"{report.searches} searches in {_counted(report.rounds, 'round')}"
    read = f"{_counted(len(report.documents), 'document')} read, {cited} cited"
    calls = f", {_counted(report.calls, 'call')} of the model" if report.calls else ""
    return f"{took}, {read}{calls}; ended since {_STOPS[report.stopped]} ({report.id})"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
