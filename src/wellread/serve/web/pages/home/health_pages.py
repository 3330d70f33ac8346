"""What the home holds and whether its stores agree: checked in the background, then mended."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.errors import RequestError
from wellread.kb.seen_by import sees_all
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.home_reports import HoldingsBody, VerifyBody, holdings_body, size_words
from wellread.serve.guards.asking_rights import Kb, WholeKb
from wellread.serve.web.health_checks import HealthChecks
from wellread.serve.web.rendering import PageFormat, shown

router = APIRouter(include_in_schema=False)


class HealthQuery(StrictModel, PageFormat):
    """The page takes nothing but its format."""


class HealthPageBody(HoldingsBody):
    """What the home holds, and what the last check found (null: none was made)."""

    running: bool
    verified: VerifyBody | None


def _checks(request: Request) -> HealthChecks:
    return cast(HealthChecks, request.app.state.checks)


Checks = Annotated[HealthChecks, Depends(_checks)]


@router.get("/health")
def health(
    kb: Kb, checks: Checks, request: Request, _asked: Annotated[HealthQuery, Query()]
) -> Response:
    """What the home holds, and the last check of it."""
    # Asked for first: a check that ends in between shows its report, and never neither.
    last, running = (checks.last, checks.running) if sees_all(kb) else (None, False)
    report = last.report if last and not running else None
    body = HealthPageBody.of(
        holdings_body(kb),
        running=running,
        verified=VerifyBody.of(report) if report else None,
    )
    return shown(
        request,
        "health.html",
        body,
        last=last,
        reindex=sees_all(kb) and kb.reindex_needed,
        size=size_words(body.bytes),
    )


@router.post("/health/verify")
def verify(_kb: WholeKb, checks: Checks) -> Response:
    """Begin to compare the catalogue with the index and the texts with their digests."""
    checks.start(repair=False)
    return RedirectResponse("/health", status_code=303)


@router.post("/health/repair")
def repair(_kb: WholeKb, checks: Checks, confirmed: Annotated[str, Form()] = "") -> Response:
    """Begin to mend what does not match.

    Raises:
        RequestError: it was not confirmed.
    """
    if confirmed != "yes":
        raise RequestError("repairing was not confirmed", hint="tick the box beside the button")
    checks.start(repair=True)
    return RedirectResponse("/health", status_code=303)
