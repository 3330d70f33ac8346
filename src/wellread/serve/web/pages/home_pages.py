"""What models took and cost, and the reference of the HTTP interface."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from wellread.kb.language_models import dollars
from wellread.serve.api.doc_pages import reference
from wellread.serve.features import home_and_jobs
from wellread.serve.features.home_and_jobs import (
    MOST_DAYS,
    CallsLine,
    UsageReport,
)
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import PlainShape
from wellread.serve.web.charts import stack_chart
from wellread.serve.web.rendering import drawn, page_router, shown

router = page_router()


class DayCalls(PlainShape):
    """All calls of one day (UTC). ``price_known``: of each of them."""

    day: date
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    price_known: bool


class UsagePageBody(PlainShape, line="*report by_day"):
    """What ``/api/usage`` tells, with sums by day."""

    report: UsageReport
    by_day: tuple[DayCalls, ...]


@router.get("/usage")
def usage(
    kb: Kb,
    request: Request,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30,
) -> Response:
    """Calls, tokens and cost by day, purpose and model; the budget."""
    report = home_and_jobs.usage(kb, days)
    body = UsagePageBody(report=report, by_day=by_day(report.lines))
    drawn = "cost" if report.cost else "calls"
    values = {one.day: getattr(one, drawn) for one in body.by_day}
    dates = [report.since.date() + timedelta(days=place) for place in range(days)]
    return shown(
        request,
        "usage.html",
        body,
        measure=drawn,
        chart=stack_chart([(str(one), {"bar": values.get(one, 0)}) for one in dates]),
        dollars=dollars,
        most_days=MOST_DAYS,
    )


def by_day(lines: Sequence[CallsLine]) -> tuple[DayCalls, ...]:
    """The sums of each day on which something was called, newest first."""
    held: dict[date, list[CallsLine]] = {}
    for line in lines:
        held.setdefault(line.total.day, []).append(line)
    return tuple(
        DayCalls(
            day=day,
            calls=sum(one.total.calls for one in those),
            failed=sum(one.total.failed for one in those),
            input_tokens=sum(one.total.input_tokens for one in those),
            output_tokens=sum(one.total.output_tokens for one in those),
            cost=sum(one.total.cost for one in those),
            price_known=all(one.price_known for one in those),
        )
        for day, those in held.items()
    )


@router.get("/docs")
def interface(request: Request) -> Response:
    """The reference of the HTTP interface."""
    told = reference(request.app.openapi())
    return drawn(request, "reference.html", {"routes": told.routes, "bodies": told.bodies})
