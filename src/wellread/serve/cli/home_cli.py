"""Commands that keep a home in order: ``verify``, ``backup``, ``reindex`` and ``settings``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellread.config import load_settings, settings_table, write_setting
from wellread.errors import RequestError
from wellread.ingest import reindex as reindexing
from wellread.ingest.backup import ImportReport, export_home, import_home
from wellread.ingest.integrity.backups import copy_named, restore_copy
from wellread.ingest.integrity.verify import VerifyReport
from wellread.ingest.integrity.verify import verify as verified
from wellread.ingest.reindex import ReindexProgress, ReindexReport
from wellread.kb.home_catalogue import BACKUPS_FOLDER
from wellread.learning.asking_again import after_ingest
from wellread.serve.features import home_and_jobs as reports
from wellread.serve.features.gaps_and_coverage import tell_reasked
from wellread.serve.features.home_and_jobs import print_copies
from wellread.serve.progress import State, counted
from wellread.serve.stopping import INTERRUPTED
from wellread.serve.terminal import Terminal, fold, index_words, table, terminal_of
from wellread.serve.views import PlainShape
from wellread.store.recovery.copies import copies_in
from wellread.text.words import harmless, harmless_line

app = typer.Typer(rich_markup_mode=None)
backup = typer.Typer(
    name="backup",
    help="Write the whole base into a file, unpack one, or go back to an earlier state.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(backup)


@app.command()
def verify(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what does not match.")] = False,
) -> None:
    """Check that catalogue and index hold the same.

    Exit status: 0 when they match or were mended, 1 when a problem is left.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        report = verified(kb, repair=repair)
    _end_with(terminal, report)


@backup.command()
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
        terminal.show_list(copies, lambda out: print_copies(out, copies))
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


