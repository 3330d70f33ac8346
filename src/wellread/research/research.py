"""The one way from a question to a report. Read this first.

look → plan → search in rounds → choose → write → verify → deliver, and the report is recorded.
``research`` yields events; the last one (``ReportEvent``) holds the report. A run is durable: each
step is journaled (``run_state.py``), so one that was killed goes on where it was.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from anyio import to_thread

from wellread.ask.deliver.reply import limits_of_gap
from wellread.ask.retrieve.search import check_collections
from wellread.codec import from_plain, to_plain
from wellread.errors import RequestError, UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import asked_by, check_rights, drawn_from
from wellread.research.model_rounds import investigate
from wellread.research.planning import (
    Planned,
    plan_of,
    turn_from_plain,
    turn_of,
    turn_to_plain,
    understood,
)
from wellread.research.report_making import Material, deliver
from wellread.research.rounds import search_plan, search_titles
from wellread.research.run_state import RunState, held, here
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.store.catalogue.gap_records import Filing
from wellread.values.answers import Question
from wellread.values.reports import (
    Limits,
    NumberedEvent,
    PlanEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchPlan,
    ResearchRequest,
)

in_thread = to_thread.run_sync


def usual_limits(kb: KnowledgeBase) -> Limits:
    """The limits of the settings."""
    given = kb.settings.research
    return Limits(
        rounds=given.rounds,
        seconds=given.seconds,
        searches=given.searches,
        dollars=given.dollars,
    )


async def plan_research(kb: KnowledgeBase, request: ResearchRequest) -> ResearchPlan:
    """Look first: what a run would look for, and what that takes. Writes nothing."""
    request = await _checked(kb, request)
    turn = await turn_of(kb, request.question)
    analysis = await in_thread(understood, kb, turn)
    return (await in_thread(plan_of, kb, analysis, request)).plan


async def begin(
    kb: KnowledgeBase, request: ResearchRequest, plan: ResearchPlan | None = None
) -> str:
    """Keep a run that ``research`` can take up; its id."""
    request = await _checked(kb, request)
    run_id = f"run_{secrets.token_urlsafe(12)}"
    read = await in_thread(drawn_from, kb, request.question.filters)
    await in_thread(kb.catalogue.research.begin, run_id, request, plan, read)
    return run_id


async def research(
    kb: KnowledgeBase, request: ResearchRequest, *, run_id: str = ""
) -> AsyncIterator[ResearchEvent]:
    """Research ``request`` in the material of ``kb``; the last event holds the report.

    Args:
        run_id: of a run that was begun (``begin``), perhaps by a process that died: what it did is
            not done again, and ``request`` is the one that it was begun with.
    """
    owner = asked_by(kb, request.question).owner
    run_id = run_id or await begin(kb, request)
    await in_thread(_open, kb, run_id, owner)
    with held(kb, run_id):
        run = await in_thread(_open, kb, run_id, owner)
        await in_thread(kb.catalogue.research.work, run_id, *here())
        async with aclosing(_told(kb, run)) as events:
            async for event in events:
                yield event


async def last_report(events: AsyncIterator[ResearchEvent]) -> Report:
    """The report at the end of ``events``."""
    async for event in events:
        if isinstance(event, ReportEvent):
            return event.report
    raise WellreadError("the research ended without a report", hint="report this as a defect")


async def _told(kb: KnowledgeBase, run: ResearchRun) -> AsyncGenerator[ResearchEvent]:
    """The stages of a run that this process works on, each event kept with its number."""
    records = kb.catalogue.research
    journal = await in_thread(records.steps, run.id)
    limits = run.request.limits
    state = RunState(kb=kb, id=run.id, limits=limits, journal=journal, before=run.seconds)
    number = 0
    try:
        async with aclosing(_stages(state, run.request)) as events:
            async for event in events:
                await in_thread(check_rights, kb)
                number += 1
                if isinstance(event, ReportEvent):
                    await in_thread(_record, kb, run.id, event.report, run.request.question)
                await in_thread(records.tell, run.id, NumberedEvent(number=number, event=event))
                yield event
    except WellreadError as error:
        await in_thread(records.fail, run.id, str(error))
        raise


async def _stages(state: RunState, request: ResearchRequest) -> AsyncGenerator[ResearchEvent]:
    """The stages of one run."""
    kb = state.kb

    async def read() -> Any:
        return turn_to_plain(await turn_of(kb, request.question))

    async def look() -> Any:
        return to_plain(await in_thread(plan_of, kb, analysis, request))

    turn = turn_from_plain(request.question, await state.once("question", read))
    analysis = await in_thread(understood, kb, turn)
    planned = from_plain(Planned, await state.once("plan", look))
    await in_thread(kb.catalogue.research.planned, state.id, planned.plan)
    yield PlanEvent(plan=planned.plan)
    state.facets = list(planned.plan.facets)
    state.filters = planned.filters
    async for event in search_plan(state):
        yield event
    if state.stopped is None and not planned.whole and "model" in kb.models.names():
        async for event in investigate(state, planned.plan.question):
            state.rounds = max(state.rounds, event.round)
            yield event
    if state.stopped is None and not planned.whole:
        async for event in search_titles(state, analysis):
            yield event
    material = Material(turn=turn, analysis=analysis, planned=planned)
    async for delivered in deliver(state, material):
        yield delivered


def _open(kb: KnowledgeBase, run_id: str, owner: str) -> ResearchRun:
    """The run, which has not ended."""
    run = kb.catalogue.research.get(run_id, owner)
    if run is None:
        raise UnknownNameError(
            f"there is no research {run_id!r}", hint="begin a new one; the oldest are forgotten"
        )
    if run.state in ("done", "cancelled"):
        raise RequestError(f"research {run_id} has ended", hint="its report is kept; read that")
    return run


async def _checked(kb: KnowledgeBase, request: ResearchRequest) -> ResearchRequest:
    """The request as the asker may make it."""
    if not kb.settings.qa.enabled:
        raise RequestError("asking is switched off", hint="set qa.enabled to true")
    await in_thread(check_collections, kb, request.question.filters)
    return replace(request, question=asked_by(kb, request.question))


def _record(kb: KnowledgeBase, run_id: str, report: Report, question: Question) -> None:
    lacks = Filing(
        kind="hedged" if report.answer.citations else "unanswered",
        scope=question.filters.collections,
        limits=limits_of_gap(question.filters),
        answer_id=report.answer.id,
        owner=question.owner,
    )
    kb.catalogue.finish_research(run_id, report, lacks, drawn_from(kb, question.filters))
