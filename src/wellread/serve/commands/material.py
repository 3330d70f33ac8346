"""Commands about the material: ``add``, ``stats``, ``verify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.serve import tables
from wellread.serve.commands.indexing import warn_if_outdated
from wellread.serve.progress import shown
from wellread.serve.terminal import Terminal, terminal_of

if TYPE_CHECKING:
    from wellread.ingest.pipeline.run_report import Report

NOTHING_TO_ADD = 2


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(add)
    app.command()(stats)
    app.command()(verify)


def add(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Files, folders, globs, web addresses; - for standard input.",
        ),
    ],
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Where the documents go.")
    ] = "default",
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How the sources' fields map to ours (docs/collections.md). It is kept.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What standard input is called: notes.md")
    ] = "stdin.txt",
) -> None:
    """Read files, folders and web addresses into a collection. What is unchanged is skipped.

    Exit status: 0 when all went well, 1 when a source failed, 2 when there was nothing to add.
    """
    from wellread.ingest.run import add as run  # noqa: PLC0415 - loads the stores and parsers
    from wellread.ingest.sources.discover import Input, standard_input  # noqa: PLC0415 - loads parsers

    terminal = terminal_of(context)
    with terminal.open() as kb:
        limit = kb.settings.sources.max_bytes
        inputs: list[Input] = [
            standard_input(sys.stdin.buffer, name, limit) if path == "-" else path
            for path in dict.fromkeys(paths)
        ]
        with shown(terminal) as on_progress:
            report = run(
                kb, inputs, collection=collection, settings=settings, on_progress=on_progress
            )
    end_with(terminal, report, collection)


def end_with(terminal: Terminal, report: Report, collection: str) -> None:
    """Show what a run did, and end with its status."""
    if terminal.json:
        terminal.write_json(tables.report_body(report, collection))
    else:
        tables.print_report(terminal.out, report, collection)
    if not report.rows:
        raise typer.Exit(NOTHING_TO_ADD)
    if report.counts()["failed"]:
        raise typer.Exit(1)


def stats(context: typer.Context) -> None:
    """Show what the knowledge base holds."""
    from wellread.serve.holdings import holdings_of  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with terminal.open() as kb:
        warn_if_outdated(kb)
        holdings = holdings_of(kb)
    if terminal.json:
        terminal.write_json(tables.holdings_body(holdings))
    else:
        tables.print_holdings(terminal.out, holdings)


def verify(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what does not match.")] = False,
) -> None:
    """Check that catalogue and index hold the same.

    Exit status: 0 when they match or were mended, 1 when a problem is left.
    """
    from wellread.ingest.integrity.verify import verify as run  # noqa: PLC0415 - loads the stores

    terminal = terminal_of(context)
    with terminal.open() as kb:
        report = run(kb, repair=repair)
    if terminal.json:
        terminal.write_json(tables.verify_body(report))
    else:
        tables.print_verify(terminal.out, report)
    if any(not problem.repaired for problem in report.problems):
        raise typer.Exit(1)
