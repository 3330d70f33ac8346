"""Commands that measure how the base is asked and answers: ``metrics``, ``calibrate``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.errors import RequestError
from wellread.learning.calibration.calibrate import calibrate as fit
from wellread.learning.metrics.metric_periods import PeriodName
from wellread.serve.features.learning.metric_bodies import (
    calibrate_body,
    metrics_body,
    report_of,
    state_body,
    undone_body,
)
from wellread.serve.features.learning.metric_print import (
    print_calibrate,
    print_metrics,
    print_state,
    print_undone,
)
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


@app.command()
def calibrate(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would come of it; change nothing.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Bring back the confidence of before.")
    ] = False,
    state: Annotated[bool, typer.Option("--state", help="Only say what is in force.")] = False,
) -> None:
    """Fit confidence on this base's rated answers; kept only when it is better.

    It needs 200 rated answers. Better means: surely nearer to the ratings of answers that it was
    not fitted on.
    """
    if dry_run + undo + state > 1:
        raise RequestError(
            "--dry-run, --undo and --state are three different things", hint="give one of them"
        )
    terminal = terminal_of(context)
    with terminal.open() as kb:
        if undo:
            terminal.show(undone_body(kb), print_undone)
        elif state:
            terminal.show(state_body(kb), print_state)
        else:
            trial = fit(kb, keep=not dry_run)
            terminal.show(calibrate_body(trial, kept=not dry_run), print_calibrate)
