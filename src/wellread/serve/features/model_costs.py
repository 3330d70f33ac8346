"""What calls of models came to, and what is left of the budget."""

from __future__ import annotations

from datetime import date, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.kb.ledger import Level, Period, dollars
from wellread.library.model_usage import UsageReport
from wellread.serve.features.bodies import PlainBody
from wellread.serve.terminal import harmless

MOST_DAYS = 400  # older calls are forgotten


class CallsBody(PlainBody):
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


class BudgetBody(PlainBody):
    """A budget in US dollars; what runs counts with the most that it may cost."""

    period: Period
    since: datetime
    limit: float
    spent: float
    left: float


class UsageReportBody(PlainBody):
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


def usage_body(report: UsageReport) -> UsageReportBody:
    """The whole report."""
    return UsageReportBody.of(
        report,
        questions_cost=report.questions,
        budget_level=report.level,
        budgets=[BudgetBody.of(budget, limit=budget.dollars) for budget in report.budgets],
        lines=[CallsBody.of(line.total, price_known=line.priced) for line in report.lines],
    )


def print_usage(console: Console, report: UsageReportBody) -> None:
    """The calls as a table, their sum, and each budget."""
    if report.lines:
        console.print(_table(report))
        plural = "s" if report.calls != 1 else ""
        total = (
            f"{report.calls:,} call{plural}, {report.input_tokens:,} tokens read, "
            f"{report.output_tokens:,} written, {dollars(report.cost)}"
        )
        console.print(Text(total, style="bold"))
    else:
        console.print(Text(f"No model was called in {report.days:,} days.", style="dim"))
    if any(not line.price_known for line in report.lines):
        note = (
            "price unknown: these calls count nothing in the sum and in the budget "
            "(set generation.input_price and generation.output_price)"
        )
        console.print(Text(note, style="yellow"))
    for budget in report.budgets:
        line = f"Budget of the {budget.period} (UTC): {dollars(budget.left)} of "
        share = budget.left / budget.limit if budget.limit else 0.0
        line += f"{dollars(budget.limit)} left ({share:.0%})"
        style = "green" if report.budget_level == "normal" else "yellow" if budget.left else "red"
        console.print(Text(line, style=style))
    if not report.budgets:
        console.print(Text("No budget is set (budget.daily, budget.monthly).", style="dim"))


def _table(report: UsageReportBody) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("Day", "Purpose", "Model"):
        table.add_column(name, no_wrap=name != "Model")
    for name in ("Calls", "Failed", "Read", "Written", "Seconds", "Cost"):
        table.add_column(name, justify="right")
    for line in report.lines:
        model = f"{line.model} ({line.provider})" if line.model else line.provider
        table.add_row(
            line.day.isoformat(),
            line.purpose,
            harmless(model),
            f"{line.calls:,}",
            f"{line.failed:,}" if line.failed else "",
            f"{line.input_tokens:,}",
            f"{line.output_tokens:,}",
            f"{line.seconds:,.1f}",
            dollars(line.cost) if line.price_known else "price unknown",
        )
    return table
