"""What it costs that a model's threads sleep while they wait, and what it costs that they spin.

    python -m benchmarks.spinning [--busy 8]

The default embedder embeds questions one by one, from one thread and from four at once, and
passages in batches; with sleeping and with spinning threads in turn, twice. ``--busy``: processes
that compute beside it, as other work of a machine does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from wellread.models.base import Embedder
from wellread.models.embedders.open_embedder import open_embedder
from wellread.settings_file import load_settings

SPINNING = "session.intra_op.allow_spinning"
QUESTIONS = 60
PASSAGES = 400
AT_ONCE = 4
TEXT = "The ferry number {} carries passengers over the bay with a crew of ten people and one dog."


def main() -> None:
    """Print milliseconds by the clock."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--busy", type=int, default=0, help="processes that compute beside it")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, beside(asked.busy):
        for spins in ("0", "1") * 2:
            with threads_that(spins):
                settings = load_settings(Path(folder), environ={})
                embedder = open_embedder(settings.embedding, Path(folder) / "models")
            name = "spinning" if spins == "1" else "sleeping"
            print(f"{name}, {asked.busy} beside: {figures(embedder)}", flush=True)


def figures(embedder: Embedder) -> str:
    """A question alone and of four at once, in milliseconds; a batch in seconds."""
    questions = [TEXT.format(number) for number in range(QUESTIONS)]

    def ask(_: int) -> None:
        for question in questions:
            embedder.embed([question], "query")

    embedder.embed(questions[:5], "query")
    said = []
    for many in (1, AT_ONCE):
        begun = time.perf_counter()
        with ThreadPoolExecutor(many) as askers:
            list(askers.map(ask, range(many)))
        each = (time.perf_counter() - begun) / (QUESTIONS * many)
        said.append(f"{1_000 * each:.1f} ms a question of {many} at once")
    begun = time.perf_counter()
    embedder.embed([TEXT.format(number) for number in range(PASSAGES)], "passage")
    return ", ".join([*said, f"{PASSAGES} passages {time.perf_counter() - begun:.2f} s"])


@contextmanager
def threads_that(spins: str) -> Iterator[None]:
    """Sessions that are opened inside have threads of that kind."""
    # Not before wellread.models, which keeps onnxruntime from reporting.
    import onnxruntime as ort  # noqa: PLC0415

    real = ort.SessionOptions

    def made() -> Any:
        options = real()
        options.add_session_config_entry(SPINNING, spins)
        return options

    ort.SessionOptions = made
    try:
        yield
    finally:
        ort.SessionOptions = real


@contextmanager
def beside(many: int) -> Iterator[None]:
    """So many processes compute."""
    busy = [get_context("spawn").Process(target=compute, daemon=True) for _ in range(many)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()


def compute() -> None:
    """Without an end, unless the one who asked for it ends."""
    parent = os.getppid()
    while os.getppid() == parent:
        sum(range(100_000))


if __name__ == "__main__":
    main()
