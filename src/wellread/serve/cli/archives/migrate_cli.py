"""``migrate``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellread.ingest.integrity.migrating import Migration
from wellread.ingest.integrity.migrating import migrate as migrated
from wellread.serve.features.bodies import PlainBody
from wellread.serve.progress import status_line
from wellread.serve.terminal import terminal_of
from wellread.text.words import harmless

app = typer.Typer(rich_markup_mode=None)


class MovedTableBody(PlainBody):
    """A table of the copy; the same ``digest`` stands for the same rows."""

    name: str
    rows: int
    digest: str


class MigrationBody(PlainBody):
    """What was copied, and how the home is made to use it."""

    source: str
    target: str
    rows: int
    tables: tuple[MovedTableBody, ...]
    next_steps: str


@app.command()
def migrate(
    context: typer.Context,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            envvar="WELLREAD_MIGRATE_TO",
            help="postgresql+psycopg://USER:PASSWORD@HOST/DATABASE, or the path of a new file. In "
            "the variable no other program sees the password.",
        ),
    ],
) -> None:
    """Copy the catalogue to a PostgreSQL server, or back to a file, and prove the copy.

    The rows of every table are counted and hashed on both sides. Nothing changes in the source,
    and on failure nothing is left of the copy. The index stays as it is. Stop servers first: what
    is asked meanwhile is not copied.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb, status_line(terminal) as tell:
        report = migrated(kb, to, lambda table, done, total: tell(f"{table} {done:,} of {total:,}"))
    terminal.show(body_of(report), print_migration)


def body_of(report: Migration) -> MigrationBody:
    """The report as it is written."""
    tables = tuple(
        MovedTableBody(name=table.name, rows=table.rows, digest=table.digest)
        for table in report.tables
    )
    return MigrationBody(
        source=report.source,
        target=report.target,
        rows=report.rows,
        tables=tables,
        next_steps=report.next_steps,
    )


def print_migration(console: Console, body: MigrationBody) -> None:
    """How much was copied, the proof, and what is to be done."""
    filled = [table for table in body.tables if table.rows]
    console.print(
        Text(
            f"Copied {body.rows:,} rows of {len(filled)} tables to {harmless(body.target)}; "
            "counts and hashes agree.",
            style="green",
        ),
        soft_wrap=True,
    )
    for table in filled:
        console.print(f"  {table.name:<20} {table.rows:>10,}  {table.digest}", soft_wrap=True)
    console.print(Text(f"Now {harmless(body.next_steps)}"), soft_wrap=True)
