"""``/api/notices``: what a person is told when they come back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from wellread.serve.api.queries import REFUSED, Kb, StrictModel
from wellread.serve.features.learning.notice_bodies import NoticesBody, notices_body

router = APIRouter(responses=REFUSED)


class NoticesQuery(StrictModel):
    """Which notices."""

    every: bool = Field(default=False, alias="all", description="those that were seen as well")
    limit: int = Field(default=100, ge=1, le=1_000)


class SeenRequest(StrictModel):
    """Which notices were seen."""

    ids: list[int] = Field(max_length=1_000)


@router.get("/api/notices", response_model=NoticesBody)
def notices(kb: Kb, asked: Annotated[NoticesQuery, Query()]) -> NoticesBody:
    """What is to be known: corrections that expired, questions that were answered since"""
    return notices_body(kb, every=asked.every, limit=asked.limit)


@router.post("/api/notices/seen", status_code=204, response_class=Response)
def seen(kb: Kb, request: SeenRequest) -> Response:
    """Show these notices no more"""
    kb.catalogue.notices.mark_seen(request.ids)
    return Response(status_code=204)
