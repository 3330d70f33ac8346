"""Gaps: what the material does not answer, what to write for it, what closed, what is asked."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.learning.asking_again import ask_again
from wellread.serve.api.queries import FAR, StrictModel
from wellread.serve.features.learning.gap_bodies import (
    cluster_detail,
    gaps_body,
    set_status,
    suggestion_body,
)
from wellread.serve.features.learning.pattern_bodies import patterns_body
from wellread.serve.guards.asking_rights import Kb, WholeKb
from wellread.serve.web.charts import bar_chart
from wellread.serve.web.ingest_runs import Ingest
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.schema.catalogue_values import GapStatus
from wellread.text.periods import window_of

router = APIRouter(include_in_schema=False)


class GapsPageQuery(StrictModel, PageFormat):
    """Which clusters; ``waiting`` are those that are not closed."""

    status: Literal["waiting"] | GapStatus = "waiting"
    limit: int = Field(default=20, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=FAR)


class PatternsPageQuery(StrictModel, PageFormat):
    """The time of asking."""

    from_: str = Field(default="", alias="from")
    to: str = ""


@router.get("/gaps")
def gaps(kb: Kb, request: Request, asked: Annotated[GapsPageQuery, Query()]) -> Response:
    """Clusters of questions that stayed open, the ones asked most first."""
    status = None if asked.status == "waiting" else asked.status
    body = gaps_body(kb, status, asked.limit, asked.offset)
    return shown(
        request,
        "learning/gaps.html",
        body,
        asked=asked,
        chart=bar_chart([(one.month, one.filed) for one in body.periods]),
    )


@router.get("/gaps/patterns")
def patterns(kb: Kb, request: Request, asked: Annotated[PatternsPageQuery, Query()]) -> Response:
    """What is asked often."""
    start, end = window_of(asked.from_, asked.to, hint="swap the two dates")
    body = patterns_body(kb, start, end)
    chart = bar_chart([(one.name, one.asked) for one in body.periods])
    return shown(request, "learning/patterns.html", body, asked=asked, chart=chart)


@router.post("/gaps/ask")
def ask(kb: WholeKb, ingest: Ingest) -> Response:
    """Ask the open questions again; it waits for its turn among the runs."""
    ingest.ask_again(partial(ask_again, kb))
    return RedirectResponse("/library/jobs", status_code=303)


@router.get("/gaps/{cluster_id}")
def cluster(
    kb: Kb, request: Request, cluster_id: str, _asked: Annotated[PageFormat, Query()]
) -> Response:
    """A cluster: its questions, what became of each, and the entry to write."""
    body = cluster_detail(kb, cluster_id)
    waiting = body.open or body.status == "planned"
    suggestion = suggestion_body(kb, body.id) if waiting else None
    return shown(request, "learning/gap.html", body, suggestion=suggestion)


@router.post("/gaps/{gap_id}/status")
def change(
    kb: Kb, gap_id: str, status: Annotated[GapStatus, Form()], cluster: Annotated[str, Form()]
) -> Response:
    """Open, plan or close a cluster, or one question of it."""
    set_status(kb, gap_id, status)
    known = cluster_detail(kb, cluster).id
    return RedirectResponse(f"/gaps/{known}", status_code=303)
