"""``/api/research``: runs of deep research that the server works on, and their events."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import ConfigDict, Field, StringConstraints
from sse_starlette import EventSourceResponse, ServerSentEvent

from wellread.errors import UnknownNameError, WellreadError
from wellread.kb import KnowledgeBase
from wellread.research.research import begin, plan_research, usual_limits
from wellread.serve.api.ask_api import AskRequest, TimeWindow, question_of
from wellread.serve.api.middleware import may_ask
from wellread.serve.api.queries import FAR, StrictModel, event_after
from wellread.serve.error_shapes import INTERNAL, ProblemError, problem_of, problem_of_status
from wellread.serve.features.bodies import Body, ErrorBody
from wellread.serve.features.researching.research_bodies import (
    OPEN,
    RESUMABLE,
    EndedBody,
    RunBody,
    RunsBody,
    research_event_body,
    run_body,
    run_facts,
    state_of,
)
from wellread.serve.features.researching.research_plans import GivenFacet, given_facets
from wellread.serve.features.researching.research_tasks import (
    TOO_MANY,
    ResearchTasks,
    cancel_run,
    ended_body,
    follow,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.types import Kind
from wellread.values.answers import Question
from wellread.values.reports import Limits, ResearchPlan, ResearchRequest

logger = logging.getLogger(__name__)

MOST_LISTED = 200
MOST_SECONDS = 3_600.0
in_thread = to_thread.run_sync

UNKNOWN: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "Missing or empty question, or a bad field"},
    404: {"model": ErrorBody, "description": "Unknown run, or unknown topic"},
}
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorBody, "description": "The run has ended, or is at work already"},
}
BUSY: dict[int | str, dict[str, Any]] = {
    403: {"model": ErrorBody, "description": "Answering is switched off"},
    429: {"model": ErrorBody, "description": "Too many runs are at work"},
    "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
}

router = APIRouter(responses=UNKNOWN)


def _tasks(request: Request) -> ResearchTasks:
    return cast(ResearchTasks, request.app.state.research)


Tasks = Annotated[ResearchTasks, Depends(_tasks)]


class _RequestBody(Body):
    # A misspelt option must not be taken for "no limit".
    model_config = ConfigDict(extra="forbid")


class ResearchOptions(_RequestBody):
    """What limits a question, beside its topic."""

    time_window: TimeWindow | None = None
    kinds: tuple[Kind, ...] = ()
    speakers: tuple[str, ...] = ()


class LimitsRequest(_RequestBody):
    """What a run may take; what is not given is as in the settings (``research.*``)."""

    rounds: int | None = Field(default=None, ge=1, le=10)
    seconds: float | None = Field(default=None, gt=0, le=MOST_SECONDS)
    searches: int | None = Field(default=None, ge=1, le=1_000)
    dollars: float | None = Field(default=None, ge=0)


class FacetRequest(Body):
    """A part of the plan: one that was shown, by its id, as it is or changed; or a new one.

    What else a shown part has may be sent back with it, and changes nothing.
    """

    id: str = Field(default="", description="of a part of the plan; empty: a new one")
    title: str = Field(default="", max_length=200)
    query: str = Field(default="", max_length=1_000, description="what is searched for")


Facets = Annotated[tuple[FacetRequest, ...] | None, Field(min_length=1)]


class ResearchAsked(_RequestBody):
    """A question to research. ``facets``: the parts of the plan; absent: those of a first look."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    topic_id: str | None = Field(default=None, min_length=1, description="name of a collection")
    options: ResearchOptions = ResearchOptions()
    session_id: str | None = None
    limits: LimitsRequest = LimitsRequest()
    plan_only: bool = Field(default=False, description="make the plan, and wait for start")
    facets: Facets = None


class StartRequest(_RequestBody):
    """The plan as it is to be followed; without ``facets`` as it was shown."""

    facets: Facets = None


class ListedQuery(StrictModel):
    """How many of the newest runs."""

    limit: int = Field(default=50, ge=1, le=MOST_LISTED)


class EventsQuery(StrictModel):
    """From where on; the header ``Last-Event-ID`` goes before."""

    after: int = Field(default=0, ge=0, le=FAR, description="only events with a higher number")


@router.post(
    "/api/research",
    response_model=RunBody,
    status_code=202,
    dependencies=[Depends(may_ask)],
    responses={201: {"model": RunBody, "description": "planned; it waits for start"}, **BUSY},
)
async def create(kb: Kb, tasks: Tasks, asked: ResearchAsked, response: Response) -> RunBody:
    """Plan a run and begin it; with ``planOnly`` it waits until it is started."""
    if tasks.full and not asked.plan_only:
        raise ProblemError(TOO_MANY)
    request = ResearchRequest(question=_question(asked), limits=_limits(kb, asked.limits))
    plan = await plan_research(kb, request)
    request, plan = await _as_wanted(kb, request, plan, asked.facets)
    run_id = await begin(kb, request, plan)
    if asked.plan_only:
        response.status_code = 201
    else:
        await tasks.start(kb, run_id, request)
    return await in_thread(_body, kb, run_id)


@router.get("/api/research", response_model=RunsBody)
def runs(kb: Kb, asked: Annotated[ListedQuery, Query()]) -> RunsBody:
    """The newest runs, newest first."""
    found = kb.catalogue.research.newest(kb.asker.owner, asked.limit)
    return RunsBody(runs=tuple(run_facts(kb, one) for one in found))


@router.get("/api/research/{run_id}", response_model=RunBody)
def show(kb: Kb, run_id: str) -> RunBody:
    """A run: how it stands, its plan, and its report once there is one."""
    return _body(kb, run_id)


