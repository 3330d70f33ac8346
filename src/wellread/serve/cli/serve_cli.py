"""Commands about the program: ``serve``, ``settings``, ``usage``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.config import SettingRow, default_home, load_settings, settings_table
from wellread.library.model_usage import usage_of
from wellread.serve.api.app import serve as run
from wellread.serve.features.model_costs import MOST_DAYS, print_usage, usage_body
from wellread.serve.terminal import harmless, terminal_of

app = typer.Typer(rich_markup_mode=None)


@app.command()
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
    terminal = terminal_of(context)

    def tell(address: str) -> None:
        if terminal.json:
            terminal.write_json({"url": address})
        else:
            terminal.out.print(f"Wellread answers at {address}  (Ctrl-C stops it)", soft_wrap=True)

    with terminal.open_current() as kb:
        chosen = kb.settings.serve.host if host is None else host
        run(kb, chosen, kb.settings.serve.port if port is None else port, on_ready=tell)


@app.command()
def settings(context: typer.Context) -> None:
    """Show every setting, its value in this home, and what it does."""
    terminal = terminal_of(context)
    rows = settings_table()
    values = load_settings(terminal.home or default_home()).model_dump()
    current = {
        row.name: values[section][name]
        for row in rows
        for section, _, name in [row.name.partition(".")]
    }
    if terminal.json:
        terminal.write_json(_settings_body(rows, current))
    else:
        _print_settings(terminal.out, rows, current)


@app.command()
def usage(
    context: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=MOST_DAYS, help="Today (UTC) and the days before it.")
    ] = 30,
) -> None:
    """Show what calls of models took and cost, by day, purpose and model, and the budget."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        body = usage_body(usage_of(kb, days))
    terminal.show(body, print_usage)


def _settings_body(rows: list[SettingRow], current: dict[str, object]) -> list[dict[str, object]]:
    """The JSON of ``settings``."""
    return [
        {
            "name": row.name,
            "value": current[row.name],
            "default": row.default,
            "variable": row.variable,
            "help": row.help,
        }
        for row in rows
    ]


def _print_settings(console: Console, rows: list[SettingRow], current: dict[str, object]) -> None:
    """Every setting with its value in this home; those that differ from the default stand out."""
    table = Table(box=None, pad_edge=False)
    for heading in ("setting", "value", "what it does"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        value = current[row.name]
        style = "" if value == row.default else "bold cyan"
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        table.add_row(Text(row.name), Text(harmless(shown), style=style), Text(row.help))
    console.print(table)
