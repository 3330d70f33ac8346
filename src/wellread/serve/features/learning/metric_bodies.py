"""Metrics and calibration as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from wellread.kb import KnowledgeBase
from wellread.learning.calibration.calibrate import LEAST, RIGHT_FROM, Trial
from wellread.learning.metrics.metric_periods import PeriodName
from wellread.learning.metrics.metric_report import MetricReport, metrics
from wellread.serve.features.bodies import PlainBody
from wellread.store.schema.calibration_values import Calibration
from wellread.store.schema.figure_values import (
    Sums,
)
from wellread.text.timecodes import window_of


class VerdictCountsBody(PlainBody):
    """Sentences of answers by their verdict."""

    quoted: int
    supported: int
    partial: int
    not_checked: int
    uncited: int
    unsupported: int


class SumsBody(PlainBody):
    """Answers of a time and what they add up to; rates are shares of ``asked``.

    ``cited``: answered with citations; ``unanswered``: the material did not hold it;
    ``asked_back``: it was asked what is meant, or nothing was asked; ``cached``: given before and
    given again, counted in all others too. ``high``, ``medium``, ``low``: bands of confidence of
    those that were answered, ``confidence`` its mean.
    """

    asked: int
    cited: int
    uncited: int
    unanswered: int
    asked_back: int
    follow_ups: int
    cached: int
    cited_rate: float
    no_answer_rate: float
    follow_up_rate: float
    high: int
    medium: int
    low: int
    confidence: float
    citations: int
    verdicts: VerdictCountsBody
    input_tokens: int
    output_tokens: int
    cost: float


class TrendBody(PlainBody):
    """Answers of one hour, day, week or month, which begins at ``start``."""

    start: datetime
    asked: int
    cited: int
    unanswered: int
    follow_ups: int
    cost: float


class NamedCountBody(PlainBody):
    """How many questions of one type, or about one topic, were asked and not answered."""

    name: str
    asked: int
    unanswered: int


class LatencyBody(PlainBody):
    """Seconds of one step of answering; ``total`` are all together."""

    name: str
    answers: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float


class GapCountBody(PlainBody):
    """Questions of one kind and status in the ledger of gaps."""

    kind: str
    status: str
    questions: int


class ReliabilityBinBody(PlainBody):
    """Rated answers with a confidence from ``since`` to ``until``; ratings as shares of 100.

    ``low`` to ``high`` is the 95 % interval of the mean rating; ``right`` the share rated right.
    """

    since: float
    until: float
    answers: int
    confidence: float
    rating: float
    low: float
    high: float
    right: float


class RatingsBody(PlainBody):
    """What experts said: ratings given in the period, and rated answers by their confidence.

    ``off`` is the mean distance of confidence and share rated right (from ``right_from`` of 100).
    """

    given: int
    mean: float | None
    answers: int
    right_from: float
    off: float | None
    bins: tuple[ReliabilityBinBody, ...]


class SpentBody(PlainBody):
    """Calls of one purpose, provider and model on the days of the period; ``cost`` in dollars."""

    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float


class CalibrationBody(PlainBody):
    """A calibration: log odds of confidence times ``slope`` plus ``intercept``.

    ``before`` and ``after`` are Brier scores on answers that it was not fitted on, of the shipped
    confidence and of this one, ``gain`` their difference with its 95 % interval.
    """

    slope: float
    intercept: float
    lowest: float
    fitted_at: str
    answers: int
    questions: int
    raters: int
    largest_share: float
    right: float
    before: float
    after: float
    gain: float
    gain_low: float
    gain_high: float


class MetricsBody(PlainBody):
    """The metrics from ``since`` on and before ``until``, drawn by ``part``.

    ``previous`` is of the same length of time before it, null where there is none.
    """

    period: str
    since: datetime | None
    until: datetime
    part: str
    sums: SumsBody
    previous: SumsBody | None
    trend: tuple[TrendBody, ...]
    answered_by: dict[str, int]
    types: tuple[NamedCountBody, ...]
    latencies: tuple[LatencyBody, ...]
    collections: tuple[NamedCountBody, ...]
    fields: tuple[NamedCountBody, ...]
    words: tuple[NamedCountBody, ...]
    gaps: tuple[GapCountBody, ...]
    ratings: RatingsBody
    calls: tuple[SpentBody, ...]
    calibration: CalibrationBody | None


class CalibrationStateBody(PlainBody):
    """The calibration in force, null when confidence is as shipped, and how many come before it.

    ``rated`` answers are known, ``needed`` are the least to fit one.
    """

    in_force: CalibrationBody | None
    earlier: int
    rated: int
    needed: int
    right_from: float


class CalibrateBody(PlainBody):
    """What came of fitting; ``changed``: another confidence is in force now."""

    rated: int
    missing: int
    better: bool
    changed: bool
    why: str
    warnings: tuple[str, ...]
    fitted: CalibrationBody | None


class UndoneBody(PlainBody):
    """What was taken away, null when nothing was in force, and what is in force now."""

    removed: CalibrationBody | None
    in_force: CalibrationBody | None


def metrics_body(report: MetricReport) -> MetricsBody:
    """Metrics as JSON."""
    period = report.period
    topics = {
        kind: [
            NamedCountBody(name=one.topic, asked=one.asked, unanswered=one.unanswered)
            for one in getattr(report, kind)
        ]
        for kind in ("collections", "fields", "words")
    }
    return MetricsBody.of(
        report,
        period=period.name,
        since=period.since,
        until=period.until,
        part=period.part,
        sums=sums_body(report.sums),
        previous=sums_body(report.before) if report.before else None,
        answered_by=dict(report.answerers),
        types=[
            NamedCountBody(name=name or "unknown", asked=asked, unanswered=unanswered)
            for name, asked, unanswered in report.types
        ],
        latencies=_latencies(report),
        ratings=RatingsBody.of(report.ratings, right_from=RIGHT_FROM),
        **topics,
    )


def sums_body(sums: Sums) -> SumsBody:
    """Sums with the rates that they make."""
    asked = sums.asked or 1
    return SumsBody.of(
        sums,
        cited_rate=sums.cited / asked,
        no_answer_rate=sums.unanswered / asked,
        follow_up_rate=sums.follow_ups / asked,
        verdicts=VerdictCountsBody.of(sums, uncited=sums.uncited_sentences),
    )


def _latencies(report: MetricReport) -> Sequence[LatencyBody]:
    found = []
    for one in report.latencies:
        p50, p90, p95, p99 = (round(value, 4) for value in one.percentiles)
        mean = round(one.seconds / one.answers, 4)
        found.append(
            LatencyBody(
                name=one.name, answers=one.answers, mean=mean, p50=p50, p90=p90, p95=p95, p99=p99
            )
        )
    return found


def calibration_body(calibration: Calibration | None) -> CalibrationBody | None:
    """A calibration as JSON."""
    return CalibrationBody.of(calibration) if calibration else None


def calibrate_body(trial: Trial, *, kept: bool) -> CalibrateBody:
    """What came of fitting as JSON."""
    fitted = calibration_body(trial.fitted)
    return CalibrateBody.of(trial, fitted=fitted, changed=kept and trial.better)


def state_body(kb: KnowledgeBase) -> CalibrationStateBody:
    """What is in force in ``kb``, and how many answers are rated.

    Raises:
        StoreError: the catalogue cannot be read, or the figures of old answers not be written.
    """
    kb.catalogue.facts_of_answers.complete()
    every = kb.catalogue.calibrations.every()
    return CalibrationStateBody(
        in_force=calibration_body(every[-1] if every else None),
        earlier=max(0, len(every) - 1),
        rated=kb.catalogue.calibrations.rated(),
        needed=LEAST,
        right_from=RIGHT_FROM,
    )


def undone_body(kb: KnowledgeBase) -> UndoneBody:
    """Take the calibration in force away, and tell what is in force then.

    Raises:
        StoreError: the catalogue cannot be written.
    """
    removed = kb.catalogue.calibrations.undo()
    now = kb.catalogue.calibrations.live()
    return UndoneBody(removed=calibration_body(removed), in_force=calibration_body(now))


def report_of(kb: KnowledgeBase, period: PeriodName, since: str, until: str) -> MetricReport:
    """The metrics of the period, or of the time between two dates where one is given.

    Raises:
        RequestError: a date that is none, or a time that ends before it begins.
        StoreError: as ``metrics``.
    """
    start, end = window_of(since, until, hint="swap the two dates")
    return metrics(kb, period, start, end)
