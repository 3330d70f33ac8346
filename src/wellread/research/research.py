"""Runs deep research, from a question to a stored report. Start reading here.

First search → plan → search in rounds → choose → write → verify → deliver; then the report is
stored. ``research`` yields events; the last one (``ReportEvent``) holds the report. A run that was
killed can be repeated without asking a model twice (``run_state.py``).
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from anyio import to_thread

from wellread.ask.deliver.reply import limits_of_gap
from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError, StoreError, UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import asked_by, check_rights, drawn_from
from wellread.research.model_rounds import investigate
from wellread.research.planning import analyse_turn, plan_of, turn_of
from wellread.research.report_making import Material, deliver
from wellread.research.rounds import search_facets, search_titles
from wellread.research.run_state import RunState, lock_run, this_process
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.store.catalogue.gap_records import Filing
from wellread.values.answers import Question
from wellread.values.reports import (
    Limits,
    PlanEvent,
    ProgressEvent,
    Report,
    ReportEvent,
    ResearchEvent,
    ResearchPlan,
    ResearchRequest,
)

in_thread = to_thread.run_sync


def default_limits(kb: KnowledgeBase) -> Limits:
    """Return the limits from the settings."""
    settings_ = kb.settings.research
    return Limits(
        rounds=settings_.rounds,
        seconds=settings_.seconds,
        searches=settings_.searches,
        dollars=settings_.dollars,
    )


async def plan_research(kb: KnowledgeBase, request: ResearchRequest) -> ResearchPlan:
    """Return the plan of a run with its estimate, from a first search. Stores nothing."""
    request = await _check_request(kb, request)
    turn = await turn_of(kb, request.question)
    analysis = await in_thread(analyse_turn, kb, turn)
    return (await in_thread(plan_of, kb, analysis, request.limits)).plan


async def begin(
    kb: KnowledgeBase, request: ResearchRequest, plan: ResearchPlan | None = None
) -> str:
    """Store a new run that ``research`` can work on, and return its id.

    Its facets are those of ``plan``, if one is given.
    """
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
        run_id: a run stored by ``begin``, possibly interrupted: its models are not asked again,
            and its stored request replaces ``request``.
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
    """Return the report at the end of ``events``."""
    async for event in events:
        if isinstance(event, ReportEvent):
            return event.report
    raise WellreadError("the research ended without a report", hint="please report this as a bug")


async def _recorded_events(kb: KnowledgeBase, run: ResearchRun) -> AsyncGenerator[ResearchEvent]:
    """Run the stages and store each event with its number before yielding it."""
    records = kb.catalogue.research
    journal = await in_thread(records.steps, run.id)
    state = RunState(kb=kb, id=run.id, limits=run.request.limits, journal=journal)
    number = 0
    try:
        async with aclosing(_stages(state, run)) as events:
            async for event in events:
                await in_thread(check_rights, kb)
                number += 1
                if isinstance(event, ReportEvent):
                    await in_thread(_store_report, kb, run.id, event.report, run.request.question)
                elif isinstance(event, ProgressEvent):
                    await in_thread(records.store_event, run.id, number, event)
                yield event
    except StoreError as error:
        if await in_thread(records.get, run.id, run.owner) is None:
            raise RequestError(
                "a source that this research run had read was removed, and the run with it",
                hint="start the research again; it will search the current material",
            ) from None
        await in_thread(records.fail, run.id, str(error))
        raise
    except WellreadError as error:
        await in_thread(records.fail, run.id, str(error))
        raise


async def _stages(state: RunState, run: ResearchRun) -> AsyncGenerator[ResearchEvent]:
    kb, question = state.kb, run.request.question
    turn = await turn_of(kb, question)
    analysis = await in_thread(analyse_turn, kb, turn)
    facets = run.plan.facets if run.plan else ()
    planned = await in_thread(plan_of, kb, analysis, state.limits, facets)
    await in_thread(kb.catalogue.research.planned, state.id, planned.plan)
    yield PlanEvent(plan=planned.plan)
    state.facets = list(planned.plan.facets)
    state.filters = planned.filters
    async for event in search_facets(state, planned.plan.facets):
        yield event
    if state.stopped is None and not planned.whole and "model" in kb.models.names():
        async for event in investigate(state, planned.plan.question):
            state.rounds = max(state.rounds, event.round)
            yield event
    if state.stopped is None and not planned.whole:
        async for event in search_titles(state, analysis):
            yield event
    material = Material(turn=turn, analysis=analysis, planned=planned)
    async for last_event in deliver(state, material):
        yield last_event


def _open_run(kb: KnowledgeBase, run_id: str, owner: str) -> ResearchRun:
    run = kb.catalogue.research.get(run_id, owner)
    if run is None:
        raise UnknownNameError(
            f"there is no research {run_id!r}", hint="start a new one; old runs are deleted"
        )
    if run.state == "done":
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
