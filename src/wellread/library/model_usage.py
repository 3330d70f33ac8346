"""What calls of models came to, for a page or a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from wellread.calls import EMBED_PASSAGE
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import Budget, Level
from wellread.models.prices import is_listed, named, tariff_of
from wellread.store.catalogue.run_logs import Total


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The calls of one day, purpose and model; ``priced``: whether their price is known."""

    total: Total
    priced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Calls since midnight (UTC) some days ago, and the budgets as they stand.

    Attributes:
        cost: US dollars of all calls; calls without a known price are not in it.
        questions: US dollars of those that count in the budget: all but reading material in.
    """

    days: int
    since: datetime
    lines: tuple[Line, ...]
    budgets: tuple[Budget, ...]
    level: Level
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    questions: float


def usage_of(kb: KnowledgeBase, days: int) -> UsageReport:
    """The calls of today and the days before it, ``days`` altogether.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    totals = kb.catalogue.calls.totals(since)
    standing = kb.ledger.standing()
    return UsageReport(
        days=days,
        since=since,
        lines=_lines(kb, totals),
        budgets=standing.budgets,
        level=standing.level,
        calls=sum(one.calls for one in totals),
        input_tokens=sum(one.input_tokens for one in totals),
        output_tokens=sum(one.output_tokens for one in totals),
        cost=sum(one.cost for one in totals),
        questions=sum(one.cost for one in totals if one.purpose != EMBED_PASSAGE),
    )


def _lines(kb: KnowledgeBase, totals: Sequence[Total]) -> tuple[Line, ...]:
    settings = kb.settings.generation
    own = tariff_of(settings)
    free = own.read is not None and own.written is not None  # also when they say 0
    name = settings.model.strip()
    mine = {name, named(name)[1]} if free else set()

    def priced(total: Total) -> bool:
        idle = not (total.input_tokens or total.output_tokens)
        if idle or total.cost or total.model in mine:
            return True
        return is_listed(total.provider, total.model)

    return tuple(Line(total=total, priced=priced(total)) for total in totals)
