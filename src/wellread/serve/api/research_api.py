"""Routes under ``/api/research``: start, follow, cancel and remove research runs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, cast

from anyio import to_thread
from fastapi import Depends, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.errors import UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.research.research import begin, default_limits, plan_research
from wellread.serve.api.ask_api import QuestionText, TopicId, WhereOptions, filters_of, sse
from wellread.serve.error_shapes import INTERNAL, ProblemError, problem_of, problem_of_status
from wellread.serve.features.feature import (
    ASKING,
    FAILED,
    MAX_OFFSET,
    CamelModel,
    FeatureRouter,
    Limit,
    event_after,
    refusals,
)
from wellread.serve.features.researching import (
    RESUMABLE,
    TOO_MANY_RUNS,
    EndedBody,
    ResearchTasks,
    RunBody,
    RunsBody,
    cancel_run,
    ended_body,
    follow,
    research_event_body,
    run_body,
    run_facts,
    state_of,
)
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import json_of
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.values.answers import Question
from wellread.values.reports import Limits, ResearchRequest

logger = logging.getLogger(__name__)

MAX_SECONDS = 3_600.0
in_thread = to_thread.run_sync

CONFLICT = refusals(s409="The run has ended, or is running already")
BUSY = refusals(s403="Answering is switched off", s429="Too many runs are running", s5XX=FAILED)

router = FeatureRouter(
    responses=refusals(
        s400="Missing or empty question, or a bad field", s404="Unknown run, or unknown topic"
    )
)


def _tasks(request: Request) -> ResearchTasks:
    return cast(ResearchTasks, request.app.state.research)


Tasks = Annotated[ResearchTasks, Depends(_tasks)]


class LimitsRequest(CamelModel):
    """Limits of a run; missing ones are taken from the settings (``research.*``)."""

    rounds: int | None = Field(default=None, ge=1, le=10)
    seconds: float | None = Field(default=None, gt=0, le=MAX_SECONDS)
    searches: int | None = Field(default=None, ge=1, le=1_000)
    dollars: float | None = Field(default=None, ge=0)


class ResearchAsked(CamelModel):
    """A question to research."""

    question: QuestionText
    topic_id: TopicId = None
    options: WhereOptions = WhereOptions()
    session_id: str | None = None
    limits: LimitsRequest = LimitsRequest()
    plan_only: bool = Field(default=False, description="make the plan and wait for start")


@router.post(
    "/api/research",
    status_code=202,
    dependencies=ASKING,
    responses={
        **BUSY,
        201: {"description": "planned; it waits for start"},
    },
)
async def create(kb: Kb, tasks: Tasks, asked: ResearchAsked) -> RunBody | Response:
    """Plan and start a run; with ``planOnly`` it waits for ``start``."""
    if tasks.full and not asked.plan_only:
        raise ProblemError(TOO_MANY_RUNS)
    question = Question(
        text=asked.question,
        filters=filters_of(asked.topic_id, asked.options),
        mode="deep",
        session_id=asked.session_id or "",
    )
    request = ResearchRequest(question=question, limits=_limits(kb, asked.limits))
    plan = await plan_research(kb, request)
    run_id = await begin(kb, request, plan)
    if asked.plan_only:
        return JSONResponse(json_of(await in_thread(_body, kb, run_id)), status_code=201)
    await tasks.start(kb, run_id, request)
    return await in_thread(_body, kb, run_id)


@router.get("/api/research")
def runs(kb: Kb, limit: Limit = 50) -> RunsBody:
    """The newest runs, newest first."""
    newest = kb.catalogue.research.newest(kb.asker.owner, limit)
    return RunsBody(runs=tuple(run_facts(kb, run) for run in newest))


@router.get("/api/research/{run_id}")
def show(kb: Kb, run_id: str) -> RunBody:
    """A run with its state, its plan and, when finished, its report."""
    return _body(kb, run_id)


@router.post(
    "/api/research/{run_id}/start",
    status_code=202,
    dependencies=ASKING,
    responses={**CONFLICT, **BUSY},
)
async def start(kb: Kb, tasks: Tasks, run_id: str) -> RunBody:
    """Start a planned run, or resume one that failed or whose process has ended.

    A planned run follows the plan that was shown; no model is asked the same twice.
    """
    run = await in_thread(_run, kb, run_id)
    state = await in_thread(state_of, kb, run)
    if tasks.has_run(run_id) or state == "running":
        raise _conflict(run_id, "is already running", "follow its events")
    if state not in ("planned", *RESUMABLE):
        raise _conflict(run_id, "has ended", "read its report")
    if tasks.full:
        raise ProblemError(TOO_MANY_RUNS)
    await tasks.start(kb, run_id, run.request)
    return await in_thread(_body, kb, run_id)


@router.get(
    "/api/research/{run_id}/events",
    response_class=EventSourceResponse,
    responses={200: {"description": "server-sent events"}},
)
async def events(
    kb: Kb,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="only later events")] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Stream the numbered events plan, progress and report from the oldest on; then ended.

    Events are stored, so that every reader gets the same ones at any time. The header
    ``Last-Event-ID`` takes precedence over ``after``.
    """
    await in_thread(_run, kb, run_id)
    last = event_after(last_event_id)
    return EventSourceResponse(_stream(kb, run_id, after if last is None else last))


@router.post("/api/research/{run_id}/cancel", responses=CONFLICT)
async def cancel(kb: Kb, tasks: Tasks, run_id: str) -> RunBody:
    """Ask a run to stop; it answers from what it has found so far."""
    run = await in_thread(_run, kb, run_id)
    if run.state == "planned":
        await tasks.stop(run_id)  # it may be queued
    if await in_thread(cancel_run, kb, run) is None:
        raise _conflict(run_id, "has ended", "read its report")
    return await in_thread(_body, kb, run_id)


@router.delete("/api/research/{run_id}")
async def remove(kb: Kb, tasks: Tasks, run_id: str) -> EndedBody:
    """Remove a run, even a running one; the answer of its report stays among the answers."""
    await in_thread(_run, kb, run_id)
    await tasks.stop(run_id)
    await in_thread(kb.catalogue.research.remove, run_id)
    return EndedBody(id=run_id, state="removed", reason="")


def _limits(kb: KnowledgeBase, request: LimitsRequest) -> Limits:
    values = request.model_dump(by_alias=False, exclude_none=True)
    return replace(default_limits(kb), **values)


def _run(kb: KnowledgeBase, run_id: str) -> ResearchRun:
    run = kb.catalogue.research.get(run_id, kb.asker.owner)
    if run is None:
        raise UnknownNameError(f"there is no research {run_id!r}", hint="see GET /api/research")
    return run


def _body(kb: KnowledgeBase, run_id: str) -> RunBody:
    return run_body(kb, _run(kb, run_id))


def _conflict(run_id: str, problem: str, hint: str) -> ProblemError:
    return ProblemError(problem_of_status(409, f"research {run_id} {problem}", hint))


async def _stream(kb: KnowledgeBase, run_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    try:
        async for numbered in follow(kb, run_id, after):
            yield await in_thread(sse, *research_event_body(numbered.event), numbered.number)
        yield sse("ended", await in_thread(ended_body, kb, run_id))
    except WellreadError as error:
        yield sse("error", problem_of(error).body())
    except Exception:
        # The status has been sent already, so the error goes into the stream.
        logger.exception("streaming research events failed")
        yield sse("error", INTERNAL.body())
