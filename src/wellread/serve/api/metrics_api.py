"""``/api/metrics``, ``/api/calibration`` and ``/metrics``: how the base is asked and answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from wellread.learning.calibration.calibrate import calibrate
from wellread.learning.metrics.metric_periods import PeriodName
from wellread.serve.api.queries import REFUSED, StrictModel
from wellread.serve.features.learning.metric_bodies import (
    CalibrateBody,
    CalibrationStateBody,
    MetricsBody,
    UndoneBody,
    calibrate_body,
    metrics_body,
    report_of,
    state_body,
    undone_body,
)
from wellread.serve.features.learning.prometheus_text import prometheus_text
from wellread.serve.guards.asking_rights import Kb, WholeKb

router = APIRouter(responses=REFUSED)


class MetricsQuery(StrictModel):
    """Which time: the last day, week or month, all, or from ``since`` to ``until`` (inclusive)."""

    period: PeriodName = "month"
    since: str = ""
    until: str = ""


class CalibrateRequest(StrictModel):
    """``dry_run``: fit and tell what would come of it, and change nothing."""

    dry_run: bool = False


@router.get("/api/metrics", response_model=MetricsBody)
def figures(kb: Kb, asked: Annotated[MetricsQuery, Query()]) -> MetricsBody:
    """Questions, answers, verdicts, ratings, topics, gaps, latencies and cost of a time."""
    return metrics_body(report_of(kb, asked.period, asked.since, asked.until))


@router.get("/metrics", response_class=Response)
def prometheus(kb: WholeKb, request: Request) -> Response:
    """Counters, histograms and gauges for Prometheus, as text or OpenMetrics."""
    content, media_type = prometheus_text(kb, request.headers.get("accept", ""))
    return Response(content, headers={"content-type": media_type, "cache-control": "no-store"})


@router.get("/api/calibration", response_model=CalibrationStateBody)
def calibration(kb: WholeKb) -> CalibrationStateBody:
    """What confidence is calibrated on: what ships with the package, or this base's ratings."""
    return state_body(kb)


@router.post("/api/calibration", response_model=CalibrateBody)
def fit(kb: WholeKb, asked: CalibrateRequest) -> CalibrateBody:
    """Fit confidence on the rated answers of this base; kept only when it is better."""
    trial = calibrate(kb, keep=not asked.dry_run)
    return calibrate_body(trial, kept=not asked.dry_run)


@router.delete("/api/calibration", response_model=UndoneBody)
def undo(kb: WholeKb) -> UndoneBody:
    """Bring back the confidence that was in force before the last calibration."""
    return undone_body(kb)
