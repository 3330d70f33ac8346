"""``/api/metrics`` and ``/metrics``: how the base is asked and answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from wellread.learning.metric_report import PeriodName
from wellread.serve.api.queries import REFUSED, StrictModel
from wellread.serve.features.learning.metric_bodies import MetricsBody, metrics_body, report_of
from wellread.serve.features.learning.prometheus_text import prometheus_text
from wellread.serve.guards.asking_rights import Kb, WholeKb

router = APIRouter(responses=REFUSED)


class MetricsQuery(StrictModel):
    """Which time: the last day, week or month, all, or from ``since`` to ``until`` (inclusive)."""

    period: PeriodName = "month"
    since: str = ""
    until: str = ""


@router.get("/api/metrics", response_model=MetricsBody)
def figures(kb: Kb, asked: Annotated[MetricsQuery, Query()]) -> MetricsBody:
    """Questions, answers, verdicts, ratings, topics, gaps, latencies and cost of a time."""
    return metrics_body(report_of(kb, asked.period, asked.since, asked.until))


@router.get("/metrics", response_class=Response)
def prometheus(kb: WholeKb, request: Request) -> Response:
    """Counters, histograms and gauges for Prometheus, as text or OpenMetrics."""
    content, media_type = prometheus_text(kb, request.headers.get("accept", ""))
    return Response(content, headers={"content-type": media_type, "cache-control": "no-store"})
