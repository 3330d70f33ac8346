"""How the base is asked and answers: metrics of a time, seconds of steps, Prometheus.

Prometheus: every number comes from the catalogue when it is asked for, so that counters go on over
restarts and are the same in every process. No label holds words of a question, a source or a
person: they are names of ours (outcome, step, verdict, …) and of providers and models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib.metadata import version

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

from wellread.kb import KnowledgeBase
from wellread.learning.metric_report import MetricReport, PeriodName, Ratings, metrics
from wellread.serve.features.feature import FeatureRouter
from wellread.serve.guards.route_rules import Kb, WholeKb
from wellread.serve.views import FACES, PlainShape
from wellread.store.catalogue.answer_figures import Within
from wellread.store.schema.stored_values import Counted, GapCount, Latency, Spent, Sums, Topic
from wellread.store.schema.tables import TOTAL
from wellread.text.periods import window_of
from wellread.values.answers import BEFORE, CATALOGUE, EXTRACTIVE, NOBODY, VerdictName

router = FeatureRouter()


def rate(count: int, sums: Sums) -> float:
    """The share of all that was asked."""
    return count / (sums.asked or 1)


def verdicts_of(sums: Sums) -> dict[str, int]:
    """How many sentences have each verdict."""
    return {
        "quoted": sums.quoted,
        "supported": sums.supported,
        "partial": sums.partial,
        "not_checked": sums.not_checked,
        "uncited": sums.uncited_sentences,
        "unsupported": sums.unsupported,
    }


FACES.show_whole(Counted, GapCount, Ratings)
FACES.show(Spent, "* -seconds")
FACES.show(Topic, "name=topic asked unanswered")
FACES.show(
    Sums,
    """asked cited uncited unanswered asked_back follow_ups cached cited_rate no_answer_rate
    follow_up_rate high medium low confidence citations verdicts input_tokens output_tokens cost""",
    cited_rate=(float, lambda sums: rate(sums.cited, sums)),
    no_answer_rate=(float, lambda sums: rate(sums.unanswered, sums)),
    follow_up_rate=(float, lambda sums: rate(sums.follow_ups, sums)),
    verdicts=(dict[str, int], verdicts_of),
)
FACES.show(
    Latency,
    "name answers mean p50 p90 p95 p99",
    mean=(float, lambda one: round(one.seconds / one.answers, 4)),
    **{
        name: (float, lambda one, at=at: round(one.percentiles[at], 4))
        for at, name in enumerate(("p50", "p90", "p95", "p99"))
    },
)


def types_of(report: MetricReport) -> list[Topic]:
    """The types of questions as topics."""
    return [
        Topic(kind="type", topic=name or "unknown", asked=asked, unanswered=unanswered)
        for name, asked, unanswered in report.types
    ]


class MetricsBody(
    PlainShape,
    line="""period=report.period.name since=report.period.since until=report.period.until
    part=report.period.part sums=report.sums previous=report.before trend=report.trend answered_by
    types latencies=report.latencies collections=report.collections fields=report.fields
    words=report.words gaps=report.gaps ratings=report.ratings calls=report.calls""",
    answered_by=(dict[str, int], lambda body: dict(body.report.answerers)),
    types=(tuple[Topic, ...], lambda body: types_of(body.report)),
):
    """The metrics from ``since`` on and before ``until``, drawn by ``part``.

    ``previous`` is of the same length of time before it, null where there is none.
    """

    report: MetricReport


@router.get("/api/metrics")
def figures(kb: Kb, period: PeriodName = "month", since: str = "", until: str = "") -> MetricsBody:
    """Questions, answers, verdicts, ratings, topics, gaps, latencies and cost of a time.

    The last day, week or month, all, or from ``since`` to ``until`` (inclusive).
    """
    return metrics_body(report_of(kb, period, since, until))


def metrics_body(report: MetricReport) -> MetricsBody:
    """Metrics as they go out."""
    return MetricsBody(report=report)


def report_of(kb: KnowledgeBase, period: PeriodName, since: str, until: str) -> MetricReport:
    """The metrics of the period, or of the time between two dates where one is given.

    Raises:
        RequestError: a date that is none, or a time that ends before it begins.
        StoreError: as ``metrics``.
    """
    start, end = window_of(since, until, hint="swap the two dates")
    return metrics(kb, period, start, end)


# --- for Prometheus --------------------------------------------------------------------------

# Seconds: a step takes milliseconds without a model, and up to two minutes with one.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
ENDLESS = "+Inf"
OPEN_METRICS_NAME = "application/openmetrics-text"
OPEN_METRICS = f"{OPEN_METRICS_NAME}; version=1.0.0"
_STEPS, _WHOLE = "wellread_step_seconds", "wellread_answer_seconds"
_ANSWERERS = {EXTRACTIVE, CATALOGUE, BEFORE, NOBODY}
_CALLED = ("purpose", "provider", "model")
# What each counter says, and its labels.
# What each counter says, and its labels.
_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "wellread_questions": ("Questions asked, by what came of them.", ("outcome",)),
    "wellread_follow_ups": ("Questions that were read with the turns before them.", ()),
    "wellread_cached_answers": ("Questions that were given a kept answer again.", ()),
    "wellread_answers": ("Answers by who wrote them.", ("answered_by",)),
    "wellread_answers_by_confidence": ("Answers by band of confidence.", ("band",)),
    "wellread_citations": ("Citations in answers.", ()),
    "wellread_sentences": ("Sentences of answers by their verdict.", ("verdict",)),
    "wellread_ratings": ("Ratings of whole answers that experts gave.", ()),
    "wellread_provider_calls": ("Calls of models.", (*_CALLED, "result")),
    "wellread_provider_tokens": ("Tokens that models read and wrote.", (*_CALLED, "direction")),
    "wellread_provider_cost_dollars": ("US dollars that calls of models cost.", _CALLED),
    "wellread_provider_seconds": ("Seconds that calls of models took.", _CALLED),
}
Key = tuple[str, ...]
_GAP = ("kind", "status")


@router.get("/metrics", response_class=Response)
def prometheus(kb: WholeKb, request: Request) -> Response:
    """Counters, histograms and gauges for Prometheus, as text or OpenMetrics."""
    content, media_type = prometheus_text(kb, request.headers.get("accept", ""))
    return Response(content, headers={"content-type": media_type, "cache-control": "no-store"})


def prometheus_text(kb: KnowledgeBase, accept: str) -> tuple[bytes, str]:
    """The metrics in the form that ``accept`` asks for, and its media type."""
    sums = {json.dumps(key): value for key, value in _sums(kb)}
    told = kb.catalogue.counters.never_less(sums)
    counters = {tuple(json.loads(key)): value for key, value in told.items()}
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told([*_families(counters), *_gauges(kb)]))
    # What else a client asks for (other versions, escapings) the library may stumble over.
    encoder, media_type = choose_encoder(OPEN_METRICS if OPEN_METRICS_NAME in accept else "")
    return encoder(registry), media_type


class _Told(Collector):
    """Metrics that are known already."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = list(found)

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._found


