"""``/api/research``: runs of deep research that the server works on, and their events."""

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
from wellread.research.research import begin, plan_research, usual_limits
from wellread.serve.api.ask_api import Asked, TopicId, WhereOptions, filters_of, sent
from wellread.serve.error_shapes import INTERNAL, ProblemError, problem_of, problem_of_status
from wellread.serve.features.feature import (
    ASKING,
    FAILED,
    FAR,
    CamelModel,
    FeatureRouter,
    Many,
    event_after,
    refusals,
)
from wellread.serve.features.researching import (
    RESUMABLE,
    TOO_MANY,
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

MOST_SECONDS = 3_600.0
in_thread = to_thread.run_sync

CONFLICT = refusals(s409="The run has ended, or is at work already")
BUSY = refusals(s403="Answering is switched off", s429="Too many runs are at work", s5XX=FAILED)

router = FeatureRouter(
    responses=refusals(
        s400="Missing or empty question, or a bad field", s404="Unknown run, or unknown topic"
    )
)


def _tasks(request: Request) -> ResearchTasks:
    return cast(ResearchTasks, request.app.state.research)


Tasks = Annotated[ResearchTasks, Depends(_tasks)]


class LimitsRequest(CamelModel):
    """What a run may take; what is not given is as in the settings (``research.*``)."""

    rounds: int | None = Field(default=None, ge=1, le=10)
    seconds: float | None = Field(default=None, gt=0, le=MOST_SECONDS)
    searches: int | None = Field(default=None, ge=1, le=1_000)
    dollars: float | None = Field(default=None, ge=0)


class ResearchAsked(CamelModel):
    """A question to research."""

    question: Asked
    topic_id: TopicId = None
    options: WhereOptions = WhereOptions()
    session_id: str | None = None
    limits: LimitsRequest = LimitsRequest()
    plan_only: bool = Field(default=False, description="make the plan, and wait for start")


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
    """Plan a run and begin it; with ``planOnly`` it waits until it is started."""
    if tasks.full and not asked.plan_only:
        raise ProblemError(TOO_MANY)
    question = Question(
        text=asked.question,
        filters=filters_of(asked.topic_id, asked.options),
        mode="deep",
        session_id=asked.session_id or "",
    )
    request = ResearchRequest(question=question, limits=_limits(kb, asked.limits))
    plan = await plan_research(kb, request)
    request = replace(request, facets=plan.facets)
    run_id = await begin(kb, request, plan)
    if asked.plan_only:
        return JSONResponse(json_of(await in_thread(_body, kb, run_id)), status_code=201)
    await tasks.start(kb, run_id, request)
    return await in_thread(_body, kb, run_id)


@router.get("/api/research")
def runs(kb: Kb, limit: Many = 50) -> RunsBody:
    """The newest runs, newest first."""
    found = kb.catalogue.research.newest(kb.asker.owner, limit)
    return RunsBody(runs=tuple(run_facts(kb, one) for one in found))


@router.get("/api/research/{run_id}")
def show(kb: Kb, run_id: str) -> RunBody:
    """A run: how it stands, its plan, and its report once there is one."""
    return _body(kb, run_id)


@router.post(
    "/api/research/{run_id}/start",
    status_code=202,
    dependencies=ASKING,
    responses={**CONFLICT, **BUSY},
)
async def start(kb: Kb, tasks: Tasks, run_id: str) -> RunBody:
    """Begin a run that was planned, or go on with one whose process is gone or that failed.

    A planned one follows its plan as it was shown; what was done is not done again.
    """
    run = await in_thread(_run, kb, run_id)
    state = await in_thread(state_of, kb, run)
    if tasks.works_on(run_id) or state == "running":
        raise _conflict(run_id, "is at work already", "follow its events")
    if state not in ("planned", *RESUMABLE):
        raise _conflict(run_id, "has ended", "its report is kept; read that")
    if tasks.full:
        raise ProblemError(TOO_MANY)
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
    after: Annotated[int, Query(ge=0, le=FAR, description="only those with higher numbers")] = 0,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """The numbered events plan, progress and report, those that were told first; then ended.

    They are read from what is kept, so that every reader gets the same ones, at any time. The
    header ``Last-Event-ID`` goes before ``after``.
    """
    await in_thread(_run, kb, run_id)
    last = event_after(last_event_id)
    return EventSourceResponse(_stream(kb, run_id, after if last is None else last))


@router.post("/api/research/{run_id}/cancel", responses=CONFLICT)
async def cancel(kb: Kb, tasks: Tasks, run_id: str) -> RunBody:
    """Ask a run to stop; it answers from what it has found until then."""
    run = await in_thread(_run, kb, run_id)
    if run.state == "planned":
        await tasks.stop(run_id)  # it may wait for its turn
    if await in_thread(cancel_run, kb, run) is None:
        raise _conflict(run_id, "has ended", "its report is kept; read that")
    return await in_thread(_body, kb, run_id)


@router.delete("/api/research/{run_id}")
async def remove(kb: Kb, tasks: Tasks, run_id: str) -> EndedBody:
    """Forget a run, one at work too; the answer of its report stays with the others."""
    await in_thread(_run, kb, run_id)
    await tasks.stop(run_id)
    await in_thread(kb.catalogue.research.remove, run_id)
    return EndedBody(id=run_id, state="removed", reason="")


def _limits(kb: KnowledgeBase, asked: LimitsRequest) -> Limits:
    given = asked.model_dump(by_alias=False, exclude_none=True)
    return replace(usual_limits(kb), **given)


def _run(kb: KnowledgeBase, run_id: str) -> ResearchRun:
    found = kb.catalogue.research.get(run_id, kb.asker.owner)
    if found is None:
        raise UnknownNameError(f"there is no research {run_id!r}", hint="see GET /api/research")
    return found


def _body(kb: KnowledgeBase, run_id: str) -> RunBody:
    return run_body(kb, _run(kb, run_id))


def _conflict(run_id: str, what: str, hint: str) -> ProblemError:
    return ProblemError(problem_of_status(409, f"research {run_id} {what}", hint))


async def _stream(kb: KnowledgeBase, run_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    try:
        async for told in follow(kb, run_id, after):
            yield await in_thread(sent, *research_event_body(told.event), told.number)
        yield sent("ended", await in_thread(ended_body, kb, run_id))
    except WellreadError as error:  # the status has gone out already
        yield sent("error", problem_of(error).body())
    except Exception:
        # The status has gone out already, so the reader is told in the stream.
        logger.exception("a stream of events broke off")
        yield sent("error", INTERNAL.body())
