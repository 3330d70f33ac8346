"""All metrics of one period, worked out by the catalogue; nothing here reads an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from wellread.kb import KnowledgeBase
from wellread.store.catalogue.answer_figures import Unit, Within, moment_of
from wellread.store.schema.stored_values import Counted, GapCount, Latency, Spent, Sums, Topic

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
    """The metrics of the period of this name, or from ``since`` to before ``until``."""
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


PeriodName = Literal["day", "week", "month", "all"]
Part = Literal["hour", "day", "week", "month"]
# How long each period is, and what its first moment is rounded down to.
_LENGTHS: dict[PeriodName, timedelta] = {
    "day": timedelta(hours=23),
    "week": timedelta(days=6),
    "month": timedelta(days=29),
}
# The longest time that is drawn in each part; what is longer is drawn in months.
_LONGEST: tuple[tuple[Part, timedelta], ...] = (
    ("hour", timedelta(days=2)),
    ("day", timedelta(days=92)),
    ("week", timedelta(days=2 * 366)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From ``since`` on and before ``until``, drawn in parts of one ``part`` each.

    Attributes:
        since: None where there is no first answer either.
        before: the same length before it, to compare with; None where there is none.
        open: it ends now.
    """

    name: PeriodName | Literal["given"]
    since: datetime | None
    until: datetime
    part: Part
    before: Within | None
    open: bool

    @property
    def within(self) -> Within:
        """The time as the catalogue is asked for it: nothing was answered after now."""
        return Within(since=self.since, until=None if self.open else self.until)

    @property
    def unit(self) -> Unit:
        """What answers are counted by, to be put together to parts."""
        return "hour" if self.part == "hour" else "day"


def period_of(
    name: PeriodName,
    since: datetime | None,
    until: datetime | None,
    *,
    now: datetime,
    first: datetime | None,
) -> Period:
    """The period of this name, or the one from ``since`` to before ``until`` where one is given.

    ``day`` are the last 24 hours, ``week`` and ``month`` the last 7 and 30 days (UTC), each with
    the one that runs; ``all`` begins with ``first``, when the first answer was given.
    """
    end = until or now + timedelta(microseconds=1)
    named: PeriodName | Literal["given"]
    if since or until:
        begin, named = since or first, "given"
    elif name == "all":
        begin, named = first, name
    else:
        begin, named = _floor(now - _LENGTHS[name], "hour" if name == "day" else "day"), name
    length = max(end - begin, timedelta(0)) if begin else timedelta(0)
    part: Part = next((part for part, most in _LONGEST if length <= most), "month")
    compared = begin is not None and (since is not None or named not in ("all", "given"))
    before = None
    if compared and begin:
        # Whole minutes, so that the same is asked for again within one.
        start = (begin - length).replace(second=0, microsecond=0)
        before = Within(since=start, until=begin)
    return Period(
        name=named,
        since=begin,
        until=end,
        part=part,
        before=before,
        open=until is None,
    )


def in_parts(period: Period, counted: Sequence[Counted]) -> list[Counted]:
    """Every part of the period with what was counted in it, the oldest first; also empty ones."""
    if period.since is None:
        return []
    found = {start: _empty(start) for start in _starts(period)}
    for one in counted:
        start = _floor(moment_of(one.start), period.part)
        into = found.get(start)
        if into is not None:
            found[start] = _joined(into, one)
    return list(found.values())


def _starts(period: Period) -> Iterator[datetime]:
    if period.since is None:
        return
    start = _floor(period.since, period.part)
    while start < period.until:
        yield start
        start = _next(start, period.part)


def _empty(start: datetime) -> Counted:
    return Counted(start=start.isoformat(), asked=0, cited=0, unanswered=0, follow_ups=0, cost=0.0)


def _joined(one: Counted, other: Counted) -> Counted:
    return replace(
        one,
        asked=one.asked + other.asked,
        cited=one.cited + other.cited,
        unanswered=one.unanswered + other.unanswered,
        follow_ups=one.follow_ups + other.follow_ups,
        cost=one.cost + other.cost,
    )


def _floor(moment: datetime, part: Part) -> datetime:
    """When the hour, day, week (from Monday) or month of ``moment`` begins, in UTC."""
    moment = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if part == "hour":
        return moment
    moment = moment.replace(hour=0)
    if part == "week":
        return moment - timedelta(days=moment.weekday())
    return moment.replace(day=1) if part == "month" else moment


def _next(start: datetime, part: Part) -> datetime:
    if part == "month":
        return (start + timedelta(days=32)).replace(day=1)
    length = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
    return start + length[part]
