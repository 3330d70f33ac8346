"""The tools ``ask`` and ``research``: the one way to an answer, with its progress told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from anyio import to_thread
from mcp.types import CallToolResult
from pydantic import Field

from wellread.ask.answer import answer
from wellread.ask.retrieve.search import check_collections
from wellread.errors import WellreadError
from wellread.research.research import research, usual_limits
from wellread.serve.features.bodies import Body
from wellread.serve.mcp.answer_results import AnswerResult, answer_result, part_of
from wellread.serve.mcp.arguments import AskArguments, Asking, ResearchArguments
from wellread.serve.mcp.result_markdown import answer_markdown
from wellread.serve.mcp.results import fitted, told
from wellread.serve.mcp.served import Call, closing
from wellread.values.answer_text import escaped
from wellread.values.answers import Answer, FinalEvent, Question, StepEvent
from wellread.values.reports import (
    Limits,
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchPlan,
    ResearchRequest,
    StopReason,
)

MOST_READ = 40  # documents that a result lists; it says how many there are


class SectionBody(Body):
    """A section of the report: a part of the question, looked for by itself.

    ``sentences`` are those that were delivered for it, ``documents`` those that they cite.
    """

    title: str
    why: str = Field(description="why it was looked for")
    found: bool
    sentences: int
    documents: int


class ReadBody(Body):
    """A document that was read, and whether the report cites it."""

    id: str
    title: str
    passages: int
    cited: bool


class ReportBody(Body):
    """How the research went. ``run`` names it to ``wellread research --show``."""

    run: str
    stopped: StopReason
    warning: str
    rounds: int
    searches: int
    seconds: float
    sections: tuple[SectionBody, ...]
    documents_read: int
    documents: tuple[ReadBody, ...] = Field(description="the best of those that were read")


class ResearchResult(AnswerResult):
    """A report, or the first part of it."""

    report: ReportBody


async def ask(call: Call, wanted: AskArguments) -> CallToolResult:
    """Answer a question."""
    question = await to_thread.run_sync(_question, call, wanted)
    async with closing(answer(call.kb, question)) as events:
        async for event in events:
            if isinstance(event, StepEvent):
                await call.tell(f"{event.step.name}: {event.step.found:,} found")
            elif isinstance(event, FinalEvent):
                return await to_thread.run_sync(_answered, call, event.answer)
    raise WellreadError("the answer ended without a result", hint="report this as a defect")


async def run_research(call: Call, wanted: ResearchArguments) -> CallToolResult:
    """Research a question."""
    question = await to_thread.run_sync(_question, call, wanted)
    request = ResearchRequest(question=question, limits=_limits(call, wanted))
    async with closing(research(call.kb, request)) as events:
        async for event in events:
            match event:
                case PlanEvent(plan=plan):
                    await call.tell(_planned(plan))
                case ProgressEvent():
                    await call.tell(event.text)
                case ReportEvent(report=report):
                    return await to_thread.run_sync(_reported, call, report)
    raise WellreadError("the research ended without a report", hint="report this as a defect")


def _question(call: Call, wanted: Asking) -> Question:
    filters = wanted.filters(call.served.within(wanted.collection))
    check_collections(call.kb, filters)
    mode = wanted.mode if isinstance(wanted, AskArguments) else "deep"
    return Question(
        text=wanted.question,
        filters=filters,
        mode=mode,
        session_id=wanted.session_id,
        strict=wanted.strict,
        owner=call.kb.asker.owner,
    )


def _limits(call: Call, wanted: ResearchArguments) -> Limits:
    """The limits of the settings, and those that were given in their place."""
    given = wanted.model_dump(
        include={"rounds", "seconds", "searches", "dollars"}, exclude_none=True
    )
    return replace(usual_limits(call.kb), **given)


def _planned(plan: ResearchPlan) -> str:
    parts = "part" if len(plan.facets) == 1 else "parts"
    titles = "; ".join(facet.title for facet in plan.facets)
    return f"plan: {len(plan.facets)} {parts}, at most {plan.searches} searches: {titles}"


def _answered(call: Call, given: Answer) -> CallToolResult:
    def build(tokens: int) -> CallToolResult:
        part = part_of(given, tokens)
        facts = answer_result(call, part)
        return told(answer_markdown(part, facts), facts)

    return fitted(build)


# --- the report ------------------------------------------------------------------------------


def _reported(call: Call, report: Report) -> CallToolResult:
    body = _report_body(report)
    said = "\n\n".join(_report_lines(report, body))

    def build(tokens: int) -> CallToolResult:
        part = part_of(report.answer, tokens)
        facts = ResearchResult(**dict(answer_result(call, part)), report=body)
        return told(f"{answer_markdown(part, facts)}\n\n{said}", facts)

    return fitted(build)


def _report_body(report: Report) -> ReportBody:
    why = {facet.id: facet.why for facet in report.plan.facets}
    sections = []
    for one in report.sections:
        cells = [cell for cell in report.matrix if cell.facet == one.facet]
        told_of = {place for cell in cells for place in cell.sentences}
        counts = {"sentences": len(told_of), "documents": len(cells)}
        sections.append(SectionBody.of(one, why=why.get(one.facet, ""), **counts))
    return ReportBody.of(
        report,
        run=report.id,
        sections=sections,
        documents_read=len(report.documents),
        documents=report.documents[:MOST_READ],
    )


def _report_lines(report: Report, body: ReportBody) -> Iterator[str]:
    why = body.stopped.replace("_", " ")
    spent = f"rounds: {body.rounds}, searches: {body.searches}, {body.seconds:.1f} s"
    yield f"**Research** stopped: {why} ({spent})"
    if body.warning:
        yield f"**Warning** {escaped(body.warning)}"
    missing = [one.title for one in body.sections if not one.found]
    if missing:
        yield f"**Not found** {escaped('; '.join(missing))}"
    yield _read_lines(body.documents, len(report.documents))


def _read_lines(documents: Sequence[ReadBody], total: int) -> str:
    unused = [one for one in documents if not one.cited]
    if not unused:
        return ""
    lines = [f"- {escaped(one.title)} `{one.id}`" for one in unused]
    more = f" (of the best {len(documents)} of {total} read)" if total > len(documents) else ""
    return "\n".join([f"**Read but not used**{more}", *lines])