def _sums(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    """Each counter, with the values of its labels, as the ledger has it now."""
    sums = kb.catalogue.figures.sums(Within())
    outcomes = ("cited", "uncited", "unanswered", "asked_back")
    yield from ((("wellread_questions", name), getattr(sums, name)) for name in outcomes)
    yield ("wellread_follow_ups",), sums.follow_ups
    yield ("wellread_cached_answers",), sums.cached
    yield ("wellread_citations",), sums.citations
    for band in ("high", "medium", "low"):
        yield ("wellread_answers_by_confidence", band), getattr(sums, band)
    for one in VerdictName:
        field = "uncited_sentences" if one is VerdictName.UNCITED else one.value
        yield ("wellread_sentences", one.value), getattr(sums, field)
    yield from _by_answerer(kb)
    yield ("wellread_ratings",), kb.catalogue.figures.ratings(Within())[0]
    yield from _steps(kb)
    yield from _provided(kb)


def _by_answerer(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    """Who answered; every model is ``model``, as the calls of models name them."""
    counts = dict.fromkeys([*sorted(_ANSWERERS), "model"], 0)
    for by, _, answers, _ in kb.catalogue.figures.by_answerer_and_type(Within()):
        counts[by if by in _ANSWERERS else "model"] += answers
    for by, answers in counts.items():
        yield ("wellread_answers", by.replace(" ", "_")), answers


def _steps(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    places = (*map(str, BOUNDS), ENDLESS)
    for step, (counts, seconds) in kb.catalogue.figures.histogram(BOUNDS).items():
        key: Key = (_WHOLE,) if step == TOTAL else (_STEPS, step)
        yield (*key, "sum"), seconds
        for place, count in zip(places, counts, strict=True):
            yield (*key, place), count


def _provided(kb: KnowledgeBase) -> Iterator[tuple[Key, float]]:
    for one in kb.catalogue.figures.calls(Within()):
        called = (one.purpose, one.provider, one.model)
        yield ("wellread_provider_calls", *called, "ok"), one.calls - one.failed
        yield ("wellread_provider_calls", *called, "failed"), one.failed
        yield ("wellread_provider_tokens", *called, "input"), one.input_tokens
        yield ("wellread_provider_tokens", *called, "output"), one.output_tokens
        yield ("wellread_provider_cost_dollars", *called), one.cost
        yield ("wellread_provider_seconds", *called), one.seconds


def _families(counters: dict[Key, float]) -> Iterator[Metric]:
    for name, (told, labels) in _COUNTERS.items():
        family = CounterMetricFamily(name, told, labels=labels)
        for key, value in counters.items():
            if key[0] == name:
                family.add_metric(key[1:], value)
        yield family
    steps = HistogramMetricFamily(_STEPS, "Seconds of one step of answering.", labels=["step"])
    for step in sorted({key[1] for key in counters if key[0] == _STEPS}):
        steps.add_metric([step], *_histogram(counters, (_STEPS, step)))
    whole = HistogramMetricFamily(_WHOLE, "Seconds from question to answer.", labels=[])
    if (_WHOLE, "sum") in counters:
        whole.add_metric([], *_histogram(counters, (_WHOLE,)))
    yield from (steps, whole)


def _histogram(counters: dict[Key, float], key: Key) -> tuple[list[tuple[str, float]], float]:
    """Each bound with how many took up to it, and all seconds."""
    buckets, below = [], 0.0
    for place in (*map(str, BOUNDS), ENDLESS):
        below += counters.get((*key, place), 0.0)
        buckets.append((place, below))
    return buckets, counters[(*key, "sum")]


def _gauges(kb: KnowledgeBase) -> Iterator[Metric]:
    gaps = GaugeMetricFamily("wellread_gaps", "Questions in the ledger of gaps.", labels=_GAP)
    for one in kb.catalogue.figures.gaps(Within()):
        gaps.add_metric([one.kind, one.status], one.questions)
    yield gaps
    info = GaugeMetricFamily("wellread_build_info", "The release that runs.", labels=["version"])
    info.add_metric([version("wellread")], 1.0)
    yield info
