"""``/api/preferences`` and ``/api/notices``: what a person prefers, and is told."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from wellread.serve.api.queries import REFUSED, RowNumber, StrictModel
from wellread.serve.features.people import (
    NoticesBody,
    PreferencesBody,
    PreferencesChange,
    change_preferences,
    notices_body,
    preferences_body,
)
from wellread.serve.guards.asking_rights import Kb

router = APIRouter(responses=REFUSED)


@router.get("/api/preferences", response_model=PreferencesBody)
def preferences(kb: Kb) -> PreferencesBody:
    """What is set, what was learned and why, and the personas that can be chosen."""
    return preferences_body(kb, kb.asker.owner)


@router.patch("/api/preferences", response_model=PreferencesBody)
def change(kb: Kb, request: PreferencesChange) -> PreferencesBody:
    """Change what is given; give or withdraw consent; revoke what was learned."""
    change_preferences(kb, kb.asker.owner, request)
    return preferences_body(kb, kb.asker.owner)


# --- notices ---------------------------------------------------------------------------------


class NoticesQuery(StrictModel):
    """Which notices."""

    every: bool = Field(default=False, alias="all", description="those that were seen as well")
    limit: int = Field(default=100, ge=1, le=1_000)


class SeenRequest(StrictModel):
    """Which notices were seen."""

    ids: list[RowNumber] = Field(max_length=1_000)


@router.get("/api/notices", response_model=NoticesBody)
def notices(kb: Kb, asked: Annotated[NoticesQuery, Query()]) -> NoticesBody:
    """What is to be known: corrections that expired, questions that were answered since"""
    return notices_body(kb, every=asked.every, limit=asked.limit)


@router.post("/api/notices/seen", status_code=204, response_class=Response)
def seen(kb: Kb, request: SeenRequest) -> Response:
    """Show these notices no more"""
    kb.catalogue.notices.mark_seen(request.ids)
    return Response(status_code=204)
