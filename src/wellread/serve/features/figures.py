"""Routes for usage metrics, as JSON (``/api/metrics``) and for Prometheus, and the health check.

Prometheus numbers are read from the catalogue on each request, so that counters survive restarts
and agree in every process. Labels contain our own terms (outcome, step, verdict, …) and names of
providers and models, never words of a question, a source or a person.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Literal

from anyio import to_thread
from fastapi import Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from wellread.ask.retrieve.search import check_index
from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.learning.metric_report import MetricReport, PeriodName, Ratings, metrics
from wellread.serve.error_shapes import STOPPING, ProblemError, problem_of_status
from wellread.serve.features.feature import FeatureRouter
from wellread.serve.guards.route_rules import Kb, WholeKb
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.answer_figures import TimeRange
from wellread.store.schema.stored_values import (
    AnswersPerPeriod,
    AnswerTotals,
    GapCount,
    Latency,
    ModelUsageTotal,
    Topic,
)
from wellread.store.schema.tables import TOTAL
from wellread.text.periods import window_of
from wellread.values.answers import BEFORE, CATALOGUE, EXTRACTIVE, NOBODY

router = FeatureRouter("open")
anybody, admin = router.requiring("open", "admin")


def share_of_questions(count: int, sums: AnswerTotals) -> float:
    """Return ``count`` as a share of all questions."""
    return count / (sums.asked or 1)


def verdicts_of(sums: AnswerTotals) -> dict[str, int]:
    """Return the number of sentences by verdict."""
    return {
        "quoted": sums.quoted,
        "supported": sums.supported,
        "partial": sums.partial,
        "not_checked": sums.not_checked,
        "uncited": sums.uncited_sentences,
        "unsupported": sums.unsupported,
    }


FACES.show_whole(AnswersPerPeriod, GapCount, Ratings)
FACES.show(ModelUsageTotal, "* -seconds")
FACES.show(Topic, "name=topic asked unanswered")
FACES.show(
    AnswerTotals,
    """asked cited uncited unanswered asked_back follow_ups cached cited_rate no_answer_rate
    follow_up_rate high medium low confidence citations verdicts input_tokens output_tokens cost""",
    cited_rate=(float, lambda sums: share_of_questions(sums.cited, sums)),
    no_answer_rate=(float, lambda sums: share_of_questions(sums.unanswered, sums)),
    follow_up_rate=(float, lambda sums: share_of_questions(sums.follow_ups, sums)),
    verdicts=(dict[str, int], verdicts_of),
)
FACES.show(
    Latency,
    "name answers mean p50 p90 p95 p99",
    mean=(float, lambda latency: round(latency.seconds / latency.answers, 4)),
    **{
        name: (float, lambda latency, index=index: round(latency.percentiles[index], 4))
        for index, name in enumerate(("p50", "p90", "p95", "p99"))
    },
)


def types_of(report: MetricReport) -> list[Topic]:
    """Return the question types as topics."""
    return [
        Topic(kind="type", topic=name or "unknown", asked=asked, unanswered=unanswered)
        for name, asked, unanswered in report.types
    ]


class MetricsBody(
    Shape,
    line="""period=report.period.name since=report.period.since until=report.period.until
    part=report.period.part sums=report.sums previous=report.before trend=report.trend answered_by
    types latencies=report.latencies collections=report.collections fields=report.fields
    words=report.words gaps=report.gaps ratings=report.ratings calls=report.calls""",
    answered_by=(dict[str, int], lambda body: dict(body.report.answerers)),
    types=(tuple[Topic, ...], lambda body: types_of(body.report)),
):
    """Metrics from ``since`` until before ``until``, in steps of ``part``.

    ``previous`` covers the preceding period of equal length; null without one.
    """

    report: MetricReport


@admin.get("/api/metrics")
def figures(kb: Kb, period: PeriodName = "month", since: str = "", until: str = "") -> MetricsBody:
    """Return questions, answers, verdicts, ratings, topics, gaps, latencies and cost.

    The period is the last day, week or month, all, or ``since`` to ``until`` (inclusive).
    """
    return MetricsBody(report=report_of(kb, period, since, until))


def report_of(kb: KnowledgeBase, period: PeriodName, since: str, until: str) -> MetricReport:
    """Return the metrics of ``period``, or between two dates if at least one of them is given."""
    start, end = window_of(since, until, hint="swap the two dates")
    return metrics(kb, period, start, end)


# --- health check ----------------------------------------------------------------------------

logger = logging.getLogger(__name__)
NOT_READY = problem_of_status(503, "The stores cannot be read.", "See the server's log.")


class HealthBody(Shape):
    """The state of the server and the size of its material."""

    status: Literal["ok"]
    documents: int
    passages: int
    version: str


@anybody.get("/healthz")
async def healthz(kb: Kb, request: Request) -> HealthBody:
    """Check that the server is not stopping and that its stores are readable and complete.
    Counts are 0 for clients that are not signed in."""
    state = request.app.state
    if state.stopping:
        raise ProblemError(STOPPING)
    with_counts = "read" in request.state.rights.scopes
    return await to_thread.run_sync(
        partial(check_health, kb, state.kb, with_counts=with_counts), limiter=state.room_for_health
    )


def check_health(kb: KnowledgeBase, whole_kb: KnowledgeBase, *, with_counts: bool) -> HealthBody:
    """Check that the stores are readable and complete, and count what the asker may read."""
    stats = kb.catalogue.listings.kinds()
    try:
        whole_kb.catalogue.check_files()
        if whole_kb.catalogue.reindexing.live() is not None:
            check_index(whole_kb)
    except WellreadError as error:
        logger.error("not ready: %s", error)
        raise ProblemError(NOT_READY) from error
    return HealthBody(
        status="ok",
        documents=sum(row.documents for row in stats if with_counts),
        passages=sum(row.passages for row in stats if with_counts),
        version=version("wellread"),
    )


# --- Prometheus ------------------------------------------------------------------------------

# In seconds: a step takes milliseconds without a model, up to two minutes with one.
BUCKET_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
INFINITE_BOUND = "+Inf"
OPEN_METRICS_NAME = "application/openmetrics-text"
OPEN_METRICS = f"{OPEN_METRICS_NAME}; version=1.0.0"
_STEP_TIME, _ANSWER_TIME = "wellread_step_seconds", "wellread_answer_seconds"
_ANSWERERS = {EXTRACTIVE, CATALOGUE, BEFORE, NOBODY}
_LABELS = ("purpose", "provider", "model")
# The help text and the labels of each counter.
_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "wellread_questions": ("Questions asked, by outcome.", ("outcome",)),
    "wellread_follow_ups": ("Questions that were understood from earlier turns.", ()),
    "wellread_cached_answers": ("Questions answered with a stored answer.", ()),
    "wellread_answers": ("Answers by writer.", ("answered_by",)),
    "wellread_answers_by_confidence": ("Answers by confidence band.", ("band",)),
    "wellread_citations": ("Citations in answers.", ()),
    "wellread_sentences": ("Sentences of answers by verdict.", ("verdict",)),
    "wellread_ratings": ("Expert ratings of whole answers.", ()),
    "wellread_provider_calls": ("Model calls.", (*_LABELS, "result")),
    "wellread_provider_tokens": ("Tokens that models read and wrote.", (*_LABELS, "direction")),
    "wellread_provider_cost_dollars": ("US dollars spent on model calls.", _LABELS),
    "wellread_provider_seconds": ("Seconds spent in model calls.", _LABELS),
}
Key = tuple[str, ...]  # the name of a counter and the values of its labels
_GAP_LABELS = ("kind", "status")


@admin.get("/metrics", response_class=Response)
def prometheus(kb: WholeKb, request: Request) -> Response:
    """Return counters, histograms and gauges for Prometheus, as text or OpenMetrics."""
    content, media_type = prometheus_text(kb, request.headers.get("accept", ""))
    return Response(content, headers={"content-type": media_type, "cache-control": "no-store"})


def prometheus_text(kb: KnowledgeBase, accept: str) -> tuple[bytes, str]:
    """Return the metrics in the format that ``accept`` requests, and its media type."""
    sums = {json.dumps(key): value for key, value in _counter_values(kb)}
    stored = kb.catalogue.counters.monotonic(sums)
    counters = {tuple(json.loads(key)): value for key, value in stored.items()}
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_FixedCollector([*_families(counters), *_gauges(kb)]))
    # Other requested versions or escapings are ignored, because the library may fail on them.
    encoder, media_type = choose_encoder(OPEN_METRICS if OPEN_METRICS_NAME in accept else "")
    return encoder(registry), media_type


class _FixedCollector(Collector):
    """Hands already computed metrics to the Prometheus library."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        return self._families


