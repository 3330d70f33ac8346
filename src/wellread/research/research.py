"""Runs deep research, from a question to a stored report. Read this module first.

First search → plan → search in rounds → choose → write → verify → deliver; then the report is
stored. ``research`` yields events; the last one (``ReportEvent``) holds the report. Each step is
journaled (``run_state.py``), so a run that was killed can be resumed.
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
    analyse_turn,
    plan_of,
    turn_from_plain,
    turn_of,
    turn_to_plain,
)
from wellread.research.report_making import Material, deliver
from wellread.research.rounds import search_plan, search_titles
from wellread.research.run_state import RunState, lock_run, this_process
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


def default_limits(kb: KnowledgeBase) -> Limits:
    """The limits from the settings."""
    settings_ = kb.settings.research
    return Limits(
        rounds=settings_.rounds,
        seconds=settings_.seconds,
        searches=settings_.searches,
        dollars=settings_.dollars,
    )


async def plan_research(kb: KnowledgeBase, request: ResearchRequest) -> ResearchPlan:
    """The plan of a run with its estimate, from a first search. Stores nothing."""
    request = await _check_request(kb, request)
    turn = await turn_of(kb, request.question)
    analysis = await in_thread(analyse_turn, kb, turn)
    return (await in_thread(plan_of, kb, analysis, request)).plan


async def begin(
    kb: KnowledgeBase, request: ResearchRequest, plan: ResearchPlan | None = None
) -> str:
    """Store a new run that ``research`` can work on, and return its id."""
    request = await _check_request(kb, request)
    run_id = f"run_{secrets.token_urlsafe(12)}"
    collections = await in_thread(drawn_from, kb, request.question.filters)
    await in_thread(kb.catalogue.research.begin, run_id, request, plan, collections)
    return run_id


async def research(
    kb: KnowledgeBase, request: ResearchRequest, *, run_id: str = ""
) -> AsyncIterator[ResearchEvent]:
    """Research ``request`` in the material of ``kb``; the last event holds the report.

    Args:
        run_id: a run stored by ``begin``, possibly interrupted: its completed steps are not
            repeated, and its stored request replaces ``request``.
    """
    owner = asked_by(kb, request.question).owner
    run_id = run_id or await begin(kb, request)
    await in_thread(_open_run, kb, run_id, owner)
    with lock_run(kb, run_id):
        run = await in_thread(_open_run, kb, run_id, owner)
        await in_thread(kb.catalogue.research.work, run_id, *this_process())
        async with aclosing(_recorded_events(kb, run)) as events:
            async for event in events:
                yield event


async def last_report(events: AsyncIterator[ResearchEvent]) -> Report:
    """The report at the end of ``events``."""
    async for event in events:
        if isinstance(event, ReportEvent):
            return event.report
    raise WellreadError("the research ended without a report", hint="please report this as a bug")


async def _recorded_events(kb: KnowledgeBase, run: ResearchRun) -> AsyncGenerator[ResearchEvent]:
    """Run the stages and store each event with its number before yielding it."""
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
                    await in_thread(_store_report, kb, run.id, event.report, run.request.question)
                await in_thread(
                    records.store_event, run.id, NumberedEvent(number=number, event=event)
                )
                yield event
    except WellreadError as error:
        await in_thread(records.fail, run.id, str(error))
        raise


async def _stages(state: RunState, request: ResearchRequest) -> AsyncGenerator[ResearchEvent]:
    kb = state.kb

    async def read() -> Any:
        return turn_to_plain(await turn_of(kb, request.question))

    async def look() -> Any:
        return to_plain(await in_thread(plan_of, kb, analysis, request))

    turn = turn_from_plain(request.question, await state.once("question", read))
    analysis = await in_thread(analyse_turn, kb, turn)
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


def _open_run(kb: KnowledgeBase, run_id: str, owner: str) -> ResearchRun:
    """The run, after checking that it has not ended."""
    run = kb.catalogue.research.get(run_id, owner)
    if run is None:
        raise UnknownNameError(
            f"there is no research {run_id!r}", hint="start a new one; old runs are deleted"
        )
    if run.state in ("done", "cancelled"):
        raise RequestError(f"research {run_id} has ended", hint="read its stored report")
    return run


async def _check_request(kb: KnowledgeBase, request: ResearchRequest) -> ResearchRequest:
    if not kb.settings.qa.enabled:
        raise RequestError("answering questions is switched off", hint="set qa.enabled to true")
    await in_thread(check_collections, kb, request.question.filters)
    return replace(request, question=asked_by(kb, request.question))


def _store_report(kb: KnowledgeBase, run_id: str, report: Report, question: Question) -> None:
    gap = Filing(
        kind="hedged" if report.answer.citations else "unanswered",
        scope=question.filters.collections,
        limits=limits_of_gap(question.filters),
        answer_id=report.answer.id,
        owner=question.owner,
    )
    kb.catalogue.finish_research(run_id, report, gap, drawn_from(kb, question.filters))
