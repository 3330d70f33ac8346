"""Builds the metrics report of a period from counts that the catalogue computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from wellread.kb import KnowledgeBase
from wellread.store.catalogue.answer_figures import TimeRange, Unit, moment_of
from wellread.store.schema.stored_values import (
    AnswersPerPeriod,
    AnswerTotals,
    GapCount,
    Latency,
    ModelUsageTotal,
    Topic,
)

MAX_TOPICS = 10  # topics of each kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """The number of ratings in the period and their mean (0-100)."""

    given: int
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReport:
    """The metrics of a period.

    Attributes:
        before: the sums of the preceding period of the same length, if it can be compared.
        types: each question type with the number of questions asked and not answered.
    """

    period: Period
    sums: AnswerTotals
    before: AnswerTotals | None
    trend: tuple[AnswersPerPeriod, ...]
    answerers: tuple[tuple[str, int], ...]
    types: tuple[tuple[str, int, int], ...]
    latencies: tuple[Latency, ...]
    collections: tuple[Topic, ...]
    fields: tuple[Topic, ...]
    words: tuple[Topic, ...]
    gaps: tuple[GapCount, ...]
    ratings: Ratings
    calls: tuple[ModelUsageTotal, ...]


def metrics(
    kb: KnowledgeBase,
    name: PeriodName = "month",
    since: datetime | None = None,
    until: datetime | None = None,
) -> MetricReport:
    """The metrics of the named period, or of the time from ``since`` until before ``until``."""
    figures = kb.catalogue.figures
    period = period_of(name, since, until, now=datetime.now(UTC), first=figures.first())
    within = period.within
    topics = {kind: tuple(figures.topics(within, kind, MAX_TOPICS)) for kind in _KINDS}
    rows = figures.by_answerer_and_type(within)
    rated, mean = figures.ratings(within)
    return MetricReport(
        period=period,
        sums=figures.sums(within),
        before=figures.sums(period.before) if period.before else None,
        trend=tuple(fill_parts(period, figures.over_time(within, period.unit))),
        answerers=tuple((by, asked) for by, asked, _ in sorted(_added_up(rows, 0))),
        types=tuple(sorted(_added_up(rows, 1), key=lambda row: (-row[1], row[0]))),
        latencies=tuple(figures.latencies(within)),
        collections=topics["collection"],
        fields=topics["field"],
        words=topics["word"],
        gaps=tuple(figures.gaps(within)),
        ratings=Ratings(given=rated, mean=mean),
        calls=tuple(figures.calls(within)),
    )


_KINDS = ("collection", "field", "word")


def _added_up(
    rows: Sequence[tuple[str, str, int, int]], column: Literal[0, 1]
) -> Iterator[tuple[str, int, int]]:
    """Answerers (column 0) or question types (1) with the numbers asked and not answered."""
    asked: Counter[str] = Counter()
    unanswered: Counter[str] = Counter()
    for row in rows:
        asked[row[column]] += row[2]
        unanswered[row[column]] += row[3]
    return ((name, count, unanswered[name]) for name, count in asked.items())


PeriodName = Literal["day", "week", "month", "all"]
Part = Literal["hour", "day", "week", "month"]
# Lengths of the periods; each starts at the beginning of the hour (day) or day (week, month).
_LENGTHS: dict[PeriodName, timedelta] = {
    "day": timedelta(hours=23),
    "week": timedelta(days=6),
    "month": timedelta(days=29),
}
# The longest period that is divided into each part; longer periods are divided into months.
_PART_LIMITS: tuple[tuple[Part, timedelta], ...] = (
    ("hour", timedelta(days=2)),
    ("day", timedelta(days=92)),
    ("week", timedelta(days=2 * 366)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A period from ``since`` until before ``until``, divided into hours, days, weeks or months.

    Attributes:
        since: None when the period has no start and no answer exists.
        before: the preceding period of the same length for comparison, if there is one.
        open: whether the period ends now.
    """

    name: PeriodName | Literal["given"]
    since: datetime | None
    until: datetime
    part: Part
    before: TimeRange | None
    open: bool

    @property
    def within(self) -> TimeRange:
        """The period as a query of the catalogue: an open period has no end."""
        return TimeRange(since=self.since, until=None if self.open else self.until)

    @property
    def unit(self) -> Unit:
        """The unit by which the catalogue counts; the counts are then added up to parts."""
        return "hour" if self.part == "hour" else "day"


def period_of(
    name: PeriodName,
    since: datetime | None,
    until: datetime | None,
    *,
    now: datetime,
    first: datetime | None,
) -> Period:
    """The named period, or the time from ``since`` until before ``until`` if either is given.

    ``day`` is the last 24 hours, ``week`` and ``month`` are the last 7 and 30 days (UTC), each
    including the current one; ``all`` starts at ``first``, the time of the first answer.
    """
    end = until or now + timedelta(microseconds=1)
    named: PeriodName | Literal["given"]
    if since or until:
        begin, named = since or first, "given"
    elif name == "all":
        begin, named = first, name
    else:
        begin, named = (_start_of(now - _LENGTHS[name], "hour" if name == "day" else "day"), name)
    length = max(end - begin, timedelta(0)) if begin else timedelta(0)
    part: Part = next((part for part, longest in _PART_LIMITS if length <= longest), "month")
    compared = begin is not None and (since is not None or named not in ("all", "given"))
    before = None
    if compared and begin:
        # Whole minutes, so that calls within the same minute give the same period.
        start = (begin - length).replace(second=0, microsecond=0)
        before = TimeRange(since=start, until=begin)
    return Period(name=named, since=begin, until=end, part=part, before=before, open=until is None)


def fill_parts(period: Period, counted: Sequence[AnswersPerPeriod]) -> list[AnswersPerPeriod]:
    """The counts of every part of the period, the oldest first, including empty parts."""
    nothing = AnswersPerPeriod(start="", asked=0, cited=0, unanswered=0, follow_ups=0, cost=0.0)
    parts = {start: replace(nothing, start=start.isoformat()) for start in _starts(period)}
    for count in counted:
        start = _start_of(moment_of(count.start), period.part)
        total = parts.get(start)
        if total is not None:
            parts[start] = replace(
                total,
                asked=total.asked + count.asked,
                cited=total.cited + count.cited,
                unanswered=total.unanswered + count.unanswered,
                follow_ups=total.follow_ups + count.follow_ups,
                cost=total.cost + count.cost,
            )
    return list(parts.values())


def _starts(period: Period) -> Iterator[datetime]:
    if period.since is None:
        return
    start = _start_of(period.since, period.part)
    while start < period.until:
        yield start
        start = _next_start(start, period.part)


def _start_of(moment: datetime, part: Part) -> datetime:
    """The start of the hour, day, week (from Monday) or month of ``moment``, in UTC."""
    moment = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if part == "hour":
        return moment
    moment = moment.replace(hour=0)
    if part == "week":
        return moment - timedelta(days=moment.weekday())
    return moment.replace(day=1) if part == "month" else moment


def _next_start(start: datetime, part: Part) -> datetime:
    if part == "month":
        return (start + timedelta(days=32)).replace(day=1)
    length = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
    return start + length[part]
