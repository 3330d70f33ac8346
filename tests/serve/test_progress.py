"""How far a run of ``add`` is, as a terminal shows it."""

from __future__ import annotations

import io

from rich.console import Console

from wellread.ingest.pipeline.job_log import Progress
from wellread.serve.progress import ingest_progress
from wellread.serve.terminal import Terminal


def test_all_files_are_read_long_before_the_run_is_done() -> None:
    out = io.StringIO()
    err = Console(file=out, force_terminal=True, width=140, color_system=None)
    with ingest_progress(Terminal(err=err)) as on_progress:
        on_progress(
            Progress(sources_total=10, sources_done=10, passages_done=100, passages_written=300)
        )
    shown = out.getvalue()
    assert "10 of 10 files read" in shown
    assert "100 of 300 passages embedded" in shown
    bar = shown[shown.index("files") : shown.index("100 of 300")]
    assert "\u2501" in bar  # done
    assert bar.count("\u2501") < 24  # and more to do
    assert "about 0:00:0" in shown
