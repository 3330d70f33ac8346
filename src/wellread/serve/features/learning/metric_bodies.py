"""Metrics as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from wellread.kb import KnowledgeBase
from wellread.learning.metric_report import MetricReport, PeriodName, metrics
from wellread.serve.features.bodies import PlainBody
from wellread.store.schema.figure_values import Sums
from wellread.text.periods import window_of


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


class RatingsBody(PlainBody):
    """Ratings that experts gave in the period, and their mean."""

    given: int
    mean: float | None


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
        ratings=RatingsBody.of(report.ratings),
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


def report_of(kb: KnowledgeBase, period: PeriodName, since: str, until: str) -> MetricReport:
    """The metrics of the period, or of the time between two dates where one is given.

    Raises:
        RequestError: a date that is none, or a time that ends before it begins.
        StoreError: as ``metrics``.
    """
    start, end = window_of(since, until, hint="swap the two dates")
    return metrics(kb, period, start, end)
