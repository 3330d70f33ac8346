"""All metrics of one period, worked out by the catalogue; nothing here reads an answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from wellread.kb import KnowledgeBase
from wellread.learning.calibration.calibrate import RIGHT_FROM
from wellread.learning.metrics.metric_periods import Period, PeriodName, in_parts, period_of
from wellread.store.catalogue.learning.answer_figures import Within
from wellread.store.schema.calibration_values import Calibration
from wellread.store.schema.figure_values import (
    Counted,
    GapCount,
    Latency,
    RatedBin,
    Spent,
    Sums,
    Topic,
)

TOPICS = 10  # of each kind
WITH_95 = 1.96  # standard errors on each side


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """Rated answers of similar confidence.

    Attributes:
        since, until: the bin's confidences, as shares.
        confidence, rating: their means; ``low`` to ``high`` is the 95 % interval of the rating's.
        right: the share that was rated right.
    """

    since: float
    until: float
    answers: int
    confidence: float
    rating: float
    low: float
    high: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """What experts said of answers.

    Attributes:
        given: ratings that were given in the period, their ``mean`` 0-100.
        answers: of the period that were rated, at any time.
        off: the mean distance of confidence and share rated right; None without rated answers.
    """

    given: int
    mean: float | None
    answers: int
    off: float | None
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReport:
    """The metrics of a period.

    Attributes:
        before: of the same length of time before it; None where there is none.
        types: of questions, with how many were asked and how many were not answered.
        calibration: the base's own that is in force.
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
    calibration: Calibration | None


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
    kb.catalogue.facts_of_answers.complete()
    figures = kb.catalogue.figures
    period = period_of(name, since, until, now=datetime.now(UTC), first=figures.first())
    within = period.within
    topics = {kind: tuple(figures.topics(within, kind, TOPICS)) for kind in _KINDS}
    asked = figures.by_answerer_and_type(within)
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
        ratings=_ratings(kb, within),
        calls=tuple(figures.calls(within)),
        calibration=kb.catalogue.calibrations.live(),
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


def _ratings(kb: KnowledgeBase, within: Within) -> Ratings:
    given, mean = kb.catalogue.figures.ratings(within)
    found = kb.catalogue.figures.rated(within, RIGHT_FROM)
    answers = sum(one.answers for one in found)
    distances = [abs(one.confidence * one.answers - one.right) for one in found]
    return Ratings(
        given=given,
        mean=mean,
        answers=answers,
        off=sum(distances) / answers if answers else None,
        bins=tuple(map(_bin, found)),
    )


def _bin(found: RatedBin) -> ReliabilityBin:
    spread = max(0.0, found.squares / found.answers - found.rating**2)
    # With one answer nothing is known of the spread: the interval is the whole scale.
    half = WITH_95 * math.sqrt(spread / (found.answers - 1)) if found.answers > 1 else 1.0
    return ReliabilityBin(
        since=found.place / 10,
        until=(found.place + 1) / 10,
        answers=found.answers,
        confidence=found.confidence,
        rating=found.rating,
        low=max(0.0, found.rating - half),
        high=min(1.0, found.rating + half),
        right=found.right / found.answers,
    )
