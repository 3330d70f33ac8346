"""The command that unpacks an exported knowledge base: ``import``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellread.config import load_settings
from wellread.ingest.importing import ImportReport, import_home
from wellread.ingest.integrity.verify import verify
from wellread.learning.asking_again import after_ingest
from wellread.serve.features import home_reports as reports
from wellread.serve.features.learning.gap_print import tell_reasked
from wellread.serve.progress import status_line
from wellread.serve.terminal import terminal_of
from wellread.text.words import harmless_line

app = typer.Typer(rich_markup_mode=None)


class ImportBody(reports.VerifyBody):
    """What each store of the new home counts, what does not match, and the archive's settings.

    ``settings`` is none, left out or taken; ``reaching`` those that name servers, models or keys.
    ``users`` counts the archive's, which stay out unless ``accounts`` says that they were taken.
    """

    settings: str
    reaching: tuple[str, ...]
    users: int
    accounts: bool


@app.command("import")
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
    with status_line(terminal) as tell:
        brought = import_home(
            path, home, settings=settings, accounts=accounts, server=server, on_file=tell
        )
    with terminal.open() as kb:
        report = verify(kb)
        after_ingest(kb, partial(tell_reasked, terminal))
    body = ImportBody.of(
        report,
        settings=brought.settings,
        reaching=brought.reaching,
        users=brought.users,
        accounts=accounts,
    )
    terminal.show(body, partial(_print, brought))
    if report.problems:
        raise typer.Exit(1)


def _print(brought: ImportReport, console: Console, body: ImportBody) -> None:
    reports.print_verify(console, body)
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
