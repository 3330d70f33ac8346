"""Ingest: passages per second of ``add`` against the bare embedder, and peak memory by size.

    python -m benchmarks.ingest --files 40 --rounds 3

Rate: in one process, in turn, ``add`` into a fresh home and one call of the embedder on the very
texts that ``add`` embedded. Memory: one child process per size, its peak resident set.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.homes import default_embedder
from benchmarks.paths import CACHE, ROOT
from benchmarks.record import memory_of, save
from benchmarks.sets.meetings import newsletters
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.models.base import Embedder, Purpose

MEMORY_SIZES = (1, 4)


class Listening:
    """Passes everything on to an embedder and remembers the passage texts."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.texts: list[str] = []

    @property
    def identity(self) -> str:
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        self.texts += texts
        return self._embedder.embed(texts, purpose)


def main() -> None:
    """Measure and write ``results/ingest.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=40, help="newsletters to take in at size 1")
    parser.add_argument("--rounds", type=int, default=3, help="turns of add and bare embedder")
    parser.add_argument("--backend", default="local", help="embedder of the memory runs")
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "HOME", "BACKEND"))
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    figures = {
        "rate": rate(options.files, options.rounds),
        "memory": memory(options.files, options.backend),
    }
    save("ingest", figures)
    print("\n".join(table(figures)))


def rate(files: int, rounds: int) -> dict[str, Any]:
    """Passages per second of both, round by round, and the ratio of the medians."""
    embedder = default_embedder()
    embedder.embed(["The first call is slower; it is nobody's figure."], "passage")
    sources = subset(files)
    added: list[float] = []
    bare: list[float] = []
    passages = 0
    for _ in range(rounds):
        listening = Listening(embedder)
        with (
            tempfile.TemporaryDirectory(dir=CACHE) as home,
            open_kb(Path(home), embedder=listening) as kb,
        ):
            started = time.perf_counter()
            report = add(kb, [str(sources)])
            added.append(report.passages / (time.perf_counter() - started))
        passages = report.passages
        started = time.perf_counter()
        embedder.embed(listening.texts, "passage")
        bare.append(len(listening.texts) / (time.perf_counter() - started))
    return {
        "files": files,
        "passages": passages,
        "add": added,
        "bare": bare,
        "ratio": statistics.median(added) / statistics.median(bare),
    }


def memory(files: int, backend: str) -> list[dict[str, Any]]:
    """Peak resident set of a process that takes in 1× and 4× the files."""
    rows = []
    for size in MEMORY_SIZES:
        sources = subset(files * size)
        with tempfile.TemporaryDirectory(dir=CACHE) as home:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.ingest", "--child", sources, home, backend],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
        rows.append({"size": size, "backend": backend} | json.loads(done.stdout))
    return rows


def child(folder: str, home: str, backend: str) -> None:
    """Take ``folder`` in and print passages, seconds and this process's peak memory."""
    with open_kb(Path(home), overrides={"embedding": {"backend": backend}}) as kb:
        started = time.perf_counter()
        report = add(kb, [folder])
        seconds = time.perf_counter() - started
    peak = memory_of(os.getpid())["VmHWM"]
    print(json.dumps({"passages": report.passages, "seconds": seconds, "peak MiB": peak}))


def subset(files: int) -> Path:
    """A folder with the first ``files`` newsletters by name."""
    folder = CACHE / "sources" / f"newsletters-{files}"
    if not folder.exists():
        fresh = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for path in sorted(newsletters().glob("*.md"))[:files]:
            shutil.copy(path, fresh / path.name)
        fresh.rename(folder)
    return folder


def table(figures: Mapping[str, Any]) -> list[str]:
    """Both figures as Markdown."""
    found = figures["rate"]
    lines = [
        "| | passages/s (median) | rounds |",
        "|---|---|---|",
    ]
    for name, label in (("add", "`add` into a fresh home"), ("bare", "bare embedder, same texts")):
        rounds = ", ".join(f"{value:.1f}" for value in found[name])
        lines.append(f"| {label} | {statistics.median(found[name]):.1f} | {rounds} |")
    lines += [
        "",
        f"Ratio **{found['ratio']:.3f}** over {found['passages']:,} passages of "
        f"{found['files']} Optech newsletters (target: at least 0.9).",
        "",
        "| size | embedder | passages | passages/s | peak memory |",
        "|---|---|---|---|---|",
    ]
    for row in figures["memory"]:
        lines.append(
            f"| {row['size']}× | {row['backend']} | {row['passages']:,} | "
            f"{row['passages'] / row['seconds']:.0f} | {row['peak MiB']:,} MiB |"
        )
    return [*lines, ""]


if __name__ == "__main__":
    main()
