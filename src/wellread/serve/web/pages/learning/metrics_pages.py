"""How the base is asked and how it answers: figures, charts, and the confidence in force."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.kb.language_models import dollars
from wellread.learning.calibration.calibrate import calibrate
from wellread.learning.metrics.metric_periods import PeriodName
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.learning.metric_bodies import (
    CalibrateBody,
    CalibrationStateBody,
    MetricsBody,
    calibrate_body,
    metrics_body,
    report_of,
    state_body,
    undone_body,
)
from wellread.serve.features.learning.metric_print import calibration_words
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.metric_charts import (
    part_label,
    reliability_chart,
    seconds_bars,
    trend_chart,
)
from wellread.serve.web.rendering import PageFormat, drawn, shown

PATH = "/figures"  # /metrics is what Prometheus reads
router = APIRouter(include_in_schema=False)


class FiguresQuery(StrictModel, PageFormat):
    """Which time: the last day, week or month, all, or between two dates."""

    period: PeriodName = "month"
    since: str = ""
    until: str = ""


class FiguresPageBody(MetricsBody):
    """What ``/api/metrics`` tells, with what ``/api/calibration`` does."""

    state: CalibrationStateBody


@router.get(PATH)
def figures(kb: Kb, request: Request, asked: Annotated[FiguresQuery, Query()]) -> Response:
    """All metrics of a time, drawn, with their numbers in tables."""
    told = metrics_body(report_of(kb, asked.period, asked.since, asked.until))
    body = FiguresPageBody.of(told, state=state_body(kb))
    return shown(
        request,
        "learning/metrics.html",
        body,
        asked=asked,
        path=PATH,
        periods=("day", "week", "month", "all"),
        trend=trend_chart(body.trend, body.part),
        reliability=reliability_chart(body.ratings.bins),
        bars=seconds_bars(body.latencies),
        label=part_label,
        dollars=dollars,
        calibration_words=calibration_words,
    )


@router.post(f"{PATH}/calibration")
def change(kb: Kb, request: Request, action: Annotated[str, Form()] = "") -> Response:
    """Fit confidence on the ratings, say what would come of it, or take the last one back."""
    if action == "undo":
        undone_body(kb)
        return RedirectResponse(f"{PATH}#calibration", status_code=303)
    keep = action == "fit"
    found: CalibrateBody = calibrate_body(calibrate(kb, keep=keep), kept=keep)
    return drawn(request, "learning/calibrated.html", {"found": found, "path": PATH})
