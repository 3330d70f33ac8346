"""``GET /api/usage``: what calls of models came to, and what is left of the budget."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from wellread.kb import KnowledgeBase
from wellread.kb.ledger import Budget, Level, Period
from wellread.library.model_usage import Line, UsageReport, usage_of

MOST_DAYS = 400  # older calls are forgotten


class CallsBody(BaseModel):
    """Calls of one day (UTC), purpose and model. ``cost`` in US dollars, 0 without a known price.

    ``seconds`` is the sum of what each call took.
    """

    day: date
    purpose: str
    provider: str
    model: str
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float
    price_known: bool
    seconds: float


class BudgetBody(BaseModel):
    """A budget in US dollars; what runs counts with the most that it may cost."""

    period: Period
    since: datetime
    limit: float
    spent: float
    left: float


class UsageReportBody(BaseModel):
    """Calls since midnight (UTC) some days ago, the newest day first.

    ``questions_cost`` is what counts in the budget: all but reading material in.
    """

    days: int
    since: datetime
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float
    questions_cost: float
    budget_level: Level
    budgets: list[BudgetBody]
    lines: list[CallsBody]


def usage_router(kb: KnowledgeBase) -> APIRouter:
    """The route over ``kb``."""
    router = APIRouter()

    @router.get("/api/usage", response_model=UsageReportBody)
    def usage(days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 30) -> UsageReportBody:
        """Calls of models by day, purpose and model, and the budgets as they stand."""
        return usage_body(usage_of(kb, days))

    return router


def usage_body(report: UsageReport) -> UsageReportBody:
    """The whole report."""
    return UsageReportBody(
        days=report.days,
        since=report.since,
        calls=report.calls,
        input_tokens=report.input_tokens,
        output_tokens=report.output_tokens,
        cost=report.cost,
        questions_cost=report.questions,
        budget_level=report.level,
        budgets=[_budget_body(budget) for budget in report.budgets],
        lines=[_calls_body(line) for line in report.lines],
    )


def _budget_body(budget: Budget) -> BudgetBody:
    return BudgetBody(
        period=budget.period,
        since=budget.since,
        limit=budget.dollars,
        spent=budget.spent,
        left=budget.left,
    )


def _calls_body(line: Line) -> CallsBody:
    total = line.total
    return CallsBody(
        day=total.day,
        purpose=total.purpose,
        provider=total.provider,
        model=total.model,
        calls=total.calls,
        failed=total.failed,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost=total.cost,
        price_known=line.priced,
        seconds=total.seconds,
    )
