"""Routes of the pages on coverage, gaps, metrics, model usage, preferences and the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated, Any, Literal, get_args

from fastapi import Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.ask.aggregate.counts import OTHER_PARTS
from wellread.ask.aggregate.coverage import Cell
from wellread.ask.aggregate.query import QueryError
from wellread.errors import RequestError
from wellread.learning.coverage_grid import Grid, coverage_grid, widest_taxonomy
from wellread.learning.metric_report import PeriodName
from wellread.serve.error_shapes import Problem, problem_of
from wellread.serve.features import gaps_and_coverage, home_and_jobs
from wellread.serve.features.feature import REFUSED, Limit, Offset, window_problems
from wellread.serve.features.figures import MetricsBody, report_of, verdicts_of
from wellread.serve.features.gaps_and_coverage import (
    MAX_LISTED_GAPS,
    CoverageQuery,
    cluster_detail,
    coverage_sentence,
    omission_note,
    set_status,
    suggestion_body,
    table_axes,
)
from wellread.serve.features.home_and_jobs import MAX_DAYS
from wellread.serve.features.people import change_preferences, preferences_body, preferences_change
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import template_view
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import stack_chart, trend_chart
from wellread.serve.web.rendering import THEME_COOKIE, page_response, page_router, render_page
from wellread.store.schema.stored_values import AnswerTotals, GapStatus
from wellread.store.schema.tables import TOTAL
from wellread.values.answers import VerdictName

router = page_router("read")
reads, asks, edits, admin = router.requiring("read", "ask", "edit", "admin")
LEVELS = (1, 2, 4, 8, 16)  # minimum number of documents for each shade of a cell


@reads.get("/coverage")
def coverage_page(kb: Kb, request: Request, query: Annotated[CoverageQuery, Query()]) -> Response:
    """The coverage as a heat map, at first of the collection with the widest taxonomy."""
    shown = query.collections or tuple(filter(None, [widest_taxonomy(kb)]))
    where, owner = replace(query.filters(), collections=shown), kb.asker.owner
    by, own = query.dimensions, False
    try:
        grid = coverage_grid(kb, where, by, owner=owner)
    except QueryError:  # such as a dimension of the collection that was shown before
        grid, own = coverage_grid(kb, where, owner=owner), True
    rows, columns = table_axes(grid)
    cells = {(cell.row, cell.column): cell for cell in grid.cells}
    given = query.model_dump(by_alias=True, exclude_defaults=True)
    return page_response(
        request,
        "coverage.html",
        grid,
        given=given | {"by": list(grid.by), "collection": list(shown), "topic": []},
        shown=shown,
        own_instead_of=by if own else (),
        collections=kb.catalogue.collection_names(),
        sentence=coverage_sentence(grid),
        columns=columns,
        lines=[(row, [_heat_cell(grid, cells[row, column]) for column in columns]) for row in rows],
        left_out=omission_note(grid, rows, columns),
        gaps=[gap.line for gap in grid.gaps[:MAX_LISTED_GAPS]],
    )


def _heat_cell(grid: Grid, cell: Cell) -> tuple[Any, str, int, Sequence[str]]:
    """The cell, its text, its shade, and the taxonomy that finds its documents, if that is all."""
    shade = sum(len(cell.document_ids) >= level for level in LEVELS)
    values = zip(grid.by, (cell.row, cell.column), strict=False)
    found_by = [f"{name}={value}" for name, value in values]
    taxonomy = () if {*grid.by} & {*OTHER_PARTS} else tuple(found_by)
    return template_view(cell), cell.short, shade, taxonomy


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


@admin.get("/figures")  # /metrics is the endpoint for Prometheus
def figures(
    kb: Kb, request: Request, period: PeriodName = "month", since: str = "", until: str = ""
) -> Response:
    """The five metrics that matter, a chart, and the rest folded."""
    problems = window_problems({"since": since, "until": until})
    report = report_of(kb, period, *(("", "") if problems else (since, until)))
    waits = {latency.name: latency.percentiles[0] for latency in report.latencies}
    return page_response(
        request,
        "learning/metrics.html",
        MetricsBody(report=report),
        status=400 if problems else 200,
        asked={"period": period, "since": since, "until": until},
        problems=problems,
        periods=get_args(PeriodName),
        trend=trend_chart(report.trend, report.period.part),
        wait=waits.get(TOTAL),
        held=_share_held(report.sums),
        held_before=_share_held(report.before),
    )


def _share_held(sums: AnswerTotals | None) -> float | None:
    """The share of the checked sentences that their sources bear out; None without any."""
    counts = verdicts_of(sums) if sums else {}
    checked = sum(counts.values()) - counts.get(VerdictName.NOT_CHECKED, 0)
    whole = sum(count for name, count in counts.items() if VerdictName(name).whole)
    return whole / checked if checked else None


@admin.get("/usage")
def usage(
    kb: Kb, request: Request, days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = 30
) -> Response:
    """Model calls, tokens and cost by day, purpose and model, and the budget."""
    report = home_and_jobs.usage(kb, days)
    measure = "cost" if report.cost else "calls"
    counts: dict[date, float] = {}
    for total in (line.total for line in report.lines):
        counts[total.day] = counts.get(total.day, 0) + getattr(total, measure)
    shown = [report.since.date() + timedelta(days=number) for number in range(days)]
    return page_response(
        request,
        "usage.html",
        report,
        measure=measure,
        chart=stack_chart(
            [(str(day), {"count": counts.get(day, 0)}) for day in shown],
            unit="$" if measure == "cost" else "",
        ),
        most_days=MAX_DAYS,
    )


@reads.get("/docs")
def interface(request: Request) -> Response:
    """The reference of the HTTP interface."""
    refused = {str(status): reply["description"] for status, reply in REFUSED.items()}
    return render_page(
        request, "reference.html", {"api": request.app.openapi(), "refusals": refused}
    )


Chosen = Annotated[list[str], Form()]
RULE_KINDS = {
    "document": "document",
    "collection": "collection",
    "source_type": "kind of source",
    "site": "web site",
}
EFFECTS = {"preferred": "Rank higher", "lowered": "Rank lower", "muted": "Leave out"}
A_YEAR = 365 * 86_400  # seconds


@reads.get("/preferences")
def preferences_page(kb: Kb, request: Request) -> Response:
    """The preferences form with the current values."""
    return _preferences(kb, request)


@asks.post("/preferences")
def keep(
    kb: Kb,
    request: Request,
    preferred: Chosen = [],  # noqa: B006 - FastAPI copies it
    lowered: Chosen = [],  # noqa: B006
    muted: Chosen = [],  # noqa: B006
    effect: Annotated[Literal["preferred", "lowered", "muted"], Form()] = "preferred",
    rule_kind: Annotated[str, Form()] = "site",
    rule: Annotated[str, Form(max_length=400)] = "",
    length: Annotated[str, Form()] = "",
    persona: Annotated[str, Form()] = "",
    collection: Annotated[str, Form()] = "",
) -> Response:
    """Save the whole form: the sources that stay ticked, and a new one."""
    rules = {"preferred": list(preferred), "lowered": list(lowered), "muted": list(muted)}
    if rule.strip():
        rules[effect].append(f"{rule_kind}:{rule.strip()}")
    chosen = {"length": length, "persona": persona, "collection": collection}
    typed = {**chosen, "effect": effect, "rule_kind": rule_kind, "rule": rule, "rules": rules}
    return _save_changes(kb, request, {**rules, **chosen}, typed)


@asks.post("/preferences/learned")
def learned(
    kb: Kb,
    request: Request,
    consent: Annotated[str, Form()] = "",
    revoke: Chosen = [],  # noqa: B006
    restore: Chosen = [],  # noqa: B006
) -> Response:
    """Give or withdraw consent, or revoke a learned preference."""
    change: dict[str, Any] = {"revoke": revoke, "restore": restore}
    if consent:
        change["consent"] = consent == "yes"
    return _save_changes(kb, request, change)


@asks.post("/preferences/theme")
def set_theme(theme: Annotated[Literal["system", "light", "dark"], Form()]) -> Response:
    """Keep the theme in this browser."""
    response = RedirectResponse("/preferences", status_code=303)
    response.set_cookie(THEME_COOKIE, theme, max_age=A_YEAR, httponly=True, samesite="lax")
    return response


def _save_changes(
    kb: Kb, request: Request, changes: dict[str, Any], typed: dict[str, Any] | None = None
) -> Response:
    try:
        change_preferences(kb, kb.asker.owner, preferences_change(changes))
    except RequestError as error:
        return _preferences(kb, request, typed, problem_of(error))
    return RedirectResponse("/preferences", status_code=303)


def _preferences(
    kb: Kb,
    request: Request,
    typed: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Response:
    body = preferences_body(kb, kb.asker.owner)
    stored = {name: getattr(body.given, name) for name in ("length", "persona", "collection")}
    stored |= {"effect": "preferred", "rule_kind": "site", "rule": "", "rules": None}
    names = {"typed": typed or stored, "kinds": RULE_KINDS, "effects": EFFECTS}
    values = {"body": template_view(body), "choices": limit_choices(kb), **names}
    return render_page(request, "preferences.html", values, problem=problem)