def _counter_values(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    """Yield each counter with its label values and current value."""
    sums = kb.catalogue.figures.sums(TimeRange())
    outcomes = ("cited", "uncited", "unanswered", "asked_back")
    yield from ((("wellread_questions", name), getattr(sums, name)) for name in outcomes)
    yield ("wellread_follow_ups",), sums.follow_ups
    yield ("wellread_cached_answers",), sums.cached
    yield ("wellread_citations",), sums.citations
    for band in ("high", "medium", "low"):
        yield ("wellread_answers_by_confidence", band), getattr(sums, band)
    yield from ((("wellread_sentences", name), count) for name, count in verdicts_of(sums).items())
    yield from _by_answerer(kb)
    yield ("wellread_ratings",), kb.catalogue.figures.ratings(TimeRange())[0]
    yield from _step_values(kb)
    yield from _model_calls(kb)


def _by_answerer(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    """Yield the answers by writer; all models count as ``model``."""
    counts = dict.fromkeys([*sorted(_ANSWERERS), "model"], 0)
    for writer, _, answers, _ in kb.catalogue.figures.by_answerer_and_type(TimeRange()):
        counts[writer if writer in _ANSWERERS else "model"] += answers
    for writer, answers in counts.items():
        yield ("wellread_answers", writer.replace(" ", "_")), answers


def _step_values(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    bounds = (*map(str, BUCKET_BOUNDS), INFINITE_BOUND)
    for step, (counts, seconds) in kb.catalogue.figures.histogram(BUCKET_BOUNDS).items():
        key: Key = (_ANSWER_TIME,) if step == TOTAL else (_STEP_TIME, step)
        yield (*key, "sum"), seconds
        for bound, count in zip(bounds, counts, strict=True):
            yield (*key, bound), count


def _model_calls(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    for total in kb.catalogue.figures.calls(TimeRange()):
        labels = (total.purpose, total.provider, total.model)
        yield ("wellread_provider_calls", *labels, "ok"), total.calls - total.failed
        yield ("wellread_provider_calls", *labels, "failed"), total.failed
        yield ("wellread_provider_tokens", *labels, "input"), total.input_tokens
        yield ("wellread_provider_tokens", *labels, "output"), total.output_tokens
        yield ("wellread_provider_cost_dollars", *labels), total.cost
        yield ("wellread_provider_seconds", *labels), total.seconds


def _families(counters: dict[Key, float]) -> Iterator[Metric]:
    for name, (help_text, labels) in _COUNTERS.items():
        family = CounterMetricFamily(name, help_text, labels=labels)
        for key, value in counters.items():
            if key[0] == name:
                family.add_metric(key[1:], value)
        yield family
    steps = HistogramMetricFamily(_STEP_TIME, "Seconds of one step of answering.", labels=["step"])
    for step in sorted({key[1] for key in counters if key[0] == _STEP_TIME}):
        steps.add_metric([step], *_histogram(counters, (_STEP_TIME, step)))
    answer = HistogramMetricFamily(_ANSWER_TIME, "Seconds from question to answer.", labels=[])
    if (_ANSWER_TIME, "sum") in counters:
        answer.add_metric([], *_histogram(counters, (_ANSWER_TIME,)))
    yield from (steps, answer)


def _histogram(counters: dict[Key, float], key: Key) -> tuple[list[tuple[str, float]], float]:
    """Return the cumulative count at each bound, and the sum of seconds."""
    buckets, cumulative = [], 0.0
    for bound in (*map(str, BUCKET_BOUNDS), INFINITE_BOUND):
        cumulative += counters.get((*key, bound), 0.0)
        buckets.append((bound, cumulative))
    return buckets, counters[(*key, "sum")]


def _gauges(kb: KnowledgeBase) -> Iterator[Metric]:
    gaps = GaugeMetricFamily("wellread_gaps", "Unanswered questions (gaps).", labels=_GAP_LABELS)
    for gap in kb.catalogue.figures.gaps(TimeRange()):
        gaps.add_metric([gap.kind, gap.status], gap.questions)
    yield gaps
    info = GaugeMetricFamily("wellread_build_info", "The running release.", labels=["version"])
    info.add_metric([version("wellread")], 1.0)
    yield info
