"""Commands about the program: ``serve``, ``settings``, ``usage``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.config import default_home, load_settings, settings_table
from wellread.kb.ledger import dollars
from wellread.library.model_usage import UsageReport, usage_of
from wellread.serve import tables
from wellread.serve.api.usage import MOST_DAYS, usage_body
from wellread.serve.run import serve as run
from wellread.serve.terminal import harmless, terminal_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; this machine's own only.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve the HTTP interface and the viewer on this machine, until interrupted."""
    terminal = terminal_of(context)

    def tell(address: str) -> None:
        if terminal.json:
            terminal.write_json({"url": address})
        else:
            terminal.out.print(f"Wellread answers at {address}  (Ctrl-C stops it)", soft_wrap=True)

    with terminal.open_current() as kb:
        chosen = kb.settings.serve.host if host is None else host
        run(kb, chosen, kb.settings.serve.port if port is None else port, on_ready=tell)


@app.command()
def settings(context: typer.Context) -> None:
    """Show every setting, its value in this home, and what it does."""
    terminal = terminal_of(context)
    rows = settings_table()
    values = load_settings(terminal.home or default_home()).model_dump()
    current = {
        row.name: values[section][name]
        for row in rows
        for section, _, name in [row.name.partition(".")]
    }
    if terminal.json:
        terminal.write_json(tables.settings_body(rows, current))
    else:
        tables.print_settings(terminal.out, rows, current)


@app.command()
def usage(
    context: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=MOST_DAYS, help="Today (UTC) and the days before it.")
    ] = 30,
) -> None:
    """Show what calls of models took and cost, by day, purpose and model, and the budget."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        report = usage_of(kb, days)
    if terminal.json:
        terminal.write_json(usage_body(report).model_dump(mode="json"))
    else:
        print_usage(terminal.out, report)


def print_usage(console: Console, report: UsageReport) -> None:
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
