"""How the coverage grew: documents and covered cells at the end of each month."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from wellread.kb import KnowledgeBase
from wellread.learning.coverage_grid import Grid

Clock = Literal["added", "published"]
MOST_MONTHS = 1_200


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredMonth:
    """At the end of the month: documents of the cells, and cells that had reached their target."""

    month: str
    documents: int
    covered: int


def coverage_trend(kb: KnowledgeBase, grid: Grid, clock: Clock) -> list[CoveredMonth]:
    """Each month from the first arrival to the last, those without one too.

    Args:
        clock: whether a document counts from when it was added here, or from when it was
            published; one without that date does not count.
    """
    if not grid.scope.collections:
        return []
    arrivals = kb.catalogue.coverage.arrivals(grid.scope.limits)
    moments: dict[str, datetime] = {}
    for known, one in arrivals.items():
        moment = one.added_at if clock == "added" else one.published_at
        if moment is not None:
            moments[known] = moment
    placed = {known for cell in grid.cells for known in cell.document_ids if known in moments}
    came = Counter(_month(moments[known]) for known in placed)
    reached: Counter[date] = Counter()
    for cell in grid.wanted:
        dates = sorted(moments[known] for known in cell.document_ids if known in moments)
        if len(dates) >= cell.target:
            reached[_month(dates[cell.target - 1])] += 1
    if not came:
        return []
    found: list[CoveredMonth] = []
    month, documents, covered = min(came), 0, 0
    while month <= max(came):
        documents += came[month]
        covered += reached[month]
        made = CoveredMonth(month=f"{month:%Y-%m}", documents=documents, covered=covered)
        found.append(made)
        month = date(month.year + month.month // 12, month.month % 12 + 1, 1)
    return found[-MOST_MONTHS:]


def _month(moment: datetime) -> date:
    return date(moment.year, moment.month, 1)
