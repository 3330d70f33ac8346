"""Shows the progress of long commands: a bar on a terminal, otherwise an occasional line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from wellread.serve.terminal import Terminal
from wellread.text.characters import harmless, harmless_line

if TYPE_CHECKING:  # questions must not load the ingest code
    from wellread.ingest.pipeline.job_log import Progress

SECONDS_BETWEEN_LINES = 2.0
MAX_NAME_CHARS = 40

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressState:
    """The progress of a task.

    Attributes:
        done, total: amounts of work in any unit; a total of 0 is not known yet.
        head, body: texts before and after the bar.
        current: the name of the item that is being processed.
    """

    done: float
    total: float
    head: str
    body: str = ""
    current: str = ""

    def time_left(self, seconds: float) -> str:
        """Describe the estimated remaining time after ``seconds`` of work; empty when unknown."""
        if not 0 < self.done < self.total:
            return ""
        seconds_left = (self.total - self.done) * seconds / self.done
        return f"about {timedelta(seconds=round(seconds_left))} left"


@contextmanager
def progress_display(
    terminal: Terminal, state_of: Callable[[T, float], ProgressState]
) -> Iterator[Callable[[T], None]]:
    """Yield a callback that shows progress on standard error.

    Args:
        state_of: converts a progress value and the seconds since the start.
    """
    started = time.monotonic()
    if terminal.json:
        yield lambda _progress: None
    elif terminal.err.is_terminal:
        bar = _progress_bar(terminal)
        task = bar.add_task("", total=None, head="", body="", left="", current="")

        def update(progress: T) -> None:
            bar.start()  # not before the first progress: a prompt may come first
            seconds = time.monotonic() - started
            state = state_of(progress, seconds)
            bar.update(
                task,
                total=state.total or None,
                completed=state.done,
                head=state.head,
                body=state.body,
                left=state.time_left(seconds),
                current=state.current,
            )

        try:
            yield update
        finally:
            bar.stop()
    else:
        yield _line_printer(terminal, state_of, started)


@contextmanager
def status_line(terminal: Terminal) -> Iterator[Callable[[str], None]]:
    """Yield a callback that shows one changing line while a question is being answered."""
    if terminal.json or not terminal.err.is_terminal:
        yield lambda _text: None
        return
    with terminal.err.status("reading the question …") as status:
        yield lambda text: status.update(f"{harmless(text)} …")


def ingest_progress(terminal: Terminal) -> AbstractContextManager[Callable[[Progress], None]]:
    """Show the progress of a run of ``add`` or ``sync``; yields its callback."""
    return progress_display(terminal, _ingest_state)


def _line_printer(
    terminal: Terminal, state_of: Callable[[T, float], ProgressState], started: float
) -> Callable[[T], None]:
    """Return a callback that prints a line every two seconds, if something has changed."""
    last_time, last_counts = started, ("", "")

    def print_state(progress: T) -> None:
        nonlocal last_time, last_counts
        now = time.monotonic()
        state = state_of(progress, now - started)
        counts = (state.head, state.body.partition(" (")[0])  # without the rate
        if now - last_time < SECONDS_BETWEEN_LINES or counts == last_counts:
            return
        last_time, last_counts = now, counts
        parts = (state.head, state.body, state.time_left(now - started), state.current)
        terminal.err.print(" · ".join(filter(None, parts)), soft_wrap=True)

    return print_state


def _progress_bar(terminal: Terminal) -> Bar:
    return Bar(
        TextColumn("{task.fields[head]}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[body]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[current]}", markup=False, style="dim"),
        console=terminal.err,
        transient=True,
    )


def _ingest_state(progress: Progress, seconds: float) -> ProgressState:
    """Measure progress in embedded passages, which take most of the time, or else in files.

    Unread files are assumed to hold as many passages as the files read so far.
    """
    read_files, files = progress.sources_done, progress.sources_total
    done, written = progress.passages_done, max(progress.passages_written, progress.passages_done)
    rate = done / seconds if seconds > 0 else 0.0
    # The last part of the source's address.
    name = harmless_line(unquote(progress.current.rstrip("/").rpartition("/")[2]))
    return ProgressState(
        done=done if written else read_files,
        total=(written * max(files / read_files, 1.0) if read_files else 0.0) if written else files,
        head=f"{read_files:,} of {files:,} files read",
        body=f"{done:,} of {written:,} passages embedded ({rate:,.0f}/s)" if written else "",
        current=name if len(name) <= MAX_NAME_CHARS else f"…{name[1 - MAX_NAME_CHARS :]}",
    )
