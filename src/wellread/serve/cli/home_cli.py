"""Commands that maintain the knowledge base: ``verify``, ``backup``, ``reindex``, ``settings``."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from wellread.config import settings_table
from wellread.ingest import reindex as reindexing
from wellread.ingest.backup import ImportReport, export_home, import_home
from wellread.ingest.integrity.backups import find_copy, restore_copy
from wellread.ingest.integrity.verify import VerifyReport
from wellread.ingest.integrity.verify import verify as verify_home
from wellread.ingest.reindex import ReindexProgress, ReindexReport
from wellread.kb.home_catalogue import BACKUPS_FOLDER
from wellread.learning.asking_again import after_ingest
from wellread.serve.cli.material_cli import print_retries
from wellread.serve.cli.options import Yes
from wellread.serve.features.home_and_jobs import format_size
from wellread.serve.progress import ProgressState, progress_display
from wellread.serve.stopping import INTERRUPTED
from wellread.serve.terminal import (
    Terminal,
    describe_index,
    format_value,
    opened,
    print_counts,
    print_line,
    terminal_of,
)
from wellread.serve.views import Shape
from wellread.settings_file import load_settings, unknown_setting, write_setting
from wellread.store.recovery.copies import copies_in
from wellread.text.characters import harmless_line

app = typer.Typer(rich_markup_mode=None)
backup = typer.Typer(
    name="backup",
    help="Export or import the knowledge base, or restore an earlier state.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(backup)
# The fields that a list of backups prints: see ``serve/terminal.py``.
COPIES = "made=made_at bytes sound name"


@app.command()
def verify(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what does not match.")] = False,
) -> None:
    """Check that catalogue and index match.

    Exit status: 0 when they match or were repaired, 1 when a problem remains.
    """
    with opened(context) as (terminal, kb):
        report = verify_home(kb, repair=repair)
    _end_with(terminal, report)


@backup.command()
def restore(
    context: typer.Context,
    backup: Annotated[
        str, typer.Argument(metavar="[BACKUP]", help="Name or its start; without it, the newest.")
    ] = "",
    listed: Annotated[bool, typer.Option("--list", help="List the backups and exit.")] = False,
    yes: Yes = False,
) -> None:
    """Restore the catalogue from a backup and update the index to match.

    Changes since the backup are lost: add the sources again afterwards. Stop a running server
    first.

    Exit status: 0 when everything matches afterwards, 1 when a problem remains.
    """
    terminal = terminal_of(context)
    if listed:
        copies = list(copies_in(terminal.home_folder() / BACKUPS_FOLDER))
        none = "There are no backups yet: add and sync create them."
        terminal.show_rows(copies, COPIES, none=none)
        return
    with terminal.open() as kb:
        copy = find_copy(kb, backup)
        if not yes and not terminal.json:
            made = f"{copy.made_at:%Y-%m-%d %H:%M} UTC"
            typer.confirm(f"Replace the catalogue with the backup of {made}?", abort=True)
        restore_copy(kb, copy)
        report = verify_home(kb, repair=True)
    _end_with(terminal, report)


def _end_with(terminal: Terminal, report: VerifyReport) -> None:
    terminal.show(report, _print_verify)
    if not report.clean:
        raise typer.Exit(1)


def _print_verify(console: Console, report: VerifyReport) -> None:
    print_counts(console, report.counts)
    for problem in report.problems:
        state, style = ("repaired", "green") if problem.repaired else ("problem", "bold red")
        line = f"{state}  {problem.kind}: {problem.subject}: {problem.detail}"
        print_line(console, line, style)
    for note in report.notes:
        print_line(console, f"note  {note}", "yellow")
    remaining = sum(not problem.repaired for problem in report.problems)
    if remaining:
        hint = "`wellread verify --repair` repairs what can be repaired"
        print_line(console, f"{remaining:,} problems remain. {hint}.", "bold red")
    else:
        print_line(console, "Everything matches.", "green")


@backup.command()
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="home.tar, or home.tar.gz")],
) -> None:
    """Write the whole knowledge base into one file, for backups and moves."""
    with opened(context) as (terminal, kb):
        report = export_home(kb, file.expanduser().absolute())
    contents = f"{report.documents:,} documents with {report.passages:,} passages"
    terminal.say(report, f"{contents} in {report.path} ({format_size(report.size)})")


class ImportBody(Shape, line="*report settings reaching users accounts"):
    """The result of an import: verification, the archive's settings and users.

    ``settings`` is "none", "left out" or "taken"; ``reaching`` lists settings that name servers,
    models or keys. ``users`` counts the archive's users; ``accounts``: whether they were imported.
    """

    report: VerifyReport
    settings: str
    reaching: tuple[str, ...]
    users: int
    accounts: bool


@backup.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by export.")],
    settings: Annotated[
        bool,
        typer.Option(
            "--with-settings",
            help="Use the archive's wellread.yaml. It may name servers that text is sent to.",
        ),
    ] = False,
    accounts: Annotated[
        bool,
        typer.Option(
            "--with-accounts", help="Import the archive's users with their keys and rights."
        ),
    ] = False,
) -> None:
    """Unpack an exported knowledge base into an empty --home and verify it.

    If WELLREAD_CATALOGUE_URL names a server, the catalogue is copied into its database, which must
    be empty, and the copy is compared row by row.

    The archive's settings and users are imported only with the options below; settings that contact
    other hosts are shown.

    Exit status: 0 when everything matches, 1 when verify found a problem.
    """
    terminal = terminal_of(context)
    home, path = terminal.home_folder(), file.expanduser().absolute()
    server = load_settings(home).catalogue.url
    imported = import_home(path, home, settings=settings, accounts=accounts, server=server)
    with terminal.open() as kb:
        report = verify_home(kb)
        after_ingest(kb, partial(print_retries, terminal))
    body = ImportBody.of(imported, report=report, accounts=accounts)
    terminal.show(body, partial(_print_import, imported))
    if report.problems:
        raise typer.Exit(1)


def _print_import(imported: ImportReport, console: Console, body: ImportBody) -> None:
    _print_verify(console, body.report)
    if imported.users and not body.accounts:
        line = f"{imported.users} users were not imported; use --with-accounts to import them."
        print_line(console, line, "yellow")
    if imported.settings == "taken":
        print_line(console, "The archive's settings are now in use.", "yellow")
    elif imported.settings != "none":
        print_line(console, "Its settings are not used; --with-settings uses them.", "yellow")
    for line in imported.reaching:
        print_line(console, harmless_line(f"  {line}"), "yellow")


@app.command()
def settings(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="A setting (retrieval.top_k); without it, all.")
    ] = "",
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="New value for wellread.yaml.")
    ] = None,
) -> None:
    """Show all settings with value and help, or show or change one."""
    terminal = terminal_of(context)
    home = terminal.home_folder()
    rows = [row for row in settings_table() if not name or row.name == name]
    if not rows:
        raise unknown_setting(name)
    if value is not None:
        write_setting(home, name, value)
    values = load_settings(home).model_dump()
    described = [
        {**row._asdict(), "value": values[section][key]}
        for row in rows
        for section, _, key in [row.name.partition(".")]
    ]
    if name:
        terminal.say(described[0], format_value(described[0]["value"], "plain"))
        return
    terminal.show_rows(described, "setting=name value:plain what_it_does=help", none="")


NICENESS = 3  # half the CPU share of a busy process; 10 gave a tenth, and the run starved
RESUME_HINT = "The current index stays in use; 'wellread reindex' begins anew."


@app.command()
def reindex(context: typer.Context) -> None:
    """Rebuild the index according to the settings, while questions are still answered.

    Needed after a change of embedder or passage size. The new index replaces the current one when
    it is complete. An interrupted run leaves the current one in use.

    Exit status: 0 when the index matches the settings, 1 when the run was cancelled.
    """
    _lower_priority()

    with opened(context) as (terminal, kb):
        try:
            with progress_display(terminal, _progress_state) as on_progress:
                report = reindexing.reindex(kb, on_progress=on_progress)
        except KeyboardInterrupt:
            terminal.err.print(f"Interrupted. {RESUME_HINT}")
            raise typer.Exit(INTERRUPTED) from None
        _print_reindex(terminal, report)
    if report.cancelled:
        raise typer.Exit(1)


def _lower_priority() -> None:
    """Lower this process's priority, so that answering questions stays as fast as before.

    On Linux, niceness is set per thread, so existing threads are adjusted too.
    """
    if hasattr(os, "nice"):  # missing on Windows
        os.nice(NICENESS)
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # the thread has ended meanwhile
            os.setpriority(os.PRIO_PROCESS, int(thread.name), os.getpriority(os.PRIO_PROCESS, 0))


def _print_reindex(terminal: Terminal, report: ReindexReport) -> None:
    rate = report.embedded / report.seconds if report.seconds else 0.0
    speed = f"{report.embedded:,} embedded in {report.seconds:.1f} s, {rate:,.0f}/s"
    if report.cancelled:
        line = f"Cancelled after {report.documents:,} documents ({speed}). {RESUME_HINT}"
    elif not report.switched:
        line = f"Nothing to do: the index was built with {describe_index(report.now)}."
    else:
        size = f"{report.documents:,} documents, {report.passages:,} passages"
        line = f"The new index is in use: {size} ({speed}); built with {describe_index(report.now)}"
    terminal.say(asdict(report), line)


def _progress_state(progress: ReindexProgress, seconds: float) -> ProgressState:
    rate = progress.passages / seconds if seconds > 0 else 0.0
    return ProgressState(
        done=progress.done,
        total=progress.total,
        head=f"{progress.done:,}/{progress.total:,} documents",
        body=f"{progress.passages:,} passages ({rate:,.0f}/s)",
    )
