"""Command ``eval``: measure the knowledge base on questions with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from wellread.ask.retrieve.search import check_collections
from wellread.evaluation.cases import read_cases
from wellread.evaluation.markdown import markdown_page
from wellread.evaluation.report import (
    DEPTHS,
    Check,
    Report,
    base_of,
    check_report,
    depths_of,
    evaluate,
    gate_body,
    in_collections,
    read_gate,
    report_body,
    report_of,
)
from wellread.serve.cli.answer_printing import print_markdown
from wellread.serve.cli.options import Topics
from wellread.serve.progress import ProgressState, progress_display
from wellread.serve.terminal import Terminal, opened, print_line
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)

EXIT_MISSED = 1
MAX_DEPTH = 200

CaseFile = Annotated[
    Path, typer.Argument(metavar="SET", help="JSON Lines, a case per line (docs/measuring.md).")
]
Depths = Annotated[
    list[int] | None,
    typer.Option("--k", min=1, max=MAX_DEPTH, help="Depth of recall; repeatable. [default: 5 10]"),
]
GateFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Thresholds that the results must reach.")
]


@app.command("eval")
def eval_(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    cases: CaseFile,
    topic: Topics = None,
    limit: Annotated[int, typer.Option(min=0, help="Use only the first cases; 0: all.")] = 0,
    retrieval_only: Annotated[
        bool, typer.Option("--retrieval-only", help="Measure retrieval without writing answers.")
    ] = False,
    k: Depths = None,
    gate: GateFile = None,
) -> None:
    """Measure retrieval, answers, citations and refusals on a set of cases.

    Every figure has a 95 % bootstrap interval. The run is not recorded in the knowledge base.
    Redirected to a file, the report is Markdown.

    Exit status: 1 when a threshold of --gate is missed or a file is invalid.
    """
    # Errors in the files are reported before the evaluation starts.
    chosen = read_cases(cases)[: limit or None]
    thresholds = read_gate(gate) if gate else []
    depths = sorted(set(k or DEPTHS) | depths_of(thresholds))

    def state(done: int, _seconds: float) -> ProgressState:
        total = len(chosen)
        return ProgressState(done=done, total=total, head=f"{done:,} of {total:,} cases")

    with opened(context, Terminal.open_current) as (terminal, kb):
        check_collections(kb, Filters(collections=tuple(topic or ())))
        chosen = in_collections(chosen, topic) if topic else chosen
        with progress_display(terminal, state) as on_case:
            scores = evaluate(
                kb, chosen, depths=depths, retrieval_only=retrieval_only, on_case=on_case
            )
        report = report_of(cases.name, base_of(kb), scores, depths, retrieval_only=retrieval_only)
    checks = check_report(report, thresholds)
    _show(terminal, report, checks)
    if not all(check.passed for check in checks):
        raise typer.Exit(EXIT_MISSED)


def _show(terminal: Terminal, report: Report, checks: Sequence[Check]) -> None:
    if terminal.json:
        gate = {"gate": gate_body(checks)} if checks else {}
        terminal.write_json(report_body(report) | gate)
        return
    print_markdown(terminal.out, markdown_page(report, checks=checks))
    missed = sum(not check.passed for check in checks)
    if missed:
        line = f"No-go: {missed} of {len(checks)} thresholds missed."
        print_line(terminal.out, line, "bold red")
    elif checks:
        print_line(terminal.out, "Go: all thresholds are reached.", "bold green")
