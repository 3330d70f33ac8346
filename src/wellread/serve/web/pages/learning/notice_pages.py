"""What the first page tells a person who comes back, once it was seen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from wellread.serve.api.queries import RowNumber
from wellread.serve.guards.asking_rights import Kb

router = APIRouter(include_in_schema=False)


@router.post("/notices/seen")
def seen(kb: Kb, notice: Annotated[list[RowNumber], Form()]) -> Response:
    """Show these notices no more."""
    kb.catalogue.notices.mark_seen(notice)
    return RedirectResponse("/", status_code=303)
