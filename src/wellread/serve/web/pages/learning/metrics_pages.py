"""How the base is asked and how it answers: figures and charts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from wellread.kb.language_models import dollars
from wellread.learning.metric_report import PeriodName
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.learning.metric_bodies import metrics_body, report_of
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.metric_charts import part_label, seconds_bars, trend_chart
from wellread.serve.web.rendering import PageFormat, shown

PATH = "/figures"  # /metrics is what Prometheus reads
router = APIRouter(include_in_schema=False)


class FiguresQuery(StrictModel, PageFormat):
    """Which time: the last day, week or month, all, or between two dates."""

    period: PeriodName = "month"
    since: str = ""
    until: str = ""


@router.get(PATH)
def figures(kb: Kb, request: Request, asked: Annotated[FiguresQuery, Query()]) -> Response:
    """All metrics of a time, drawn, with their numbers in tables."""
    body = metrics_body(report_of(kb, asked.period, asked.since, asked.until))
    return shown(
        request,
        "learning/metrics.html",
        body,
        asked=asked,
        path=PATH,
        periods=("day", "week", "month", "all"),
        trend=trend_chart(body.trend, body.part),
        bars=seconds_bars(body.latencies),
        label=part_label,
        dollars=dollars,
    )
