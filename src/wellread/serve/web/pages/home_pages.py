"""What calls of models took and cost, what is left of the budget, how long each step takes."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.config import settings_origins, settings_table
from wellread.errors import RequestError
from wellread.kb.language_models import dollars
from wellread.kb.seen_by import sees_all
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.figures import ANSWERS_MEASURED, StepLatencyBody, step_latencies
from wellread.serve.features.home_and_jobs import (
    MOST_DAYS,
    CallsBody,
    HoldingsBody,
    UsageReportBody,
    VerifyBody,
    holdings_body,
    size_words,
    usage_body,
)
from wellread.serve.features.views import PlainBody
from wellread.serve.guards.asking_rights import Kb, WholeKb
from wellread.serve.web.charts import day_chart
from wellread.serve.web.rendering import PageFormat, shown
from wellread.serve.web.runs import HealthChecks

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


class SettingsQuery(StrictModel, PageFormat):
    """Which settings: those whose name or help has these letters."""

    query: str = ""


class SettingBody(PlainBody):
    """A setting; ``origin`` is ``default``, the settings file or the name of a variable."""

    name: str
    value: str
    default: str
    variable: str
    origin: str
    changed: bool
    help: str


class SettingsPageBody(PlainBody):
    """The settings of the home that is served."""

    home: str
    settings: tuple[SettingBody, ...]


@router.get("/settings")
def settings(kb: WholeKb, request: Request, asked: Annotated[SettingsQuery, Query()]) -> Response:
    """Every setting, its value in this server, and where that comes from."""
    values = kb.settings.model_dump()
    origins = settings_origins(kb.home)
    wanted = asked.query.casefold()
    rows = []
    for row in settings_table():
        section, _, name = row.name.partition(".")
        value = values[section][name]
        if wanted not in f"{row.name} {row.help}".casefold():
            continue
        rows.append(
            SettingBody(
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
    return shown(request, "settings.html", body, asked=asked)


def _told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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
