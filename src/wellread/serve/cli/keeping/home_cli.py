"""``verify``, ``restore`` and ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wellread.ingest.backup import export_home
from wellread.ingest.integrity.restoring import copy_named, restore_copy
from wellread.ingest.integrity.verify import VerifyReport
from wellread.ingest.integrity.verify import verify as verified
from wellread.kb.home_catalogue import BACKUPS_FOLDER
from wellread.serve.features import home_and_jobs as reports
from wellread.serve.features.home_and_jobs import print_copies
from wellread.serve.progress import status_line
from wellread.serve.terminal import Terminal, terminal_of
from wellread.store.recovery.copies import copies_in

app = typer.Typer(rich_markup_mode=None)


@app.command()
def verify(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what does not match.")] = False,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Also embed every passage again and search for every document. Takes minutes.",
        ),
    ] = False,
) -> None:
    """Check that catalogue and index hold the same.

    Exit status: 0 when they match or were mended, 1 when a problem is left.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        report = verified(kb, repair=repair, deep=deep)
    _end_with(terminal, report)


@app.command()
def restore(
    context: typer.Context,
    backup: Annotated[
        str, typer.Argument(metavar="[BACKUP]", help="Its name, or how it begins; else the newest.")
    ] = "",
    listed: Annotated[bool, typer.Option("--list", help="Show the backups, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Bring the catalogue back from a backup; the index follows it.

    What was added, asked and rated since is not in it: add the sources again afterwards. Stop a
    running server first.

    Exit status: 0 when everything matches afterwards, 1 when a problem is left.
    """
    terminal = terminal_of(context)
    if listed:
        copies = list(copies_in(terminal.home_folder() / BACKUPS_FOLDER))
        if terminal.json:
            terminal.write_json({"backups": copies})
        else:
            print_copies(terminal.out, copies)
        return
    with terminal.open() as kb:
        copy = copy_named(kb, backup)
        if not yes and not terminal.json:
            made = f"{copy.made_at:%Y-%m-%d %H:%M} UTC"
            typer.confirm(f"Put the backup of {made} in place of the catalogue?", abort=True)
        restore_copy(kb, copy)
        report = verified(kb, repair=True)
    _end_with(terminal, report)


def _end_with(terminal: Terminal, report: VerifyReport) -> None:
    terminal.show(report, reports.print_verify)
    if not report.clean:
        raise typer.Exit(1)


@app.command()
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="home.tar, or home.tar.gz")],
) -> None:
    """Write the whole knowledge base into one file, for backup and for moving."""
    terminal = terminal_of(context)
    with terminal.open() as kb, status_line(terminal) as tell:
        report = export_home(kb, file.expanduser().absolute(), on_file=tell)
    terminal.show(report, reports.print_backup)
