"""Commands about the program and its index: ``serve``, ``settings``, ``usage``, ``reindex``."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from wellread.config import SETTINGS_FILE, SettingRow, default_home, load_settings, settings_table
from wellread.ingest import reindex as reindexing
from wellread.ingest.reindex import ReindexProgress, ReindexReport
from wellread.kb import KnowledgeBase
from wellread.serve.features.home_and_jobs import MOST_DAYS, print_usage, usage_body
from wellread.serve.progress import State, counted
from wellread.serve.server.app import serve as listening
from wellread.serve.server.json_logs import use_json_logs
from wellread.serve.stopping import INTERRUPTED
from wellread.serve.terminal import Terminal, fold, index_words, table, terminal_of
from wellread.text.words import harmless

app = typer.Typer(rich_markup_mode=None)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; others than this machine's need an admin."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve the HTTP interface and the pages, until interrupted.

    Without users only this machine is served. Once there is one, everybody has to sign in.
    """
    terminal = terminal_of(context)

    def tell(address: str) -> None:
        if terminal.json:
            terminal.write_json({"url": address})
        else:
            terminal.out.print(f"Wellread answers at {address}  (Ctrl-C stops it)", soft_wrap=True)

    with terminal.open_current() as kb:
        if kb.settings.serve.logs == "json":
            use_json_logs()
        chosen = kb.settings.serve.host if host is None else host
        listening(kb, chosen, kb.settings.serve.port if port is None else port, on_ready=tell)


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
        body = usage_body(kb, days)
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
    shown = []
    for row in rows:
        value = current[row.name]
        style = "" if value == row.default else "bold cyan"
        told = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        shown.append((row.name, Text(harmless(told), style=style), row.help))
    console.print(table(map(fold, ("setting", "value", "what it does")), shown))


NICENESS = 3  # of 19: half the share of a busy process; 10 was a tenth, and starved
GOES_ON = "The index in use stays; 'wellread reindex' goes on from there."


@app.command()
def reindex(
    context: typer.Context,
    embedding: Annotated[
        Literal["local", "static", "http"] | None,
        typer.Option(help="Use this embedder instead of the settings'.", show_default=False),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            min=20,
            max=2000,
            help="Use this passage size instead of the settings'.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make the index anew, as the settings ask for it, while questions go on.

    Needed after a change of embedder or passage size. The new index is made beside the one in use
    and takes its place when it is whole. Interrupted, it goes on where it was.

    Exit status: 0 when the index is what was asked for, 1 when the run was cancelled.
    """
    _let_others_go_first()

    terminal = terminal_of(context)
    asked = {
        section: {name: value}
        for section, name, value in (
            ("embedding", "backend", embedding),
            ("chunking", "tokens", tokens),
        )
        if value is not None
    }
    with terminal.open(overrides=asked) as kb:
        try:
            with counted(terminal, _state) as on_progress:
                report = reindexing.reindex(kb, on_progress=on_progress)
        except KeyboardInterrupt:
            terminal.err.print(f"Interrupted. {GOES_ON}")
            raise typer.Exit(INTERRUPTED) from None
        _tell(terminal, kb, report)
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


def _tell(terminal: Terminal, kb: KnowledgeBase, report: ReindexReport) -> None:
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
    if not report.cancelled:
        _remind(terminal, kb)


def _remind(terminal: Terminal, kb: KnowledgeBase) -> None:
    """What was asked for by an option has to go into the settings as well, or they disagree."""
    kept = load_settings(kb.home)
    names = []
    if kept.embedding.backend != kb.settings.embedding.backend:
        names.append(f"embedding.backend: {kb.settings.embedding.backend}")
    if kept.chunking.tokens != kb.settings.chunking.tokens:
        names.append(f"chunking.tokens: {kb.settings.chunking.tokens}")
    if names:
        place = harmless(str(kb.home / SETTINGS_FILE))
        line = f"Put {' and '.join(names)} into {place}, which still asks for the former."
        terminal.out.print(Text(line, style="yellow"), soft_wrap=True)


def _state(progress: ReindexProgress, seconds: float) -> State:
    rate = progress.passages / seconds if seconds > 0 else 0.0
    return State(
        done=progress.done.characters,
        total=progress.total.characters,
        head=f"{progress.done.documents:,}/{progress.total.documents:,} documents",
        body=f"{progress.passages:,} passages ({rate:,.0f}/s)",
    )
