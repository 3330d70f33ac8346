"""``wellread coverage``: what the documents cover of two dimensions, and what is missing."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.learning.coverage_grid import coverage_grid
from wellread.library.named_things import pair_of
from wellread.serve.cli.options import Fields, KindName, Kinds, Since, Topics, Until, option_window
from wellread.serve.features.gaps_and_coverage import (
    coverage_body,
    coverage_markdown,
    print_coverage_report,
)
from wellread.serve.terminal import terminal_of
from wellread.types import Filters

app = typer.Typer(rich_markup_mode=None)


@app.callback()
def _several() -> None:
    """Keeps ``coverage`` a command by its name."""


@app.command()
def coverage(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    topic: Topics = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="NAME", help="A dimension, kind, year, entity_types, …; give two."
        ),
    ] = None,
    kind: Kinds = None,
    field: Fields = None,
    since: Since = None,
    until: Until = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="A report as Markdown on standard output.")
    ] = False,
) -> None:
    """Show which cells of two dimensions have documents, the share covered, and the gaps."""
    start, end = option_window(since, until)
    where = Filters(
        collections=tuple(topic or ()),
        kinds=tuple(KindName(one).value for one in kind or ()),
        published_from=start,
        published_to=end,
        taxonomy=tuple(pair_of(one) for one in field or ()),
    )
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = coverage_body(kb, coverage_grid(kb, where, by or (), owner=kb.asker.owner))
    if markdown and not terminal.json:
        typer.echo(coverage_markdown(body), nl=False)
    else:
        terminal.show(body, print_coverage_report)
