"""``wellread notices``: what happened to what you said: a correction expired, a gap closed."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.serve.features.people import notices_body, print_notices
from wellread.serve.terminal import terminal_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
def notices(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that were seen as well.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Do not mark them as seen.")] = False,
) -> None:
    """Show what you should know: corrections that expired, questions that were answered since."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = notices_body(kb, every=every)
        if not keep:
            kb.catalogue.notices.mark_seen([one.id for one in body.notices])
    terminal.show(body, print_notices)
