"""Periods of dated documents, cut where their number changes.

The cuts are those that leave the counts of neighbouring buckets as even as they can be (the
natural breaks of Fisher, "On Grouping for Maximum Homogeneity", JASA 1958).
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

LEAST_DATED = 6  # documents, from which periods are worth a search each
MOST = 6
OF_A_PERIOD = 3  # documents, on average, that a period should have
LONGEST_BY_MONTH, LONGEST_BY_QUARTER = 18, 48  # months


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From the first to the last moment, and how many documents are from then."""

    since: datetime
    until: datetime
    title: str
    count: int


def periods_of(dates: Sequence[datetime]) -> list[Period]:
    """At most six periods, in order, each with a document; none where they would tell nothing.

    Args:
        dates: ascending.
    """
    if len(dates) < LEAST_DATED:
        return []
    months = [_month(day) for day in dates]
    first, last = months[0], months[-1]
    length = last - first + 1
    size = 1 if length <= LONGEST_BY_MONTH else 3 if length <= LONGEST_BY_QUARTER else 12
    start = first - first % size
    buckets = [0] * ((last - start) // size + 1)
    for month in months:
        buckets[(month - start) // size] += 1
    wanted = min(MOST, len(dates) // OF_A_PERIOD, len(buckets))
    if wanted < 2:
        return []
    found = []
    for begin, end in _breaks(buckets, wanted):
        count = sum(buckets[begin:end])
        if count:
            found.append(_period(start + begin * size, start + end * size - 1, count))
    return found if len(found) > 1 else []


def _month(day: datetime) -> int:
    return 12 * day.year + day.month - 1


def _period(first: int, last: int, count: int) -> Period:
    year, month = divmod(last, 12)
    end = calendar.monthrange(year, month + 1)[1]
    since = datetime(first // 12, first % 12 + 1, 1, tzinfo=UTC)
    until = datetime(year, month + 1, end, 23, 59, 59, 999_999, tzinfo=UTC)
    return Period(since=since, until=until, title=_title(first, last), count=count)


def _title(first: int, last: int) -> str:
    if first % 12 == 0 and last % 12 == 11:
        years = (first // 12, last // 12)
        return str(years[0]) if years[0] == years[1] else f"{years[0]}–{years[1]}"
    names = [f"{month // 12}-{month % 12 + 1:02}" for month in (first, last)]
    return names[0] if first == last else f"{names[0]} to {names[1]}"


def _breaks(counts: Sequence[int], parts: int) -> list[tuple[int, int]]:
    """``counts`` in ``parts`` runs whose squared distances from their means are least."""
    size = len(counts)
    sums, squares = [0], [0]
    for count in counts:
        sums.append(sums[-1] + count)
        squares.append(squares[-1] + count * count)

    def spread(begin: int, end: int) -> float:
        total = sums[end] - sums[begin]
        return squares[end] - squares[begin] - total * total / (end - begin)

    best = [[0.0] * (size + 1) for _ in range(parts + 1)]
    cut = [[0] * (size + 1) for _ in range(parts + 1)]
    for end in range(1, size + 1):
        best[1][end] = spread(0, end)
    for part in range(2, parts + 1):
        for end in range(part, size + 1):
            options = [(best[part - 1][at] + spread(at, end), at) for at in range(part - 1, end)]
            best[part][end], cut[part][end] = min(options)
    runs: list[tuple[int, int]] = []
    end = size
    for part in range(parts, 0, -1):
        begin = cut[part][end] if part > 1 else 0
        runs.append((begin, end))
        end = begin
    return runs[::-1]
