"""Commands about the program: ``serve``, ``demo``, ``settings``."""

from __future__ import annotations

from typing import Annotated

import typer

from wellread.serve import tables
from wellread.serve.commands.indexing import warn_if_outdated
from wellread.serve.terminal import terminal_of


def register(app: typer.Typer) -> None:
    """Put the commands into ``app``."""
    app.command()(serve)
    app.command()(demo)
    app.command()(settings)


def serve(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; this machine's own only.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve the HTTP interface and the viewer on this machine, until interrupted."""
    from wellread.serve.run import serve as run  # noqa: PLC0415 - loads the web framework

    terminal = terminal_of(context)

    def tell(address: str) -> None:
        if terminal.json:
            terminal.write_json({"url": address})
        else:
            terminal.out.print(f"Wellread answers at {address}  (Ctrl-C stops it)", soft_wrap=True)

    with terminal.open() as kb:
        warn_if_outdated(kb)
        chosen = kb.settings.serve.host if host is None else host
        run(kb, chosen, kb.settings.serve.port if port is None else port, on_ready=tell)


def demo(context: typer.Context) -> None:
    """Try Wellread on the sample that comes with it.

    Adds the sample (news, papers, transcripts, commons entries about an invented group of islands)
    to a home of its own, ./wellread-demo unless --home names another, and answers questions.
    """
    from wellread.serve.tour import tour  # noqa: PLC0415 - loads the stores

    tour(terminal_of(context))


def settings(context: typer.Context) -> None:
    """Show every setting, its value in this home, and what it does."""
    from wellread.config import default_home, load_settings, settings_table  # noqa: PLC0415

    terminal = terminal_of(context)
    rows = settings_table()
    values = load_settings(terminal.home or default_home()).model_dump()
    current = {
        row.name: values[section][name]
        for row in rows
        for section, _, name in [row.name.partition(".")]
    }
    if terminal.json:
        terminal.write_json(tables.settings_body(rows, current))
    else:
        tables.print_settings(terminal.out, rows, current)
