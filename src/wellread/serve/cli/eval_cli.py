"""``eval``: measure the knowledge base against questions whose answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.text import Text

from wellread.ask.retrieve.search import check_collections
from wellread.errors import RequestError
from wellread.evaluation.cases import Case, read_cases
from wellread.evaluation.markdown import page
from wellread.evaluation.report import (
    DEPTHS,
    Check,
    Report,
    base_of,
    body,
    check,
    depths_of,
    evaluate,
    gate_body,
    in_collections,
    read_gate,
    report_of,
    write_text,
)
from wellread.kb import KnowledgeBase
from wellread.serve.cli.options import Topics
from wellread.serve.progress import State, counted
from wellread.serve.terminal import Terminal, terminal_of
from wellread.text.words import harmless
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)

NO_GO = 1
DEEPEST = 200

CaseFile = Annotated[
    Path, typer.Argument(metavar="SET", help="JSON lines, a case each (docs/measuring.md).")
]
Depths = Annotated[
    list[int] | None,
    typer.Option("--k", min=1, max=DEEPEST, help="Depth of recall; repeatable. [default: 5 10]"),
]
SetForRun = Annotated[
    list[str] | None,
    typer.Option("-o", metavar="NAME=VALUE", help="A setting for this run only; repeatable."),
]
GateFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Thresholds that the figures must reach.")
]
PageFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the report as Markdown."),
]


@app.command("eval")
def eval_(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    cases: CaseFile,
    topic: Topics = None,
    limit: Annotated[int, typer.Option(min=0, help="First cases only; 0: all.")] = 0,
    retrieval_only: Annotated[
        bool, typer.Option("--retrieval-only", help="Measure what is found, write no answers.")
    ] = False,
    k: Depths = None,
    option: SetForRun = None,
    gate: GateFile = None,
    report: PageFile = None,
) -> None:
    """Measure retrieval, answers, citations and refusals over a set of cases.

    Every figure has a 95 % bootstrap interval. Nothing of a run is recorded in the home.

    Exit status: 1 when a threshold of --gate is missed, or a file is not what it should be.
    """
    terminal = terminal_of(context)
    # Everything that can be wrong with the files is told before the long part begins.
    chosen = read_cases(cases)[: limit or None]
    thresholds = read_gate(gate) if gate else []
    overrides = _overrides(option or [])
    _check_folder(report)
    with terminal.open_current(overrides=overrides) as kb:
        measured = _measured(
            terminal,
            kb,
            chosen,
            name=cases.name,
            topics=topic or [],
            depths=set(k or DEPTHS) | depths_of(thresholds),
            retrieval_only=retrieval_only,
        )
    checks = check(measured, thresholds)
    if report:
        _write_page(report, measured, checks)
    _show(terminal, measured, checks)
    if not all(each.passed for each in checks):
        raise typer.Exit(NO_GO)


def _measured(  # noqa: PLR0913 - the options of a run
    terminal: Terminal,
    kb: KnowledgeBase,
    cases: Sequence[Case],
    *,
    name: str,
    topics: Sequence[str],
    depths: Iterable[int],
    retrieval_only: bool,
) -> Report:
    check_collections(kb, Filters(collections=tuple(topics)))
    chosen = in_collections(cases, topics) if topics else cases
    looked = sorted(depths)
    total = len(chosen)

    def state(done: int, _seconds: float) -> State:
        return State(done=done, total=total, head=f"{done:,} of {total:,} cases")

    with counted(terminal, state) as on_case:
        scored = evaluate(kb, chosen, depths=looked, retrieval_only=retrieval_only, on_case=on_case)
    return report_of(name, base_of(kb), scored, looked, retrieval_only=retrieval_only)


def _overrides(options: Sequence[str]) -> dict[str, dict[str, str]]:
    """``retrieval.fusion=rrf`` as settings.

    Raises:
        RequestError: an option is not of that form.
    """
    found: dict[str, dict[str, str]] = {}
    for each in options:
        name, equals, value = each.partition("=")
        section, dot, setting = name.strip().partition(".")
        if not (equals and dot and section and setting):
            raise RequestError(f"{each!r} is not a setting", hint="write -o retrieval.fusion=rrf")
        found.setdefault(section, {})[setting] = value.strip()
    return found


def _check_folder(path: Path | None) -> None:
    """Refuse a file that could not be written after the long part.

    Raises:
        RequestError: its folder is not there.
    """
    if path and not path.absolute().parent.is_dir():
        raise RequestError(f"{path} cannot be written: its folder is not there")


def _write_page(path: Path, report: Report, checks: Sequence[Check]) -> None:
    write_text(path, page(report, checks=checks))


def _show(terminal: Terminal, report: Report, checks: Sequence[Check]) -> None:
    if terminal.json:
        gate = {"gate": gate_body(checks)} if checks else {}
        terminal.write_json(body(report) | gate)
        return
    told = harmless(page(report, checks=checks))
    terminal.out.print(Markdown(told) if terminal.out.is_terminal else Text(told), soft_wrap=True)
    missed = sum(not each.passed for each in checks)
    if missed:
        line = f"No-go: {missed} of {len(checks)} thresholds missed."
        terminal.out.print(Text(line, style="bold red"))
    elif checks:
        terminal.out.print(Text("Go: every threshold is reached.", style="bold green"))
