"""A large folder: peak memory and rate while 300 MB of mixed files are added, and a second run.

    python -m benchmarks.large --megabytes 300

The folder is made of words drawn at random: half of its bytes plain text and Markdown (files of
20 kB to 2 MB, one of 20 MB), the rest HTML with much markup, PDFs with pictures, JSONL and
captions. Memory is that of the process and, apart, of its largest parser (peak resident set). The
embedder is the static one, so that the run does not take hours: memory does not depend on it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from benchmarks.paths import CACHE
from benchmarks.record import memory_of, save
from wellread.ingest.pipeline.parse import Parsed, ParseRequest
from wellread.ingest.pipeline.workers import WorkerPool
from wellread.ingest.run import add
from wellread.kb import open_kb

MEGABYTE = 1_000_000
WORDS = 30_000


def main() -> None:
    """Make the folder, add it twice in processes of their own, write ``results/large.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--child", type=Path, help="be the process that is measured")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
        return
    place = CACHE / f"large-{arguments.megabytes}"
    files = place / "files"
    if not files.exists():
        made = make(place / "partial", arguments.megabytes * MEGABYTE)
        print(f"made {made:,} files", flush=True)
        (place / "partial").rename(files)
    shutil.rmtree(place / "home", ignore_errors=True)
    figures: dict[str, Any] = {
        "files": sum(1 for path in files.iterdir()),
        "bytes": sum(path.stat().st_size for path in files.iterdir()),
        "first run": measured(place),
        "second run": measured(place),
    }
    save("large", figures)
    print(json.dumps(figures, indent=1))


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [
        f"{figures['files']:,} files, {figures['bytes'] / MEGABYTE:,.0f} MB.",
        "",
        "| run | passages | seconds | memory before, MiB | peak, MiB | largest parser, MiB |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("first run", "second run"):
        row = figures[name]
        memory = ("MiB before", "peak MiB", "peak MiB of the largest parser")
        lines.append(
            f"| {name} | {row['passages']:,} | {row['seconds']:,} | "
            f"{' | '.join(f'{row[each]:,}' for each in memory)} |"
        )
    return lines


def measured(place: Path) -> dict[str, Any]:
    """What a child says of its run."""
    command = [sys.executable, "-m", "benchmarks.large", "--child", str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def child(place: Path) -> None:
    """Add the folder and print what it took."""
    parsers: list[int] = []
    submit = WorkerPool.submit

    def remembering(
        pool: WorkerPool, request: ParseRequest, data: bytes | None = None
    ) -> Future[Parsed]:
        future = submit(pool, request, data)
        future.add_done_callback(lambda done: parsers.append(done.result().memory))
        return future

    setattr(WorkerPool, "submit", remembering)  # noqa: B010 - mypy refuses the plain assignment
    with open_kb(place / "home", overrides={"embedding": {"backend": "static"}}) as kb:
        kb.embedder.embed(["ready"], "query")  # its table is made once per home
        before = memory_of(os.getpid())["VmHWM"]
        started = time.perf_counter()
        report = add(kb, [str(place / "files")])
        seconds = time.perf_counter() - started
        counts = report.counts()
        passages = sum(row.passages for row in kb.catalogue.listings.kinds())
    figures = {
        "counts": counts,
        "passages": passages,
        "seconds": round(seconds, 1),
        "MiB before": before,
        "peak MiB": memory_of(os.getpid())["VmHWM"],
        "peak MiB of the largest parser": max(parsers, default=0) >> 20,
    }
    print(json.dumps(figures))


def make(folder: Path, total: int) -> int:
    """Write files of ``total`` bytes; how many."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chance = random.Random(5)
    words = [
        "".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 10)))
        for _ in range(WORDS)
    ]
    (folder / "large.txt").write_text(prose(chance, words, total // 15))
    kinds: list[tuple[float, Callable[[random.Random, list[str], Path], None]]] = [
        (0.40, text_file),
        (0.25, html_file),
        (0.20, pdf_file),
        (0.08, records_file),
        (0.07, captions_file),
    ]
    written, number = total // 15, 1
    while written < total:
        (kind,) = chance.choices([kind for _, kind in kinds], [share for share, _ in kinds])
        path = folder / f"{number:05d}"
        kind(chance, words, path)
        (made,) = folder.glob(f"{number:05d}*")
        written += made.stat().st_size
        number += 1
    return number


def prose(chance: random.Random, words: list[str], size: int) -> str:
    """Sentences and paragraphs of about ``size`` characters."""
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(chance.choices(words, k=chance.randint(6, 24))).capitalize() + "."
        parts.append(sentence + ("\n\n" if chance.random() < 0.2 else " "))
        length += len(parts[-1])
    return "".join(parts)


def text_file(chance: random.Random, words: list[str], path: Path) -> None:
    body = prose(chance, words, int(2 ** chance.uniform(14, 21)))
    path.with_suffix(chance.choice((".txt", ".md"))).write_text(body)


def html_file(chance: random.Random, words: list[str], path: Path) -> None:
    paragraphs = prose(chance, words, 40_000).split("\n\n")
    body = "".join(f'<div class="{"x" * 900}"><p>{each}</p></div>' for each in paragraphs)
    head = f"<head><title>{path.name}</title></head>"
    page = f"<html>{head}<body><article>{body}</article></body></html>"
    path.with_suffix(".html").write_text(page)


def pdf_file(chance: random.Random, words: list[str], path: Path) -> None:
    canvas = Canvas(str(path.with_suffix(".pdf")), pagesize=A4)
    for _ in range(8):
        text = canvas.beginText(60, 780)
        for line in prose(chance, words, 2_500).replace("\n\n", " ").split(". "):
            text.textLine(line[:95] + ".")
        canvas.drawText(text)
        noise = Image.frombytes("RGB", (220, 220), chance.randbytes(220 * 220 * 3))
        canvas.drawImage(ImageReader(noise), 60, 60, 200, 200)
        canvas.showPage()
    canvas.save()


def records_file(chance: random.Random, words: list[str], path: Path) -> None:
    lines = io.StringIO()
    for number in range(300):
        record = {
            "id": f"{path.name}-{number}",
            "title": "item",
            "text": prose(chance, words, 1_500),
        }
        lines.write(json.dumps(record) + "\n")
    path.with_suffix(".jsonl").write_text(lines.getvalue())


def captions_file(chance: random.Random, words: list[str], path: Path) -> None:
    lines = ["WEBVTT", ""]
    for second in range(0, 9_000, 4):
        stamps = [
            f"{t // 3600:02d}:{t // 60 % 60:02d}:{t % 60:02d}.000" for t in (second, second + 4)
        ]
        lines += [" --> ".join(stamps), " ".join(chance.choices(words, k=12)) + ".", ""]
    path.with_suffix(".vtt").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
