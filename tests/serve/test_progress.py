"""How far a run of ``add`` is, as a terminal and a log see it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from wellread.ingest.pipeline.job_log import Progress
from wellread.serve import progress
from wellread.serve.terminal import Terminal


def at(read: int, embedded: int, written: int = 300) -> Progress:
    return Progress(
        sources_total=10, sources_done=read, passages_done=embedded, passages_written=written
    )


def told(steps: list[Progress], *, terminal: bool) -> str:
    shown = io.StringIO()
    err = Console(file=shown, force_terminal=terminal, width=140, color_system=None)
    with progress.ingest_progress(Terminal(err=err)) as on_progress:
        for step in steps:
            on_progress(step)
    return shown.getvalue()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)


def test_all_files_are_read_long_before_the_run_is_done() -> None:
    shown = told([at(10, 100)], terminal=True)
    assert "10 of 10 files read" in shown
    assert "100 of 300 passages embedded" in shown
    bar = shown[shown.index("files") : shown.index("100 of 300")]
    assert "\u2501" in bar  # done
    assert bar.count("\u2501") < 24  # and more to do
    assert "about 0:00:0" in shown
