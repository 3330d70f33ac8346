"""``POST /api/query`` and ``/api/query/deep``: the interface of a video archive.

Quick answers go the way of every answer, deep ones that of research. Each has a time limit of its
own; when it is up the reply is 504, in the same shape, with what was found until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from anyio import move_on_after, to_thread
from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field, StringConstraints

from wellread.ask.answer import answer, final
from wellread.ask.plan import reading
from wellread.kb import KnowledgeBase
from wellread.research.research import research, usual_limits
from wellread.serve.api.middleware import may_ask
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.asking.archive_answers import (
    QueryResponse,
    QueryTimeoutResponse,
    found_so_far,
    places_for,
    query_body,
    timeout_body,
)
from wellread.serve.features.bodies import ErrorBody
from wellread.serve.guards.asking_rights import Kb
from wellread.types import Mode
from wellread.values.answers import Answer, Citation, Question
from wellread.values.reports import ProgressEvent, Report, ReportEvent, ResearchRequest

LONGEST_ID = 200
FINISHING = 15.0  # seconds after its limit until research that did not stop by itself is stopped
LOOKING = 10.0  # seconds for finding what can be told when the time is up

REPLIES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "Missing or empty question, or a wrong field"},
    403: {"model": ErrorBody, "description": "Answering is switched off"},
    504: {"model": QueryTimeoutResponse, "description": "The time is up; what was found until"},
    "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
}

router = APIRouter(responses=REPLIES, dependencies=[Depends(may_ask)])


class _Query(StrictModel):
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    session_id: Annotated[str, Field(max_length=LONGEST_ID, pattern=r"^[!-~]*$")] | None = Field(
        default=None, description="of a conversation; one that is not known begins it"
    )


class QueryRequest(_Query):
    """A question over recordings and everything else, in a conversation or not."""

    mode: Mode = Field(
        default="quick", description="`auto`: deep for what one search cannot answer"
    )


class DeepQueryRequest(_Query):
    """A question to research, in a conversation or not."""

    mode: Literal["deep", "auto"] = Field(default="deep", description="deep in any case")


# What is unset is left out: ``iterations?``, ``warning?``, ``notes?``.
@router.post("/api/query", response_model=QueryResponse, response_model_exclude_unset=True)
async def query(kb: Kb, request: QueryRequest) -> QueryResponse | Response:
    """Answer a question of a conversation; an unknown ``session_id`` begins one."""
    asked = _question(request, request.mode)
    if asked.mode == "auto" and (await to_thread.run_sync(reading, kb, asked)).mode == "deep":
        asked = _question(request, "deep")
    return await (_deep(kb, asked) if asked.mode == "deep" else _quick(kb, asked))


@router.post("/api/query/deep", response_model=QueryResponse, response_model_exclude_unset=True)
async def query_deep(kb: Kb, request: DeepQueryRequest) -> QueryResponse | Response:
    """Research a question: several searches, in rounds, and a report."""
    return await _deep(kb, _question(request, "deep"))


def _question(request: _Query, mode: Mode) -> Question:
    return Question(text=request.question, mode=mode, session_id=request.session_id or "")


async def _quick(kb: KnowledgeBase, asked: Question) -> QueryResponse | Response:
    seconds = kb.settings.serve.query_seconds
    done: Answer | None = None
    with move_on_after(seconds):
        done = await final(answer(kb, asked))
    if done is not None:
        return await to_thread.run_sync(partial(query_body, kb, done, asked_in=asked.session_id))
    body = await _so_far(kb, asked, "quick")
    return _late(body, seconds, "serve.query_seconds")


async def _deep(kb: KnowledgeBase, asked: Question) -> QueryResponse | Response:
    seconds = kb.settings.serve.research_seconds
    wanted = ResearchRequest(question=asked, limits=replace(usual_limits(kb), seconds=seconds))
    report: Report | None = None
    progress: list[ProgressEvent] = []
    with move_on_after(seconds + FINISHING):
        async for event in research(kb, wanted):
            match event:
                case ProgressEvent():
                    progress.append(event)
                case ReportEvent():
                    report = event.report
    if report is None:
        body = await _so_far(kb, asked, "deep", progress)
        return _late(body, seconds, "serve.research_seconds")
    made = partial(query_body, kb, report.answer, report=report, asked_in=asked.session_id)
    body = await to_thread.run_sync(made)
    if report.stopped == "time_limit":
        return _late(body, seconds, "serve.research_seconds")
    return body


async def _so_far(
    kb: KnowledgeBase,
    asked: Question,
    mode: Literal["quick", "deep"],
    progress: Sequence[ProgressEvent] = (),
) -> QueryResponse:
    """What can be told when the time is up: the places that a quick look finds."""
    places: Sequence[Citation] = ()
    with move_on_after(LOOKING):
        places = await to_thread.run_sync(places_for, kb, asked, abandon_on_cancel=True)
    return await to_thread.run_sync(partial(found_so_far, kb, asked, mode, places, progress))


def _late(body: QueryResponse, seconds: float, setting: str) -> JSONResponse:
    late = timeout_body(body, seconds=seconds, setting=setting)
    return JSONResponse(late.model_dump(mode="json", exclude_unset=True), status_code=504)
