"""Routes of the usage page (model calls and cost) and of the API reference page."""

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
    MAX_DAYS,
    CallsLine,
    UsageReport,
)
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import PlainShape
from wellread.serve.web.charts import stack_chart
from wellread.serve.web.rendering import page_response, page_router, render_page

router = page_router()


class DayCalls(PlainShape):
    """All model calls of one day (UTC). ``price_known``: whether the price of each is known."""

    day: date
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    price_known: bool


class UsagePageBody(PlainShape, line="*report by_day"):
    """The data of ``/api/usage`` with sums by day."""

    report: UsageReport
    by_day: tuple[DayCalls, ...]


@router.get("/usage")
def usage(
    kb: Kb,
    request: Request,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = 30,
) -> Response:
    """Model calls, tokens and cost by day, purpose and model, and the budget."""
    report = home_and_jobs.usage(kb, days)
    body = UsagePageBody(report=report, by_day=by_day(report.lines))
    measure = "cost" if report.cost else "calls"
    by_date = {one.day: getattr(one, measure) for one in body.by_day}
    dates = [report.since.date() + timedelta(days=place) for place in range(days)]
    return page_response(
        request,
        "usage.html",
        body,
        measure=measure,
        chart=stack_chart([(str(one), {"bar": by_date.get(one, 0)}) for one in dates]),
        dollars=dollars,
        most_days=MAX_DAYS,
    )


def by_day(lines: Sequence[CallsLine]) -> tuple[DayCalls, ...]:
    """The sums per day with calls, newest first."""
    lines_by_day: dict[date, list[CallsLine]] = {}
    for line in lines:
        lines_by_day.setdefault(line.total.day, []).append(line)
    return tuple(
        DayCalls(
            day=day,
            calls=sum(one.total.calls for one in day_lines),
            failed=sum(one.total.failed for one in day_lines),
            input_tokens=sum(one.total.input_tokens for one in day_lines),
            output_tokens=sum(one.total.output_tokens for one in day_lines),
            cost=sum(one.total.cost for one in day_lines),
            price_known=all(one.price_known for one in day_lines),
        )
        for day, day_lines in lines_by_day.items()
    )


@router.get("/docs")
def interface(request: Request) -> Response:
    """The reference of the HTTP interface."""
    api_reference = reference(request.app.openapi())
    return render_page(
        request, "reference.html", {"routes": api_reference.routes, "bodies": api_reference.bodies}
    )