@backup.command()
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="home.tar, or home.tar.gz")],
) -> None:
    """Write the whole knowledge base into one file, for backup and for moving."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        report = export_home(kb, file.expanduser().absolute())
    terminal.show(report, reports.print_backup)


class ImportBody(PlainShape, line="*report settings reaching users accounts"):
    """What each store of the new home counts, what does not match, and the archive's settings.

    ``settings`` is none, left out or taken; ``reaching`` those that name servers, models or keys.
    ``users`` counts the archive's, which stay out unless ``accounts`` says that they were taken.
    """

    report: VerifyReport
    settings: str
    reaching: tuple[str, ...]
    users: int
    accounts: bool


@backup.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What export wrote.")],
    settings: Annotated[
        bool,
        typer.Option(
            "--with-settings",
            help="Put the archive's wellread.yaml in force. It may name servers to send text to.",
        ),
    ] = False,
    accounts: Annotated[
        bool,
        typer.Option(
            "--with-accounts", help="Let the archive's users in, with their keys and rights."
        ),
    ] = False,
) -> None:
    """Unpack an exported knowledge base into an empty --home, and verify it.

    Where WELLREAD_CATALOGUE_URL names a server, the catalogue is copied into its database, which
    has to be empty, and the copy is compared row by row.

    The settings and the users in the archive stay out unless you say so; settings that reach out
    are shown.

    Exit status: 0 when everything matches, 1 when verify found a problem.
    """
    terminal = terminal_of(context)
    home, path = terminal.home_folder(), file.expanduser().absolute()
    server = load_settings(home).catalogue.url
    brought = import_home(path, home, settings=settings, accounts=accounts, server=server)
    with terminal.open() as kb:
        report = verified(kb)
        after_ingest(kb, partial(tell_reasked, terminal))
    body = ImportBody(
        report=report,
        settings=brought.settings,
        reaching=brought.reaching,
        users=brought.users,
        accounts=accounts,
    )
    terminal.show(body, partial(_print_import, brought))
    if report.problems:
        raise typer.Exit(1)


def _print_import(brought: ImportReport, console: Console, body: ImportBody) -> None:
    reports.print_verify(console, body.report)
    if brought.users and not body.accounts:
        line = f"Its {brought.users} users stayed out; --with-accounts takes them."
        console.print(Text(line, style="yellow"), soft_wrap=True)
    if brought.settings == "none":
        return
    told = "Its settings are in force" if brought.settings == "taken" else "Its settings stayed out"
    how = "." if brought.settings == "taken" else "; --with-settings takes them."
    console.print(Text(f"{told}{how}", style="yellow"), soft_wrap=True)
    for line in brought.reaching:
        console.print(Text(harmless_line(f"  {line}"), style="yellow"), soft_wrap=True)


@app.command()
def settings(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="One of them, as retrieval.top_k; else all.")
    ] = "",
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="Put it into wellread.yaml.")
    ] = None,
) -> None:
    """Show every setting, its value in this home and what it does; or show one, or set it."""
    terminal = terminal_of(context)
    home = terminal.home_folder()
    rows = [row for row in settings_table() if not name or row.name == name]
    if not rows:
        near = get_close_matches(name, [row.name for row in settings_table()], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "'wellread settings' lists them"
        raise RequestError(f"there is no setting {name!r}", hint=hint)
    if value is not None:
        write_setting(home, name, value)
    values = load_settings(home).model_dump()
    told = [
        {**asdict(row), "value": values[section][key]}
        for row in rows
        for section, _, key in [row.name.partition(".")]
    ]
    if name:
        if terminal.json:
            terminal.write_json(told[0])
        else:
            terminal.out.print(Text(_words(told[0])), soft_wrap=True)
    else:
        terminal.show_list(told, lambda out: _print_settings(out, told))


def _print_settings(console: Console, told: Sequence[Mapping[str, object]]) -> None:
    """Every setting with its value in this home; those that differ from the default stand out."""
    shown = [
        (
            str(one["name"]),
            Text(_words(one), style="" if one["value"] == one["default"] else "bold cyan"),
            str(one["help"]),
        )
        for one in told
    ]
    console.print(table(map(fold, ("setting", "value", "what it does")), shown))


def _words(setting: Mapping[str, object]) -> str:
    value = setting["value"]
    return harmless(", ".join(map(str, value)) if isinstance(value, tuple) else str(value))


NICENESS = 3  # of 19: half the share of a busy process; 10 was a tenth, and starved
GOES_ON = "The index in use stays; 'wellread reindex' goes on from there."


@app.command()
def reindex(context: typer.Context) -> None:
    """Make the index anew, as the settings ask for it, while questions go on.

    Needed after a change of embedder or passage size. The new index is made beside the one in use
    and takes its place when it is whole. Interrupted, it goes on where it was.

    Exit status: 0 when the index is what was asked for, 1 when the run was cancelled.
    """
    _let_others_go_first()

    terminal = terminal_of(context)
    with terminal.open() as kb:
        try:
            with counted(terminal, _state) as on_progress:
                report = reindexing.reindex(kb, on_progress=on_progress)
        except KeyboardInterrupt:
            terminal.err.print(f"Interrupted. {GOES_ON}")
            raise typer.Exit(INTERRUPTED) from None
        _tell(terminal, report)
    if report.cancelled:
        raise typer.Exit(1)


def _let_others_go_first() -> None:
    """Lower this process's priority, so that questions are answered as quickly as before.

    On Linux the number is a thread's own: threads that importing the stores began are told too.
    """
    if hasattr(os, "nice"):  # Windows has no such number
        os.nice(NICENESS)
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # it has ended meanwhile
            os.setpriority(os.PRIO_PROCESS, int(thread.name), os.getpriority(os.PRIO_PROCESS, 0))


def _tell(terminal: Terminal, report: ReindexReport) -> None:
    if terminal.json:
        terminal.write_json(asdict(report))
        return
    rate = report.embedded / report.seconds if report.seconds else 0.0
    speed = f"{report.embedded:,} embedded in {report.seconds:.1f} s, {rate:,.0f}/s"
    if report.cancelled:
        line, style = (
            f"Cancelled after {report.documents:,} documents ({speed}). {GOES_ON}",
            "yellow",
        )
    elif not report.switched:
        line, style = f"Nothing to do: the index is made with {index_words(report.now)}.", ""
    else:
        size = f"{report.documents:,} documents, {report.passages:,} passages"
        line = f"The new index is in use: {size} ({speed}), made with {index_words(report.now)}."
        style = "green"
    terminal.out.print(Text(harmless(line), style=style), soft_wrap=True)


def _state(progress: ReindexProgress, seconds: float) -> State:
    rate = progress.passages / seconds if seconds > 0 else 0.0
    return State(
        done=progress.done.characters,
        total=progress.total.characters,
        head=f"{progress.done.documents:,}/{progress.total.documents:,} documents",
        body=f"{progress.passages:,} passages ({rate:,.0f}/s)",
    )
