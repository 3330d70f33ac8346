"""The JSON of deep research: plans, events, reports, runs."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.research.run_state import waits, worked_on
from wellread.serve.features.asking.answer_bodies import AskResponse, answer_body
from wellread.serve.features.bodies import Body, SpanBody
from wellread.store.catalogue.asking.research_records import KEPT, ResearchRun
from wellread.values.reports import (
    FacetKind,
    PlanEvent,
    ProgressEvent,
    Report,
    ResearchEvent,
    ResearchPlan,
    StopReason,
)

# ``planned``: it waits to be started, or for its turn. ``interrupted``: its process is gone, and it
# can be resumed.
State = Literal["planned", "running", "interrupted", "done", "failed", "cancelled"]
OPEN: tuple[State, ...] = ("planned", "running")  # more may happen by itself
RESUMABLE: tuple[State, ...] = ("interrupted", "failed")
LAST = "last"


class FacetBody(Body):
    """A part of the plan that is looked for by itself. ``round``: in which it came up."""

    id: str
    kind: FacetKind
    title: str
    query: str
    why: str
    round: int


class PlanBody(Body):
    """What is looked for, and what that takes at most; tokens and cost are of the model."""

    question: str
    facets: tuple[FacetBody, ...]
    searches: int
    seconds: float
    documents: int = Field(description="that a first look found")
    model: str = Field(description="who writes; empty: sentences are extracted")
    tokens: int
    cost: float
    priced: bool = Field(description="whether the price of the model is known")


class ProgressBody(Body):
    """Something was looked for, found or written. ``facet``: the id of a part, or empty."""

    round: int
    stage: str
    text: str
    facet: str
    found: int


class SectionBody(Body):
    """A part of the report: characters ``start`` to ``end`` of ``answer.answer``."""

    facet: str
    title: str
    start: int
    end: int
    found: bool = Field(description="whether a sentence of it is borne out")


class CellBody(Body):
    """What one document says on one part: places, from 0, in ``answer.sentences``."""

    facet: str
    document_id: str
    sentences: tuple[int, ...]


class DatedBody(Body):
    """A line of the timeline: the day and a place, from 0, in ``answer.sentences``."""

    day: str
    sentence: int


class ReadDocumentBody(Body):
    """A document that was read, how many passages of it, and whether the report cites it."""

    id: str
    title: str
    passages: int
    cited: bool


class ReportBody(Body):
    """The report. ``answer`` holds its text as Markdown, its sentences, verdicts and sources."""

    id: str
    answer: AskResponse
    plan: PlanBody
    summary: SpanBody
    sections: tuple[SectionBody, ...]
    matrix: tuple[CellBody, ...]
    timeline: tuple[DatedBody, ...]
    documents: tuple[ReadDocumentBody, ...]
    stopped: StopReason
    warning: str
    rounds: int
    searches: int
    seconds: float
    calls: int


class ResearchLimitsBody(Body):
    """What a run may take."""

    rounds: int
    seconds: float
    searches: int
    dollars: float | None


class RunFactsBody(Body):
    """A run in short. ``cancel``: it was asked to stop; ``reason``: why it failed."""

    id: str
    state: State
    question: str
    created_at: datetime
    finished_at: datetime | None
    seconds: float
    cancel: bool
    reason: str
    answer_id: str


class RunBody(RunFactsBody):
    """A run with its plan and, once there is one, its report."""

    limits: ResearchLimitsBody
    plan: PlanBody | None
    report: ReportBody | None


class RunsBody(Body):
    """Runs, newest first."""

    runs: tuple[RunFactsBody, ...]


class EndedBody(Body):
    """What became of a run whose events were followed; ``removed``: it is not there any more."""

    id: str
    state: State | Literal["removed"]
    reason: str


EventName = Literal["plan", "progress", "report"]


def plan_body(plan: ResearchPlan) -> PlanBody:
    """The plan with its estimate."""
    return PlanBody.of(plan)


def report_body(report: Report) -> ReportBody:
    """The whole report."""
    sections = [SectionBody.of(one, one.span) for one in report.sections]
    return ReportBody.of(report, answer=answer_body(report.answer), sections=sections)


def research_event_body(
    event: ResearchEvent,
) -> tuple[EventName, PlanBody | ProgressBody | ReportBody]:
    """The name and the data of an event."""
    match event:
        case PlanEvent(plan=plan):
            return "plan", plan_body(plan)
        case ProgressEvent():
            return "progress", ProgressBody.of(event)
    return "report", report_body(event.report)


def run_facts(kb: KnowledgeBase, run: ResearchRun) -> RunFactsBody:
    """A run in short, as it stands.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    return RunFactsBody.of(run, state=state_of(kb, run), question=run.request.question.text)


def run_body(kb: KnowledgeBase, run: ResearchRun) -> RunBody:
    """A run with its plan and its report.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    report = kb.catalogue.research.report(run.id)
    return RunBody.of(
        run,
        state=state_of(kb, run),
        question=run.request.question.text,
        limits=run.request.limits,
        plan=report.plan if report else run.plan,
        report=report_body(report) if report else None,
    )


def state_of(kb: KnowledgeBase, run: ResearchRun) -> State:
    """How a run stands; one that nobody works on any more is interrupted.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    if run.state not in OPEN or not run.pid or worked_on(kb, run.id, run.host):
        return run.state
    if waits(kb, run.id):
        return "planned"
    # It may have ended between the looks.
    now = kb.catalogue.research.get(run.id, run.owner)
    return "interrupted" if now is None or now.state in OPEN else now.state


def run_named(kb: KnowledgeBase, name: str) -> ResearchRun:
    """The run of this id, of the only one that begins so, or the ``last`` one.

    Raises:
        UnknownNameError: there is none, or more than one.
    """
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
