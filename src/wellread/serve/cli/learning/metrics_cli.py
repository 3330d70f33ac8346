"""The command that measures how the base is asked and answers: ``metrics``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.learning.metric_report import PeriodName
from wellread.serve.features.learning.metric_bodies import metrics_body, report_of
from wellread.serve.features.learning.metric_print import print_metrics
from wellread.serve.terminal import terminal_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
def metrics(
    context: typer.Context,
    period: Annotated[
        PeriodName, typer.Option(help="The last 24 hours, 7 days or 30 days, or all.")
    ] = "month",
    since: Annotated[
        str, typer.Option(metavar="DATE", help="From then on (2025, 2025-10, 2025-10-14).")
    ] = "",
    until: Annotated[str, typer.Option(metavar="DATE", help="Up to then.")] = "",
) -> None:
    """Show questions, answers, verdicts, ratings, topics, gaps, latencies and cost of a time.

    A date takes the place of --period. Nothing of it leaves this machine.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = metrics_body(report_of(kb, period, since, until))
    terminal.show(body, print_metrics)