@router.post(
    "/api/research/{run_id}/start",
    response_model=RunBody,
    status_code=202,
    dependencies=[Depends(may_ask)],
    responses={**CONFLICT, **BUSY},
)
async def start(kb: Kb, tasks: Tasks, run_id: str, asked: StartRequest | None = None) -> RunBody:
    """Begin a run that was planned, with its plan as it was shown or changed."""
    run = await in_thread(_run, kb, run_id)
    state = await in_thread(state_of, kb, run)
    if state == "interrupted":
        raise _conflict(run_id, "was begun and left", "resume it")
    if state != "planned" or tasks.works_on(run_id):
        raise _conflict(run_id, "has begun already", "follow its events")
    if tasks.full:
        raise ProblemError(TOO_MANY)
    request = run.request
    if asked is not None and asked.facets is not None:
        plan = run.plan or await plan_research(kb, request)
        request, plan = await _as_wanted(kb, request, plan, asked.facets)
        await in_thread(kb.catalogue.research.edit, run_id, request)
        await in_thread(kb.catalogue.research.planned, run_id, plan)
    await tasks.start(kb, run_id, request)
    return await in_thread(_body, kb, run_id)


@router.get(
    "/api/research/{run_id}/events",
    response_class=EventSourceResponse,
    responses={200: {"description": "server-sent events"}},
)
async def events(
    kb: Kb,
    run_id: str,
    asked: Annotated[EventsQuery, Query()],
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """The numbered events plan, progress and report, those that were told first; then ended.

    They are read from what is kept, so that every reader gets the same ones, at any time.
    """
    await in_thread(_run, kb, run_id)
    after = event_after(last_event_id)
    return EventSourceResponse(_stream(kb, run_id, asked.after if after is None else after))


@router.post("/api/research/{run_id}/cancel", response_model=RunBody, responses=CONFLICT)
async def cancel(kb: Kb, tasks: Tasks, run_id: str) -> RunBody:
    """Ask a run to stop; it answers from what it has found until then."""
    run = await in_thread(_run, kb, run_id)
    if run.state == "planned":
        await tasks.stop(run_id)  # it may wait for its turn
    if await in_thread(cancel_run, kb, run) is None:
        raise _conflict(run_id, "has ended", "its report is kept; read that")
    return await in_thread(_body, kb, run_id)


@router.post(
    "/api/research/{run_id}/resume",
    response_model=RunBody,
    status_code=202,
    dependencies=[Depends(may_ask)],
    responses={**CONFLICT, **BUSY},
)
async def resume(kb: Kb, tasks: Tasks, run_id: str) -> RunBody:
    """Go on with a run whose process is gone, or that failed; what it did is not done again."""
    run = await in_thread(_run, kb, run_id)
    state = await in_thread(state_of, kb, run)
    if tasks.works_on(run_id) or state not in RESUMABLE:
        if state in OPEN or tasks.works_on(run_id):
            raise _conflict(run_id, "is planned or at work", "start it, or follow its events")
        raise _conflict(run_id, "has ended", "its report is kept; read that")
    if tasks.full:
        raise ProblemError(TOO_MANY)
    await tasks.start(kb, run_id, run.request)
    return await in_thread(_body, kb, run_id)


@router.delete("/api/research/{run_id}", response_model=EndedBody)
async def remove(kb: Kb, tasks: Tasks, run_id: str) -> EndedBody:
    """Forget a run, one at work too; the answer of its report stays with the others."""
    await in_thread(_run, kb, run_id)
    await tasks.stop(run_id)
    await in_thread(kb.catalogue.research.remove, run_id)
    return EndedBody(id=run_id, state="removed", reason="")


def _question(asked: ResearchAsked) -> Question:
    options = asked.options.model_dump(by_alias=True)
    given = {"question": asked.question, "topicId": asked.topic_id, "options": options}
    request = AskRequest.model_validate({**given, "sessionId": asked.session_id, "mode": "deep"})
    return question_of(request)


def _limits(kb: KnowledgeBase, asked: LimitsRequest) -> Limits:
    given = asked.model_dump(by_alias=False, exclude_none=True)
    return replace(usual_limits(kb), **given)


async def _as_wanted(
    kb: KnowledgeBase,
    request: ResearchRequest,
    plan: ResearchPlan,
    wanted: tuple[FacetRequest, ...] | None,
) -> tuple[ResearchRequest, ResearchPlan]:
    """The request that follows the plan as it was shown, or as it is wanted."""
    if wanted is None:
        return replace(request, facets=plan.facets), plan
    given = [GivenFacet(id=one.id, title=one.title, query=one.query) for one in wanted]
    facets = given_facets(plan, given, request.question.filters)
    request = replace(request, facets=facets)
    plan = await plan_research(kb, request)
    return replace(request, facets=plan.facets), plan


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
            name, body = await in_thread(research_event_body, told.event)
            yield ServerSentEvent(event=name, data=body.model_dump_json(), id=str(told.number))
        ended = await in_thread(ended_body, kb, run_id)
        yield ServerSentEvent(event="ended", data=ended.model_dump_json())
    except WellreadError as error:  # the status has gone out already
        told_of = ErrorBody(**problem_of(error).body())
        yield ServerSentEvent(event="error", data=told_of.model_dump_json())
    except Exception:
        # The status has gone out already, so the reader is told in the stream.
        logger.exception("a stream of events broke off")
        told_of = ErrorBody(**INTERNAL.body())
        yield ServerSentEvent(event="error", data=told_of.model_dump_json())
