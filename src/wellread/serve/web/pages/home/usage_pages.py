"""What calls of models took and cost, what is left of the budget, how long each step takes."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from wellread.kb.language_models import dollars
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.asking.step_latencies import (
    ANSWERS_MEASURED,
    StepLatencyBody,
    step_latencies,
)
from wellread.serve.features.bodies import PlainBody
from wellread.serve.features.job_views import MOST_DAYS, CallsBody, UsageReportBody, usage_body
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.day_chart import day_chart
from wellread.serve.web.rendering import PageFormat, shown

router = APIRouter(include_in_schema=False)
Measure = Literal["cost", "calls"]


class UsageQuery(StrictModel, PageFormat):
    """How many days, and what the chart shows; not given, the cost where anything cost."""

    days: int = Field(default=30, ge=1, le=MOST_DAYS)
    measure: Measure | Literal[""] = ""


class DayCallsBody(PlainBody):
    """All calls of one day (UTC). ``price_known``: of each of them."""

    day: date
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    price_known: bool


class UsagePageBody(UsageReportBody):
    """What ``/api/usage`` tells, with sums by day and the seconds of each step of answering."""

    by_day: tuple[DayCallsBody, ...]
    steps: tuple[StepLatencyBody, ...]


@router.get("/usage")
def usage(kb: Kb, request: Request, asked: Annotated[UsageQuery, Query()]) -> Response:
    """Calls, tokens and cost by day, purpose and model; the budget; seconds by step."""
    report = usage_body(kb, asked.days)
    body = UsagePageBody.of(report, by_day=by_day(report), steps=step_latencies(kb))
    measure: Measure = asked.measure or ("cost" if body.cost else "calls")
    values = {one.day: float(getattr(one, measure)) for one in body.by_day}
    return shown(
        request,
        "usage.html",
        body,
        measure=measure,
        chart=day_chart(values, body.since.date(), body.days),
        dollars=dollars,
        most_days=MOST_DAYS,
        measured=ANSWERS_MEASURED,
    )


def by_day(report: UsageReportBody) -> tuple[DayCallsBody, ...]:
    """The sums of each day on which something was called, newest first."""
    lines: dict[date, list[CallsBody]] = {}
    for line in report.lines:
        lines.setdefault(line.day, []).append(line)
    return tuple(
        DayCallsBody(
            day=day,
            calls=sum(one.calls for one in those),
            failed=sum(one.failed for one in those),
            input_tokens=sum(one.input_tokens for one in those),
            output_tokens=sum(one.output_tokens for one in those),
            cost=sum(one.cost for one in those),
            price_known=all(one.price_known for one in those),
        )
        for day, those in lines.items()
    )
