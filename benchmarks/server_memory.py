"""The memory of a server over many requests, and what its rarer garbage collection costs.

    python -m benchmarks.server_memory --requests 20000 --collections 50000,700

``wellread serve`` over the 10,000 passages of ``benchmarks.scale`` is asked, searched and read over
loopback: of twenty requests one asks, seven search, twelve read a page. Resident memory is read
after a warm-up and at every twentieth of the way. Each threshold of the garbage collector (the
objects made between two passes; the server's own, then Python's) gets a server and a turn of its
own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks import scale_files
from benchmarks.ledger import Served, served
from benchmarks.material import questions
from benchmarks.paths import CACHE
from benchmarks.record import memory_of, save
from wellread.evaluation.scores import percentile

WARM_UP = 500
SAMPLES = 20
ROUND = ("ask", *(["search", "page", "page"] * 6), "search")
PAGES = ("/library", "/stories", "/", "/library/collections", "/api/documents", "/health")
START = "import gc; from wellread.serve import cli; cli._GC_THRESHOLDS = ({}, 10, 10); cli.main()"


def main() -> None:
    """Measure each threshold, print the table, write ``results/server_memory.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--collections", default="50000,700", help="thresholds, with commas")
    options = parser.parse_args()
    rows = [measured(int(each), options.requests) for each in options.collections.split(",")]
    figures = {"requests": options.requests, "rows": rows}
    save("server_memory", figures)
    print("\n".join(table(figures)))


def measured(threshold: int, count: int) -> dict[str, Any]:
    """Memory along the way, and what a request takes."""
    texts = iter(questions(scale_files.shape(), count + WARM_UP, seed=threshold))
    start = (sys.executable, "-c", START.format(threshold))
    seconds: dict[str, list[float]] = {name: [] for name in ROUND}
    samples: list[int] = []
    with served(CACHE / "scale-10000" / "home", start) as server:
        steps = requests(server, texts)
        for _ in range(WARM_UP):
            next(steps)
        begun = server.processor()
        for number in range(count):
            if number % max(1, count // SAMPLES) == 0:
                samples.append(memory_of(server.process)["VmRSS"])
            name, spent = next(steps)
            seconds[name].append(spent)
        memory = memory_of(server.process)
        processor = (server.processor() - begun) / count
    return {
        "threshold": threshold,
        "MiB": [*samples, memory["VmRSS"]],
        "peak MiB": memory["VmHWM"],
        "processor ms": round(processor, 2),
        "p50 ms": {name: round(percentile(found, 0.5), 1) for name, found in seconds.items()},
    }


def requests(server: Served, texts: Iterator[str]) -> Iterator[tuple[str, float]]:
    """Send one request after the other; its kind and milliseconds."""
    number = 0
    while True:
        for name in ROUND:
            number += 1
            if name == "page":
                yield name, server.milliseconds(PAGES[number % len(PAGES)])
                continue
            begun, text = time.perf_counter(), next(texts)
            if name == "ask":
                reply = server.client.post("/api/ask", json={"question": text})
            else:
                reply = server.client.get("/api/search", params={"query": text})
            reply.raise_for_status()
            yield name, (time.perf_counter() - begun) * 1000


def table(figures: Mapping[str, Any]) -> list[str]:
    """Memory at the start, in the middle and at the end, for each threshold."""
    lines = [
        "| objects between two collections | start | middle | end | peak | processor a request | "
        "p50 ask, search, page |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in figures["rows"]:
        memory = row["MiB"]
        points = (memory[0], memory[len(memory) // 2], memory[-1], row["peak MiB"])
        cells = " | ".join(f"{each:,} MiB" for each in points)
        medians = " / ".join(str(row["p50 ms"][name]) for name in ("ask", "search", "page"))
        lines.append(
            f"| {row['threshold']:,} | {cells} | {row['processor ms']} ms | {medians} ms |"
        )
    return [*lines, "", f"{figures['requests']:,} requests after {WARM_UP} to warm up.", ""]


if __name__ == "__main__":
    main()
