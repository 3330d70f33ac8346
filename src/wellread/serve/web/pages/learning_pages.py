"""Routes of the pages on coverage, gaps, metrics, model usage, preferences and the API."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any, Literal, get_args

from fastapi import Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BeforeValidator, ValidationError

from wellread.errors import RequestError, invalid_value
from wellread.kb.language_models import dollars
from wellread.learning.coverage_grid import Cell, coverage_grid
from wellread.learning.metric_report import PeriodName
from wellread.serve.features import gaps_and_coverage, home_and_jobs
from wellread.serve.features.feature import REFUSED, Limit, Offset
from wellread.serve.features.figures import MetricsBody, report_of
from wellread.serve.features.gaps_and_coverage import (
    MAX_LISTED_GAPS,
    CoverageQuery,
    cluster_detail,
    coverage_sentence,
    describe_gap,
    format_cell,
    omission_note,
    set_status,
    suggestion_body,
    table_axes,
)
from wellread.serve.features.home_and_jobs import MAX_DAYS, CallsLine
from wellread.serve.features.people import PreferencesChange, change_preferences, preferences_body
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import template_view
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import part_label, stack_chart, trend_chart
from wellread.serve.web.rendering import page_response, page_router, render_page
from wellread.store.schema.stored_values import GapStatus

router = page_router("read")
reads, asks, edits, admin = router.requiring("read", "ask", "edit", "admin")
LEVELS = (1, 2, 4, 8, 16)  # minimum number of documents for each shade of a cell


@reads.get("/coverage")
def coverage_page(kb: Kb, request: Request, query: Annotated[CoverageQuery, Query()]) -> Response:
    """The coverage heat map and the gaps."""
    grid = coverage_grid(kb, query.filters(), query.dimensions, owner=kb.asker.owner)
    rows, columns = table_axes(grid)
    cells = {(cell.row, cell.column): cell for cell in grid.cells}
    return page_response(
        request,
        "coverage.html",
        grid,
        asked=query,
        given=query.model_dump(by_alias=True, exclude_defaults=True) | {"by": list(grid.by)},
        choices=limit_choices(kb),
        sentence=coverage_sentence(grid),
        columns=columns,
        lines=[(row, [_heat_cell(cells[row, column]) for column in columns]) for row in rows],
        left_out=omission_note(grid, rows, columns),
        gaps=[describe_gap(gap) for gap in grid.gaps[:MAX_LISTED_GAPS]],
    )


def _heat_cell(cell: Cell) -> tuple[Any, str, int]:
    shade = sum(len(cell.document_ids) >= level for level in LEVELS)
    return template_view(cell), format_cell(cell), shade


@reads.get("/gaps")
def gaps(
    kb: Kb,
    request: Request,
    status: Literal["waiting"] | GapStatus = "waiting",
    limit: Limit = 20,
    offset: Offset = 0,
) -> Response:
    """Clusters of questions, most asked first; ``waiting`` means all that are not closed."""
    body = gaps_and_coverage.gaps(kb, None if status == "waiting" else status, limit, offset)
    return page_response(
        request,
        "learning/gaps.html",
        body,
        asked={"status": status, "limit": limit, "offset": offset},
    )


@reads.get("/gaps/{cluster_id}")
def cluster(kb: Kb, request: Request, cluster_id: str) -> Response:
    """A cluster with its questions, their status, and the entry to write."""
    body = cluster_detail(kb, cluster_id)
    waiting = body.cluster.status in ("open", "planned")
    suggestion = suggestion_body(kb, body.cluster.id) if waiting else None
    return page_response(request, "learning/gap.html", body, suggestion=template_view(suggestion))


@edits.post("/gaps/{gap_id}/status")
def change(
    kb: Kb, gap_id: str, status: Annotated[GapStatus, Form()], cluster: Annotated[str, Form()]
) -> Response:
    """Open, plan or close a cluster or one of its questions."""
    set_status(kb, gap_id, status)
    cluster_ = cluster_detail(kb, cluster).cluster.id
    return RedirectResponse(f"/gaps/{cluster_}", status_code=303)


PATH = "/figures"  # /metrics is the endpoint for Prometheus


@admin.get(PATH)
def figures(
    kb: Kb, request: Request, period: PeriodName = "month", since: str = "", until: str = ""
) -> Response:
    """All metrics of a period, as charts and tables."""
    report = report_of(kb, period, since, until)
    return page_response(
        request,
        "learning/metrics.html",
        MetricsBody(report=report),
        asked={"period": period, "since": since, "until": until},
        path=PATH,
        periods=get_args(PeriodName),
        trend=trend_chart(report.trend, report.period.part),
        label=part_label,
        dollars=dollars,
    )


@admin.get("/usage")
def usage(
    kb: Kb, request: Request, days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = 30
) -> Response:
    """Model calls, tokens and cost by day, purpose and model, and the budget."""
    report = home_and_jobs.usage(kb, days)
    by_day = _sums_by_day(report.lines)
    measure = "cost" if report.cost else "calls"
    counts = {sums["day"]: sums[measure] for sums in by_day}
    dates = [report.since.date() + timedelta(days=number) for number in range(days)]
    return page_response(
        request,
        "usage.html",
        report,
        by_day=by_day,
        measure=measure,
        chart=stack_chart([(str(date), {"bar": counts.get(date, 0)}) for date in dates]),
        dollars=dollars,
        most_days=MAX_DAYS,
    )


def _sums_by_day(lines: Sequence[CallsLine]) -> list[dict[str, Any]]:
    """The sums of each day (UTC) with calls; ``price_known``: whether every price is known."""
    sums = []
    for day, group in groupby(lines, key=lambda line: line.total.day):
        calls = list(group)
        names = ("calls", "failed", "input_tokens", "output_tokens", "cost")
        totals = {name: sum(getattr(call.total, name) for call in calls) for name in names}
        price_known = all(call.price_known for call in calls)
        sums.append({"day": day, "price_known": price_known, **totals})
    return sums


@reads.get("/docs")
def interface(request: Request) -> Response:
    """The reference of the HTTP interface."""
    refused = {str(status): reply["description"] for status, reply in REFUSED.items()}
    return render_page(
        request, "reference.html", {"api": request.app.openapi(), "refusals": refused}
    )


def _split(value: object) -> object:
    text = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(text, str):
        return text
    return tuple(line.strip() for line in text.splitlines() if line.strip())


Lines = Annotated[tuple[str, ...], BeforeValidator(_split), Form()]


@reads.get("/preferences")
def preferences_page(kb: Kb, request: Request) -> Response:
    """The preferences form with the current values."""
    body = preferences_body(kb, kb.asker.owner)
    return page_response(request, "preferences.html", body, choices=limit_choices(kb))


@asks.post("/preferences")
def keep(
    kb: Kb,
    preferred: Lines = (),
    lowered: Lines = (),
    muted: Lines = (),
    length: Annotated[str, Form()] = "",
    persona: Annotated[str, Form()] = "",
    collection: Annotated[str, Form()] = "",
) -> Response:
    """Save the whole form, with one source per line."""
    chosen = {"length": length, "persona": persona, "collection": collection}
    return _save_changes(kb, {"preferred": preferred, "lowered": lowered, "muted": muted, **chosen})


@asks.post("/preferences/learned")
def learned(
    kb: Kb,
    consent: Annotated[str, Form()] = "",
    revoke: Lines = (),
    restore: Lines = (),
) -> Response:
    """Give or withdraw consent, or revoke a learned preference."""
    change: dict[str, Any] = {"revoke": revoke, "restore": restore}
    if consent:
        change["consent"] = consent == "yes"
    return _save_changes(kb, change)


def _save_changes(kb: Kb, changes: dict[str, Any]) -> Response:
    try:
        change = PreferencesChange.model_validate(changes)
    except ValidationError as error:
        first_error = error.errors()[0]
        raise RequestError(invalid_value(first_error, str(first_error["loc"][0]))) from error
    change_preferences(kb, kb.asker.owner, change)
    return RedirectResponse("/preferences", status_code=303)
