"""``wellread usage``: what calls of models came to, and what is left of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.serve.terminal import harmless, terminal_of

if TYPE_CHECKING:
    from wellread.library.model_usage import UsageReport

MOST_DAYS = 400  # older calls are forgotten


def register(app: typer.Typer) -> None:
    """Put the command into ``app``."""
    app.command()(usage)


def usage(
    context: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=MOST_DAYS, help="Today (UTC) and the days before it.")
    ] = 30,
) -> None:
    """Show what calls of models took and cost, by day, purpose and model, and the budget."""
    from wellread.library.model_usage import usage_of  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with terminal.open() as kb:
        report = usage_of(kb, days)
    if terminal.json:
        from wellread.serve.api.usage import usage_body  # noqa: PLC0415 - loads FastAPI

        terminal.write_json(usage_body(report).model_dump(mode="json"))
    else:
        print_usage(terminal.out, report)


def print_usage(console: Console, report: UsageReport) -> None:
    """The calls as a table, their sum, and each budget."""
    from wellread.kb.ledger import dollars  # noqa: PLC0415 - loads the stores

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
    if any(not line.priced for line in report.lines):
        note = (
            "price unknown: these calls count nothing in the sum and in the budget "
            "(set generation.input_price and generation.output_price)"
        )
        console.print(Text(note, style="yellow"))
    for budget in report.budgets:
        line = f"Budget of the {budget.period} (UTC): {dollars(budget.left)} of "
        line += f"{dollars(budget.dollars)} left ({budget.share:.0%})"
        style = "green" if report.level == "normal" else "yellow" if budget.left else "red"
        console.print(Text(line, style=style))
    if not report.budgets:
        console.print(Text("No budget is set (budget.daily, budget.monthly).", style="dim"))


def _table(report: UsageReport) -> Table:
    from wellread.kb.ledger import dollars  # noqa: PLC0415 - loads the stores

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("Day", "Purpose", "Model"):
        table.add_column(name, no_wrap=name != "Model")
    for name in ("Calls", "Failed", "Read", "Written", "Seconds", "Cost"):
        table.add_column(name, justify="right")
    for line in report.lines:
        total = line.total
        model = f"{total.model} ({total.provider})" if total.model else total.provider
        table.add_row(
            total.day.isoformat(),
            total.purpose,
            harmless(model),
            f"{total.calls:,}",
            f"{total.failed:,}" if total.failed else "",
            f"{total.input_tokens:,}",
            f"{total.output_tokens:,}",
            f"{total.seconds:,.1f}",
            dollars(total.cost) if line.priced else "price unknown",
        )
    return table
