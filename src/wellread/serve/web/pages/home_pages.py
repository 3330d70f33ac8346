"""The home itself: what models took and cost, its settings, and whether its stores agree."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Annotated, Any, Literal, cast

from fastapi import Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.config import settings_origins, settings_table
from wellread.errors import RequestError
from wellread.ingest.integrity.verify import VerifyReport
from wellread.kb.language_models import dollars
from wellread.kb.seen_by import sees_all
from wellread.serve.api.doc_pages import reference
from wellread.serve.features.home_and_jobs import (
    MOST_DAYS,
    CallsLine,
    HoldingsBody,
    UsageReport,
    holdings_body,
    size_words,
    usage_body,
)
from wellread.serve.guards.route_rules import Kb, WholeKb
from wellread.serve.views import PlainShape
from wellread.serve.web.charts import stack_chart
from wellread.serve.web.rendering import drawn, page_router, shown
from wellread.serve.web.runs import HealthChecks

router = page_router()
Measure = Literal["cost", "calls"]


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
    measure: Measure | Literal[""] = "",
) -> Response:
    """Calls, tokens and cost by day, purpose and model; the budget.

    The chart shows the cost where anything cost, or what ``measure`` names.
    """
    report = usage_body(kb, days)
    body = UsagePageBody(report=report, by_day=by_day(report.lines))
    drawn: Measure = measure or ("cost" if report.cost else "calls")
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


class Setting(PlainShape):
    """A setting; ``origin`` is ``default``, the settings file or the name of a variable."""

    name: str
    value: str
    default: str
    variable: str
    origin: str
    changed: bool
    help: str


@router.get("/docs")
def interface(request: Request) -> Response:
    """The reference of the HTTP interface."""
    told = reference(request.app.openapi())
    return drawn(request, "reference.html", {"routes": told.routes, "bodies": told.bodies})


class SettingsPageBody(PlainShape):
    """The settings of the home that is served."""

    home: str
    settings: tuple[Setting, ...]


@router.get("/settings")
def settings(kb: WholeKb, request: Request, query: str = "") -> Response:
    """Every setting, its value in this server, and where that comes from."""
    values = kb.settings.model_dump()
    origins = settings_origins(kb.home)
    rows = []
    for row in settings_table():
        section, _, name = row.name.partition(".")
        value = values[section][name]
        if query.casefold() in f"{row.name} {row.help}".casefold():
            rows.append(
                Setting(
                    name=row.name,
                    value=_told(value),
                    default=_told(row.default),
                    variable=row.variable,
                    origin=origins[row.name],
                    changed=value != row.default,
                    help=row.help,
                )
            )
    body = SettingsPageBody(home=str(kb.home), settings=tuple(rows))
    return shown(request, "settings.html", body, asked={"query": query})


def _told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class HealthPageBody(PlainShape, line="*holdings running verified"):
    """What the home holds, and what the last check found (null: none was made)."""

    holdings: HoldingsBody
    running: bool
    verified: VerifyReport | None


def _checks(request: Request) -> HealthChecks:
    return cast(HealthChecks, request.app.state.checks)


Checks = Annotated[HealthChecks, Depends(_checks)]


@router.get("/health")
def health(kb: Kb, checks: Checks, request: Request) -> Response:
    """What the home holds, and the last check of it."""
    # Asked for first: a check that ends in between shows its report, and never neither.
    last, running = (checks.last, checks.running) if sees_all(kb) else (None, False)
    report = last.report if last and not running else None
    held = holdings_body(kb)
    return shown(
        request,
        "health.html",
        HealthPageBody(holdings=held, running=running, verified=report),
        last=last,
        reindex=sees_all(kb) and kb.reindex_needed,
        size=size_words(held.bytes),
    )


@router.post("/health/verify")
def verify(_kb: WholeKb, checks: Checks) -> Response:
    """Begin to compare the catalogue with the index and the texts with their digests."""
    checks.start(repair=False)
    return RedirectResponse("/health", status_code=303)


@router.post("/health/repair")
def repair(_kb: WholeKb, checks: Checks, confirmed: Annotated[str, Form()] = "") -> Response:
    """Begin to mend what does not match."""
    if confirmed != "yes":
        raise RequestError("repairing was not confirmed", hint="tick the box beside the button")
    checks.start(repair=True)
    return RedirectResponse("/health", status_code=303)
