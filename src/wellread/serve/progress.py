"""How far a run of ``add`` is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import unquote

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from wellread.ingest.pipeline.run_report import Progress
from wellread.serve.terminal import Terminal, harmless

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
    """Files read, passages embedded and their rate, the time left, and the file being read."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, files="", passages="", left="", current="")
        self._started = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        done, total = _work(progress)
        self._bar.update(
            self._task,
            total=total or None,
            completed=done,
            files=f"{progress.sources_done:,}/{progress.sources_total:,} files",
            passages=_passages(progress, time.monotonic() - self._started),
            left=_left(progress, time.monotonic() - self._started),
            current=_short(progress.current),
        )


class _Lines:
    """The same as lines of text: one every two seconds at most, none twice in a row."""

    def __init__(self, terminal: Terminal) -> None:
        self._err = terminal.err
        self._started = self._last = time.monotonic()
        self._told: tuple[int, int, int] | None = None

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        state = (progress.sources_done, progress.passages_done, progress.passages_written)
        if now - self._last < SECONDS_BETWEEN_LINES or state == self._told:
            return
        self._last, self._told = now, state
        parts = (
            f"{progress.sources_done:,} of {progress.sources_total:,} files read",
            _passages(progress, now - self._started),
            _left(progress, now - self._started),
            _short(progress.current),
        )
        self._err.print(" · ".join(filter(None, parts)), soft_wrap=True)


def _bar(terminal: Terminal) -> Bar:
    return Bar(
        TextColumn("{task.fields[files]}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[passages]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[current]}", markup=False, style="dim"),
        console=terminal.err,
        transient=True,
    )


def _work(progress: Progress) -> tuple[float, float]:
    """What is done and what there is to do: passages to embed, which takes most of the time.

    Files that were not read yet are taken to hold as many passages as those that were. Without
    any passage it is files.
    """
    read, files = progress.sources_done, progress.sources_total
    if not progress.passages_written:
        return read, files
    expected = progress.passages_written * max(files / read, 1.0) if read else 0.0
    return progress.passages_done, max(expected, progress.passages_done)


def _left(progress: Progress, seconds: float) -> str:
    """About how long the rest takes, once a passage is embedded; empty before."""
    done, total = _work(progress)
    if not progress.passages_done or done >= total:
        return ""
    return f"about {timedelta(seconds=round((total - done) * seconds / done))} left"


def _passages(progress: Progress, seconds: float) -> str:
    """Passages embedded, of those that are written and found by their words; and their rate."""
    rate = progress.passages_done / seconds if seconds > 0 else 0.0
    written = max(progress.passages_written, progress.passages_done)
    return f"{progress.passages_done:,} of {written:,} passages embedded ({rate:,.0f}/s)"


def _short(uri: str) -> str:
    """The end of the source's name, in as many characters as the line has room for."""
    name = harmless(unquote(uri.rstrip("/").rpartition("/")[2]))
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
