"""``wellread reindex``: the index anew, after a change of embedder or passage size."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from wellread.errors import ModelError, SettingsError
from wellread.serve.terminal import Terminal, harmless, terminal_of

if TYPE_CHECKING:
    from wellread.config import Settings
    from wellread.ingest.next_index import ReindexProgress
    from wellread.ingest.reindex import ReindexReport
    from wellread.kb import KnowledgeBase
    from wellread.store.base import Fingerprint

logger = logging.getLogger(__name__)

NICENESS = 10  # of 19
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
SECONDS_BETWEEN_LINES = 2.0
GOES_ON = "The index in use stays; 'wellread reindex' goes on from there."


class EmbeddingName(StrEnum):
    """The embedders that a setting may name."""

    LOCAL = "local"
    STATIC = "static"
    HTTP = "http"


def register(app: typer.Typer) -> None:
    """Put the command into ``app``."""
    app.command()(reindex)


def reindex(
    context: typer.Context,
    embedding: Annotated[
        EmbeddingName | None,
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
    from wellread.config import default_home  # noqa: PLC0415 - loads pydantic models
    from wellread.ingest.reindex import reindex as run  # noqa: PLC0415 - loads the stores
    from wellread.kb import open_kb  # noqa: PLC0415

    terminal = terminal_of(context)
    asked = {
        section: {name: value}
        for section, name, value in (
            ("embedding", "backend", embedding.value if embedding else None),
            ("chunking", "tokens", tokens),
        )
        if value is not None
    }
    with open_kb(terminal.home or default_home(), overrides=asked) as kb:
        try:
            with _shown(terminal) as on_progress:
                report = run(kb, on_progress=on_progress)
        except KeyboardInterrupt:
            terminal.err.print(f"Interrupted. {GOES_ON}")
            raise typer.Exit(INTERRUPTED) from None
        _tell(terminal, kb, report)
    if report.cancelled:
        raise typer.Exit(1)


def warn_if_outdated(kb: KnowledgeBase) -> None:
    """Say so when the settings ask for another index than the one in use."""
    try:
        if not kb.reindex_needed:
            return
        asked = _asked_for(kb.settings)
    except (ModelError, SettingsError) as error:
        asked = f"an embedder that cannot be opened: {error}"
    live = kb.catalogue.fingerprint()
    made = _described(live) if live else "nothing yet"
    logger.warning(
        "the index in use was made with %s; the settings ask for %s. Run 'wellread reindex'",
        made,
        asked,
    )


def _let_others_go_first() -> None:
    """Lower this process's priority, so that questions are answered as quickly as before.

    Threads inherit it, so it comes before any of them is made. Windows has no such number.
    """
    if hasattr(os, "nice"):
        os.nice(NICENESS)


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
        line, style = f"Nothing to do: the index is made with {_described(report.now)}.", ""
    else:
        size = f"{report.documents:,} documents, {report.passages:,} passages"
        line = f"The new index is in use: {size} ({speed}), made with {_described(report.now)}."
        style = "green"
    terminal.out.print(Text(harmless(line), style=style), soft_wrap=True)
    if not report.cancelled:
        _remind(terminal, kb)


def _remind(terminal: Terminal, kb: KnowledgeBase) -> None:
    """What was asked for by an option has to go into the settings as well, or they disagree."""
    from wellread.config import SETTINGS_FILE, load_settings  # noqa: PLC0415 - pydantic models

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


def _described(fingerprint: Fingerprint) -> str:
    return f"{fingerprint.embedder}, passages of {fingerprint.chunking.rpartition('/')[2]}"


def _asked_for(settings: Settings) -> str:
    chosen = settings.embedding
    named = (
        f"{chosen.backend} {chosen.model}".strip() if chosen.backend == "http" else chosen.backend
    )
    return f"embedder {named}, passages of {settings.chunking.tokens}"


@contextmanager
def _shown(terminal: Terminal) -> Iterator[Callable[[ReindexProgress], None]]:
    """A callback that shows the progress it is given, on standard error."""
    if terminal.json:
        yield lambda _progress: None
    elif terminal.err.is_terminal:
        with Progress(
            TextColumn("{task.fields[documents]} documents", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[passages]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left", markup=False),
            TimeRemainingColumn(),
            console=terminal.err,
            transient=True,
        ) as bar:
            yield _Bar(bar)
    else:
        yield _Lines(terminal)


class _Bar:
    """The share of the text that is done, documents, passages and their rate, the time left."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, documents="", passages="")
        self._started = time.monotonic()

    def __call__(self, progress: ReindexProgress) -> None:
        self._bar.update(
            self._task,
            total=progress.characters_total or None,
            completed=progress.characters_done,
            documents=_documents(progress),
            passages=_passages(progress, time.monotonic() - self._started),
        )


class _Lines:
    """The same as lines of text, at most one every two seconds."""

    def __init__(self, terminal: Terminal) -> None:
        self._err = terminal.err
        self._started = self._last = time.monotonic()

    def __call__(self, progress: ReindexProgress) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        told = _passages(progress, now - self._started)
        self._err.print(f"{_documents(progress)} documents · {told}", soft_wrap=True)


def _documents(progress: ReindexProgress) -> str:
    return f"{progress.documents_done:,}/{progress.documents_total:,}"


def _passages(progress: ReindexProgress, seconds: float) -> str:
    rate = progress.passages / seconds if seconds > 0 else 0.0
    return f"{progress.passages:,} passages ({rate:,.0f}/s)"
