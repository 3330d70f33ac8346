"""``/api/gaps``: what the material does not answer; ``/api/questions``: what is asked often."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import PlainTextResponse, Response
from pydantic import Field

from wellread.learning.asking_again import ask_again
from wellread.serve.api.middleware import may_ask
from wellread.serve.api.queries import FAR, StrictModel
from wellread.serve.features.bodies import ErrorBody
from wellread.serve.features.learning.gap_bodies import (
    EntrySuggestionBody,
    GapClusterDetailBody,
    GapsBody,
    ReaskedBody,
    StatusBody,
    cluster_detail,
    gaps_body,
    reasked_body,
    set_status,
    suggestion_body,
)
from wellread.serve.features.learning.pattern_bodies import QuestionPatternsBody, patterns_body
from wellread.serve.guards.asking_rights import Kb, WholeKb
from wellread.store.schema.catalogue_values import GapStatus
from wellread.text.periods import window_of

UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorBody, "description": "Unknown cluster or gap"},
}
BAD: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "A bad parameter"},
    "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
}
MARKDOWN: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/markdown": {}}, "description": "What to write; a file when asked"},
}

router = APIRouter(responses=BAD)


class GapsQuery(StrictModel):
    """Which clusters; without ``status`` those that are not closed."""

    status: GapStatus | None = None
    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=FAR)


class SuggestionQuery(StrictModel):
    """``markdown``: the file itself."""

    format: Literal["json", "markdown"] = "json"


class StatusRequest(StrictModel):
    """The status that it is to have."""

    status: GapStatus


class PatternsQuery(StrictModel):
    """The time of asking."""

    from_: str = Field(default="", alias="from", description="asked on or after (2025, 2025-10)")
    to: str = Field(default="", description="asked on or before")


@router.get("/api/gaps", response_model=GapsBody)
def gaps(kb: Kb, asked: Annotated[GapsQuery, Query()]) -> GapsBody:
    """Clusters of questions that were not answered, or not well, the ones asked most first."""
    return gaps_body(kb, asked.status, asked.limit, asked.offset)


@router.post("/api/gaps/ask", response_model=ReaskedBody, dependencies=[Depends(may_ask)])
def ask(kb: WholeKb) -> ReaskedBody:
    """Ask the open questions again that new documents could answer, and tell what became of it."""
    return reasked_body(ask_again(kb))


@router.get("/api/gaps/{cluster_id}", response_model=GapClusterDetailBody, responses=UNKNOWN)
def show(kb: Kb, cluster_id: str) -> GapClusterDetailBody:
    """A cluster (``c12``) with its questions; ``12`` is the one that has that question."""
    return cluster_detail(kb, cluster_id)


@router.get(
    "/api/gaps/{cluster_id}/suggestion",
    response_model=EntrySuggestionBody,
    responses={**UNKNOWN, **MARKDOWN},
)
def suggestion(
    kb: Kb, cluster_id: str, asked: Annotated[SuggestionQuery, Query()]
) -> EntrySuggestionBody | Response:
    """The entry to write for a cluster, with the questions that it should answer."""
    body = suggestion_body(kb, cluster_id)
    if asked.format == "json":
        return body
    named = {"content-disposition": f'attachment; filename="{body.file_name}"'}
    return PlainTextResponse(body.markdown, media_type="text/markdown", headers=named)


@router.patch("/api/gaps/{gap_id}", response_model=StatusBody, responses=UNKNOWN)
def change(kb: Kb, gap_id: str, asked: StatusRequest) -> StatusBody:
    """Open, plan or close a whole cluster (``c12``), or one question (``12``)."""
    return set_status(kb, gap_id, asked.status)


@router.get("/api/questions/patterns", response_model=QuestionPatternsBody)
def patterns(kb: Kb, asked: Annotated[PatternsQuery, Query()]) -> QuestionPatternsBody:
    """What is asked often: the same questions, types, topics, words, and when."""
    start, end = window_of(asked.from_, asked.to, hint="swap the two dates")
    return patterns_body(kb, start, end)
