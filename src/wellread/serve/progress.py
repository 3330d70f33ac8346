"""How far a run of ``add`` is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from wellread.serve.terminal import Terminal, harmless

if TYPE_CHECKING:
    from wellread.ingest.pipeline.run_report import Progress

SECONDS_BETWEEN_LINES = 2.0
LONGEST_NAME = 40


@contextmanager
def shown(terminal: Terminal) -> Iterator[Callable[[Progress], None]]:
    """A callback that shows the progress it is given, on standard error."""
    if terminal.json:
        yield lambda _progress: None
    elif terminal.err.is_terminal:
        with _bar(terminal) as bar:
            yield _Bar(bar)
    else:
        yield _Lines(terminal)


@contextmanager
def status_line(terminal: Terminal) -> Iterator[Callable[[str], None]]:
    """A callback that shows one changing line while a question is worked on."""
    if terminal.json or not terminal.err.is_terminal:
        yield lambda _text: None
        return
    with terminal.err.status("reading the question …") as status:
        yield lambda text: status.update(f"{harmless(text)} …")


class _Bar:
    """Files done, passages and their rate, the time left, and the file being read."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, of="?", passages="", current="")
        self._started = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        self._bar.update(
            self._task,
            total=progress.sources_total or None,
            completed=progress.sources_done,
            of=f"{progress.sources_total:,}",
            passages=_passages(progress, time.monotonic() - self._started),
            current=_short(progress.current),
        )


class _Lines:
    """The same as lines of text, at most one every two seconds."""

    def __init__(self, terminal: Terminal) -> None:
        self._err = terminal.err
        self._started = self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        line = (
            f"{progress.sources_done:,} of {progress.sources_total:,} files · "
            f"{_passages(progress, now - self._started)} {_short(progress.current)}"
        )
        self._err.print(line.rstrip(), soft_wrap=True)


def _bar(terminal: Terminal) -> Bar:
    return Bar(
        TextColumn("{task.completed:,.0f}/{task.fields[of]} files", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[passages]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[current]}", markup=False, style="dim"),
        console=terminal.err,
        transient=True,
    )


def _passages(progress: Progress, seconds: float) -> str:
    """Passages with vectors, of those that are written and found by their words."""
    rate = progress.passages_done / seconds if seconds > 0 else 0.0
    written = max(progress.passages_written, progress.passages_done)
    return f"{progress.passages_done:,}/{written:,} passages ({rate:,.0f}/s)"


def _short(uri: str) -> str:
    """The end of the source's name, in as many characters as the line has room for."""
    name = harmless(unquote(uri.rstrip("/").rpartition("/")[2]))
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
