"""``wellread reindex``: the index anew, after a change of embedder or passage size."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from wellread.config import SETTINGS_FILE, load_settings
from wellread.ingest.reindex import ReindexProgress, ReindexReport
from wellread.ingest.reindex import reindex as run
from wellread.kb import KnowledgeBase
from wellread.serve.progress import State, counted
from wellread.serve.terminal import Terminal, harmless, index_words, terminal_of

app = typer.Typer(rich_markup_mode=None)

NICENESS = 10  # of 19
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
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
                report = run(kb, on_progress=on_progress)
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
