"""How far something long is: a bar on a terminal, a line now and then elsewhere."""

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
from wellread.text.words import harmless, harmless_line

if TYPE_CHECKING:  # a question must not load what reads sources
    from wellread.ingest.pipeline.job_log import Progress

SECONDS_BETWEEN_LINES = 2.0
LONGEST_NAME = 40

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far something is.

    Attributes:
        done, total: of the work, in whatever takes the time; a total of 0 is not known yet.
        head, body: what is told before and behind the bar.
        current: what is being worked on.
    """

    done: float
    total: float
    head: str
    body: str = ""
    current: str = ""

    def left(self, seconds: float) -> str:
        """About how long the rest takes, after ``seconds``; empty where nobody can tell."""
        if not 0 < self.done < self.total:
            return ""
        rest = (self.total - self.done) * seconds / self.done
        return f"about {timedelta(seconds=round(rest))} left"


@contextmanager
def counted(
    terminal: Terminal, state_of: Callable[[T, float], State]
) -> Iterator[Callable[[T], None]]:
    """A callback that shows the progress it is given, on standard error.

    Args:
        state_of: reads a progress, told the seconds since the start.
    """
    started = time.monotonic()
    if terminal.json:
        yield lambda _progress: None
    elif terminal.err.is_terminal:
        bar = _bar(terminal)
        task = bar.add_task("", total=None, head="", body="", left="", current="")

        def update(progress: T) -> None:
            bar.start()  # with the first progress: before it, a person may be asked something
            seconds = time.monotonic() - started
            state = state_of(progress, seconds)
            bar.update(
                task,
                total=state.total or None,
                completed=state.done,
                head=state.head,
                body=state.body,
                left=state.left(seconds),
                current=state.current,
            )

        try:
            yield update
        finally:
            bar.stop()
    else:
        yield _lines(terminal, state_of, started)


@contextmanager
def status_line(terminal: Terminal) -> Iterator[Callable[[str], None]]:
    """A callback that shows one changing line while a question is worked on."""
    if terminal.json or not terminal.err.is_terminal:
        yield lambda _text: None
        return
    with terminal.err.status("reading the question …") as status:
        yield lambda text: status.update(f"{harmless(text)} …")


def shown(terminal: Terminal) -> AbstractContextManager[Callable[[Progress], None]]:
    """``counted`` for runs of ``add`` and ``sync``."""
    return counted(terminal, _added)


def _lines(
    terminal: Terminal, state_of: Callable[[T, float], State], started: float
) -> Callable[[T], None]:
    """Prints a line every two seconds at most, and none when nothing has changed."""
    last, before = started, ("", "")

    def line(progress: T) -> None:
        nonlocal last, before
        now = time.monotonic()
        state = state_of(progress, now - started)
        counts = (state.head, state.body.partition(" (")[0])  # without the rate
        if now - last < SECONDS_BETWEEN_LINES or counts == before:
            return
        last, before = now, counts
        told = (state.head, state.body, state.left(now - started), state.current)
        terminal.err.print(" · ".join(filter(None, told)), soft_wrap=True)

    return line


def _bar(terminal: Terminal) -> Bar:
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


def _added(progress: Progress, seconds: float) -> State:
    """Work is passages to embed, which takes most of the time; without any it is files.

    Files that were not read yet are taken to hold as many passages as those that were.
    """
    read, files = progress.sources_done, progress.sources_total
    done, written = progress.passages_done, max(progress.passages_written, progress.passages_done)
    rate = done / seconds if seconds > 0 else 0.0
    # The end of the source's name, in as many characters as the line has room for.
    name = harmless_line(unquote(progress.current.rstrip("/").rpartition("/")[2]))
    return State(
        done=done if written else read,
        total=(written * max(files / read, 1.0) if read else 0.0) if written else files,
        head=f"{read:,} of {files:,} files read",
        body=f"{done:,} of {written:,} passages embedded ({rate:,.0f}/s)" if written else "",
        current=name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}",
    )
