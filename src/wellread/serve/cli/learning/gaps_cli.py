"""The command about questions that the material does not answer: ``gaps``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wellread.errors import RequestError
from wellread.learning.asking_again import ask_again, ask_these
from wellread.learning.gap_clusters import cluster_named
from wellread.serve.cli.options import Since, Until, option_window
from wellread.serve.features.learning.gap_bodies import (
    cluster_detail,
    gaps_body,
    reasked_body,
    set_status,
    suggestion_body,
)
from wellread.serve.features.learning.gap_print import (
    print_cluster,
    print_gaps,
    print_reasked,
    print_suggestion,
)
from wellread.serve.features.learning.pattern_bodies import patterns_body, print_patterns
from wellread.serve.terminal import Terminal, terminal_of
from wellread.store.schema.catalogue_values import GapStatus

app = typer.Typer(rich_markup_mode=None)
gaps_app = typer.Typer(
    name="gaps",
    help="Questions that the material does not answer, put together, and what to write for them.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(gaps_app)


class StatusName(StrEnum):
    """The statuses of gaps, as choices of an option."""

    OPEN = "open"
    PLANNED = "planned"
    CLOSED = "closed"


Named = Annotated[
    str, typer.Argument(metavar="ID", help="A cluster (c12), or one of its questions (12).")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write it there; a folder: under its name."),
]


@gaps_app.callback()
def gaps(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    status: Annotated[
        StatusName | None, typer.Option(help="Only these; without it all that are not closed.")
    ] = None,
    suggest: Annotated[
        str, typer.Option("--suggest", metavar="ID", help="What to write for this cluster.")
    ] = "",
    out: Out = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask the open questions again, now.")] = False,
    patterns: Annotated[
        bool, typer.Option("--patterns", help="What is asked often: questions, types, topics.")
    ] = False,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most clusters.")] = 20,
) -> None:
    """List clusters of questions that were not answered, or not well, the ones asked most first."""
    if context.invoked_subcommand:
        return
    terminal = terminal_of(context)
    if suggest:
        _suggest(terminal, suggest, out)
    elif ask:
        _ask(terminal, [], None)
    elif patterns:
        start, end = option_window(since, until)
        with terminal.open() as kb:
            patterns_found = patterns_body(kb, start, end)
        terminal.show(patterns_found, print_patterns)
    else:
        wanted: GapStatus | None = status.value if status else None
        with terminal.open() as kb:
            body = gaps_body(kb, wanted, limit)
        terminal.show(body, print_gaps)


@gaps_app.command("show")
def show(context: typer.Context, name: Named) -> None:
    """Show a cluster: its questions, why they are open, what answered them."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = cluster_detail(kb, name)
    terminal.show(body, print_cluster)


@gaps_app.command("plan")
def plan(context: typer.Context, name: Named) -> None:
    """Note that somebody is to write what is missing; it is asked again all the same."""
    _set(context, name, "planned")


@gaps_app.command("close")
def close(context: typer.Context, name: Named) -> None:
    """Close it by hand: it is not asked again, unless somebody asks it and finds no answer."""
    _set(context, name, "closed")


@gaps_app.command("reopen")
def reopen(context: typer.Context, name: Named) -> None:
    """Open it again."""
    _set(context, name, "open")


@gaps_app.command("suggest")
def suggest_(context: typer.Context, name: Named, out: Out = None) -> None:
    """Write the entry that is missing: a Markdown file with title, type, taxonomy, questions."""
    _suggest(terminal_of(context), name, out)


@gaps_app.command("ask")
def ask_(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Only these, whatever is new. Without any: those that new documents could answer.",
        ),
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most questions. [gaps.most]")
    ] = None,
) -> None:
    """Ask open questions again, as every run of ingest does at its end."""
    _ask(terminal_of(context), names or [], most)


def _ask(terminal: Terminal, names: list[str], most: int | None) -> None:
    with terminal.open_to_ask() as kb:
        if names:
            clusters = [cluster_named(kb, name) for name in names]
            ids = {gap.id for one in clusters for gap in one.gaps}
            numbers = {int(name) for name in names if name.isdecimal()}
            whole = {gap.id for one in clusters for gap in one.gaps if one.id in names}
            done = ask_these(kb, sorted(ids & (numbers | whole)))
        else:
            done = ask_again(kb, most=most)
    terminal.show(reasked_body(done), print_reasked)


def _set(context: typer.Context, name: str, status: GapStatus) -> None:
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = set_status(kb, name, status)
    plural = "s" if body.gaps != 1 else ""
    terminal.show(body, lambda out, one: out.print(f"{one.gaps} question{plural}: {one.status}"))


def _suggest(terminal: Terminal, name: str, out: Path | None) -> None:
    with terminal.open() as kb:
        body = suggestion_body(kb, name)
    if out is None:
        terminal.show(body, print_suggestion)
        return
    path = out / body.file_name if out.is_dir() else out
    if path.exists():
        raise RequestError(f"{path} is there already", hint="give another --out")
    path.write_text(body.markdown, encoding="utf-8")
    terminal.show(body, lambda console, _: console.print(str(path), soft_wrap=True))
