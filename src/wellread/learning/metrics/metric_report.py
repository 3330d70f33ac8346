"""All metrics of one period, worked out by the catalogue; nothing here reads an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from wellread.kb import KnowledgeBase
from wellread.learning.metrics.metric_periods import Period, PeriodName, in_parts, period_of
from wellread.store.schema.stored_values import (
    Counted,
    GapCount,
    Latency,
    Spent,
    Sums,
    Topic,
)

TOPICS = 10  # of each kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """Ratings that were given in the period, their ``mean`` 0-100."""

    given: int
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReport:
    """The metrics of a period.

    Attributes:
        before: of the same length of time before it; None where there is none.
        types: of questions, with how many were asked and how many were not answered.
    """

    period: Period
    sums: Sums
    before: Sums | None
    trend: tuple[Counted, ...]
    answerers: tuple[tuple[str, int], ...]
    types: tuple[tuple[str, int, int], ...]
    latencies: tuple[Latency, ...]
    collections: tuple[Topic, ...]
    fields: tuple[Topic, ...]
    words: tuple[Topic, ...]
    gaps: tuple[GapCount, ...]
    ratings: Ratings
    calls: tuple[Spent, ...]


def metrics(
    kb: KnowledgeBase,
    name: PeriodName = "month",
    since: datetime | None = None,
    until: datetime | None = None,
) -> MetricReport:
    """The metrics of the period of this name, or from ``since`` to before ``until``.

    Raises:
        StoreError: the catalogue cannot be read, or the figures of old answers not be written.
    """
    figures = kb.catalogue.figures
    period = period_of(name, since, until, now=datetime.now(UTC), first=figures.first())
    within = period.within
    topics = {kind: tuple(figures.topics(within, kind, TOPICS)) for kind in _KINDS}
    asked = figures.by_answerer_and_type(within)
    given, mean = figures.ratings(within)
    return MetricReport(
        period=period,
        sums=figures.sums(within),
        before=figures.sums(period.before) if period.before else None,
        trend=tuple(in_parts(period, figures.over_time(within, period.unit))),
        answerers=_answerers(asked),
        types=_types(asked),
        latencies=tuple(figures.latencies(within)),
        collections=topics["collection"],
        fields=topics["field"],
        words=topics["word"],
        gaps=tuple(figures.gaps(within)),
        ratings=Ratings(given=given, mean=mean),
        calls=tuple(figures.calls(within)),
    )


_KINDS = ("collection", "field", "word")
Asked = Sequence[tuple[str, str, int, int]]


def _answerers(asked: Asked) -> tuple[tuple[str, int], ...]:
    """Who answered to how many questions."""
    counts: Counter[str] = Counter()
    for by, _, count, _ in asked:
        counts[by] += count
    return tuple(sorted(counts.items()))


def _types(asked: Asked) -> tuple[tuple[str, int, int], ...]:
    """Types of questions with how many were asked and not answered, the most asked first."""
    counts: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    for _, kind, count, lacking in asked:
        counts[kind] += count
        unanswered[kind] += lacking
    ordered = sorted(counts, key=lambda kind: (-counts[kind], kind))
    return tuple((kind, counts[kind], unanswered[kind]) for kind in ordered)
