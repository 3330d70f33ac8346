"""Deep research runs of a server: state, plans, event streams, cancellation.

A run belongs to the server, not to the connection that started it. Its events are stored in the
catalogue, so that they can be read again, even while another process executes the run.
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
from wellread.kb.seen_by import check_rights, with_current_rights
from wellread.research.research import default_limits, research
from wellread.research.run_state import is_queued, is_running, queued, this_process
from wellread.serve.error_shapes import INTERNAL, problem_of_status
from wellread.serve.features.answering import AskResponse, answer_body
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.asking.research_records import MAX_RUNS, ResearchRun
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

# ``planned``: waits for its start, or in the queue. ``interrupted``: its process has ended, and it
# can be resumed.
State = Literal["planned", "running", "interrupted", "done", "failed", "cancelled"]
OPEN_STATES: tuple[State, ...] = ("planned", "running")  # the state may still change by itself
RESUMABLE: tuple[State, ...] = ("interrupted", "failed")
LAST = "last"
MAX_RUNNING = 4
POLL_SECONDS = 0.2
SHORT_ROUNDS, SHORT_SECONDS = 2, 20.0  # limits of research for a single question
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
    """A summary of a run. ``cancel``: it was asked to stop; ``reason``: why it failed."""

    run: ResearchRun
    state: State


class RunBody(Shape, line="*facts limits=facts.run.request.limits plan report"):
    """A run with its plan and, when finished, its report."""

    facts: RunFactsBody
    plan: ResearchPlan | None
    report: Report | None


class RunsBody(Shape):
    """Runs, newest first."""

    runs: tuple[RunFactsBody, ...]


class EndedBody(Shape):
    """The final state of a followed run; ``removed``: it no longer exists."""

    id: str
    state: State | Literal["removed"]
    reason: str


EventName = Literal["plan", "progress", "report"]


def research_event_body(event: ResearchEvent) -> tuple[EventName, object]:
    """Return the name and the data of an event."""
    match event:
        case PlanEvent(plan=plan):
            return "plan", plan
        case ProgressEvent():
            return "progress", event
    return "report", event.report


def run_facts(kb: KnowledgeBase, run: ResearchRun) -> RunFactsBody:
    """Return the summary of a run with its current state."""
    return RunFactsBody(run=run, state=state_of(kb, run))


def run_body(kb: KnowledgeBase, run: ResearchRun) -> RunBody:
    """Return a run with its plan and report."""
    report = kb.catalogue.research.report(run.id)
    plan = report.plan if report else run.plan
    return RunBody(facts=run_facts(kb, run), plan=plan, report=report)


def state_of(kb: KnowledgeBase, run: ResearchRun) -> State:
    """Return the state of a run; ``interrupted`` when its process has ended."""
    if run.state not in OPEN_STATES or not run.pid or is_running(kb, run.id, run.host):
        return run.state
    if is_queued(kb, run.id):
        return "planned"
    # It may have ended in the meantime.
    current = kb.catalogue.research.get(run.id, run.owner)
    return "interrupted" if current is None or current.state in OPEN_STATES else current.state


def run_named(kb: KnowledgeBase, name: str) -> ResearchRun:
    """Return the run with this id or unique prefix of an id, or the ``last`` one."""
    exact = kb.catalogue.research.get(name, kb.asker.owner)
    if exact is not None:
        return exact
    runs = kb.catalogue.research.newest(kb.asker.owner, MAX_RUNS)
    if name == LAST:
        matches = runs[:1]
    else:
        matches = [
            run
            for run in runs
            if name and run.id.removeprefix("run_").startswith(name.removeprefix("run_"))
        ]
    if len(matches) != 1:
        raise UnknownNameError(
            f"there is no research {name!r}" if not matches else f"{name!r} is ambiguous",
            hint="see 'wellread research --list'",
        )
    return matches[0]


# --- plans -----------------------------------------------------------------------------------


def short_limits(kb: KnowledgeBase) -> Limits:
    """The limits of a short research, or those of the settings where they are lower."""
    usual = default_limits(kb)
    return replace(
        usual,
        rounds=min(usual.rounds, SHORT_ROUNDS),
        seconds=min(usual.seconds, SHORT_SECONDS),
    )


def needs_confirmation(kb: KnowledgeBase, plan: ResearchPlan) -> bool:
    """Whether a plan needs confirmation: its estimate is too high or its price unknown."""
    settings = kb.settings.research
    is_expensive = plan.cost > settings.auto_dollars or not plan.priced
    return plan.seconds > settings.auto_seconds or (bool(plan.model) and is_expensive)


# --- execution of runs -----------------------------------------------------------------------


class ResearchTasks:
    """Executes the runs of one server, a few at a time; the others are queued."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(MAX_RUNNING)

    @property
    def full(self) -> bool:
        """Whether no further run may be started."""
        return len(self._tasks) >= MAX_RUNNING

    def has_run(self, run_id: str) -> bool:
        """Whether this server executes the run or has it in its queue."""
        return run_id in self._tasks

    async def start(self, kb: KnowledgeBase, run_id: str, request: ResearchRequest) -> None:
        """Queue a run of the asker of ``kb`` for execution.

        If this server ends, the next one resumes it.
        """
        if run_id in self._tasks:
            return
        queue_entry, is_queued = ExitStack(), asyncio.Event()
        # Entered in this thread, because the same thread must release it.
        queue_entry.enter_context(queued(kb, run_id))

        def over(_: asyncio.Task[None]) -> None:
            del self._tasks[run_id]
            queue_entry.close()
            is_queued.set()

        task = asyncio.create_task(self._work(kb, run_id, request, is_queued))
        self._tasks[run_id] = task
        task.add_done_callback(over)
        await is_queued.wait()

    async def take_up(self) -> list[str]:
        """Resume the interrupted runs of earlier processes and return their ids."""
        resumed = []
        for run in await in_thread(_interrupted_runs, self._kb):
            try:
                owner_kb = await in_thread(with_current_rights, self._kb, run.owner)
                await self.start(owner_kb, run.id, run.request)
            except RequestError as error:  # another server has resumed it
                logger.info("research %s is not resumed: %s", run.id, error)
            else:
                resumed.append(run.id)
        return resumed

    async def stop(self, run_id: str) -> None:
        """Stop executing a run without changing its stored state."""
        task = self._tasks.get(run_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        """Stop executing all runs; the next server resumes them."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()  # all before waiting, so that no queued run starts
        if tasks:
            await asyncio.wait(tasks)

    async def _work(
        self, kb: KnowledgeBase, run_id: str, request: ResearchRequest, is_queued: asyncio.Event
    ) -> None:
        try:
            await in_thread(kb.catalogue.research.queue, run_id, *this_process())
            is_queued.set()
            async with self._room:
                async for _ in research(kb, request, run_id=run_id):
                    pass
        except WellreadError as error:
            logger.info("research %s failed: %s", run_id, error)
        except Exception:
            logger.exception("research failed")
            await in_thread(kb.catalogue.research.fail, run_id, INTERNAL.detail)


async def follow(kb: KnowledgeBase, run_id: str, after: int = 0) -> AsyncIterator[NumberedEvent]:
    """Yield the events of a run with numbers above ``after`` until it has ended."""
    while True:
        await in_thread(check_rights, kb)
        # The state is read first, so that no event before the final state is missed.
        state = (await in_thread(ended_body, kb, run_id)).state
        for event in await in_thread(kb.catalogue.research.events, run_id, after):
            after = event.number
            yield event
        if state not in OPEN_STATES:
            break
        await anyio.sleep(POLL_SECONDS)
    report_event = await in_thread(_missing_report_event, kb, run_id)
    if report_event is not None and report_event.number > after:
        yield report_event


def ended_body(kb: KnowledgeBase, run_id: str) -> EndedBody:
    """Return the final event for followers of a run."""
    run = kb.catalogue.research.get(run_id, kb.asker.owner)
    if run is None:
        return EndedBody(id=run_id, state="removed", reason="a source that it had read was removed")
    return EndedBody(id=run.id, state=state_of(kb, run), reason=run.reason)


def cancel_run(kb: KnowledgeBase, run: ResearchRun) -> State | None:
    """Ask a run to stop and answer from what it has; a run without a process ends at once.

    Returns:
        The new state; None when the run had already ended.
    """
    state = state_of(kb, run)
    if state == "running" and kb.catalogue.research.cancel(run.id):
        return "running"
    if state in ("planned", "interrupted"):
        kb.catalogue.research.fail(run.id, "cancelled while it was not running", "cancelled")
        return "cancelled"
    return None


def _interrupted_runs(kb: KnowledgeBase) -> list[ResearchRun]:
    """Return the interrupted runs, oldest first."""
    runs = kb.catalogue.research.newest(None, MAX_RUNS)
    return [run for run in reversed(runs) if state_of(kb, run) == "interrupted"]


def _missing_report_event(kb: KnowledgeBase, run_id: str) -> NumberedEvent | None:
    """The report event of a run whose process ended before storing that event."""
    report = kb.catalogue.research.report(run_id)
    events = kb.catalogue.research.events(run_id)
    if report is None or any(isinstance(one.event, ReportEvent) for one in events):
        return None
    return NumberedEvent(number=len(events) + 1, event=ReportEvent(report=report))


TOO_MANY_RUNS = problem_of_status(
    429,
    f"{MAX_RUNNING} research runs are already running.",
    "Wait until one has finished, or cancel one.",
)

# --- texts for people ------------------------------------------------------------------------

_STOP_REASONS: dict[StopReason, str] = {
    "complete": "nothing was left to search for",
    "no_new_evidence": "the last round found nothing new",
    "round_limit": "the limit of rounds was reached",
    "time_limit": "the time was used up",
    "budget": "the budget was used up",
    "cancelled": "it was cancelled",
}


def describe_plan(plan: ResearchPlan) -> str:
    """Describe the searches, seconds and cost that a plan takes at most."""
    text = f"At most {plan.searches} searches, about {plan.seconds:.0f} s"
    if plan.model:
        money = dollars(plan.cost) if plan.priced else "an unknown price"
        text += f"; {plan.model}: up to {plan.tokens:,} tokens, {money}"
    documents = f"a first look found {plan.documents} documents"
    return f"{text}; {documents}" if plan.documents else text


def describe_result(report: Report) -> str:
    """Describe the work of a run, why it ended, and its id."""
    cited = sum(one.cited for one in report.documents)
    took = f"{report.searches} searches in {_number_of(report.rounds, 'round')}"
    read = f"{_number_of(len(report.documents), 'document')} read, {cited} cited"
    calls = f", {_number_of(report.calls, 'model call')}" if report.calls else ""
    return f"{took}, {read}{calls}; ended because {_STOP_REASONS[report.stopped]} ({report.id})"


def _number_of(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
