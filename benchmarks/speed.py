"""The speed of the road as ratios, in one run: each figure beside what bounds it from below.

    python -m benchmarks.speed --sizes 10000,200000 --questions 100

Machines differ and are busy at times, so what is compared is measured in turn, question by
question, and the load is printed. "Bare" is the question embedded, then LanceDB's two lists side
by side, without the rest of Wellread. The homes hold generated text (``material.py``), are kept
between runs, and every question is asked once.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lancedb
from lancedb.query import LanceFtsQueryBuilder, LanceVectorQueryBuilder

from benchmarks.latency import FILTERS
from benchmarks.material import generated_home, pattern, questions
from benchmarks.record import save
from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.evaluation.bootstrap import percentile
from wellread.kb import KnowledgeBase
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.store.index.lance import PROBES, REFINE
from wellread.store.index.lance_tables import table_name
from wellread.types import Filters

WARM_UP = 10
DEPTH = 100
COLD_RUNS = 5
COLD_SIZE = 10_000
IMPORTS = "import lancedb, onnxruntime, numpy"
PARSER_MEMORY = "1024"  # mebibytes
PARTS = ("bare", "search", "search, filtered", "question analysis", "ask")

Run = Callable[[str], object]
Times = dict[str, list[float]]


def main() -> None:
    """Measure every size, print the table, write ``results/speed.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", default="10000,200000", help="passages, with commas")
    parser.add_argument("--questions", type=int, default=100, help="of each part and size")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    figures: dict[str, Any] = {"load before": os.getloadavg()[0], "questions": options.questions}
    sizes = [int(size) for size in options.sizes.split(",")]
    figures["sizes"] = [warm(size, options.questions) for size in sizes]
    figures |= processes(generated_home(COLD_SIZE).home)
    figures["load after"] = os.getloadavg()[0]
    save("speed", figures)
    print("\n".join(table(figures)))


def warm(size: int, count: int) -> dict[str, Any]:
    """Every part of one size, in turn, in milliseconds."""
    with generated_home(size) as kb:
        asked = iter(questions(pattern(), len(PARTS) * (count + WARM_UP), seed=size + 1))
        with ThreadPoolExecutor(1) as beside:
            found = measured(runs(kb, beside), asked, count)
    return {"passages": size} | {
        name: {
            "p50": round(1000 * percentile(seconds, 0.5), 2),
            "p95": round(1000 * percentile(seconds, 0.95), 2),
        }
        for name, seconds in found.items()
    }


def measured(parts: Mapping[str, Run], asked: Iterator[str], count: int) -> Times:
    """The seconds of each call after the warm-up, one part after the other for every question."""
    seconds: Times = {name: [] for name in parts}
    for number in range(count + WARM_UP):
        for name, run in parts.items():
            text = next(asked)
            started = time.perf_counter()
            run(text)
            if number >= WARM_UP:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def runs(kb: KnowledgeBase, beside: ThreadPoolExecutor) -> dict[str, Run]:
    """What is measured, by its name in the table."""

    def understood(text: str) -> None:
        analyse(Question(text=text), vocabulary_of(kb, ()), datetime.now(UTC).date())

    def asked(text: str) -> None:
        asyncio.run(answered(text))

    async def answered(text: str) -> None:
        await final(answer(kb, Question(text=text, fresh=True)))

    made: tuple[Run, ...] = (
        bare(kb, beside),
        lambda text: search(kb, text, Filters()),
        lambda text: search(kb, text, FILTERS),
        understood,
        asked,
    )
    return dict(zip(PARTS, made, strict=True))


def bare(kb: KnowledgeBase, beside: ThreadPoolExecutor) -> Run:
    """Embeds the question, then asks LanceDB for both lists at once, as deep as a search does."""
    live = kb.live()
    opened = lancedb.connect(kb.home / INDEX_FOLDER).open_table(table_name(live.fingerprint))

    def words(text: str) -> object:
        return LanceFtsQueryBuilder(opened, text).select(["key", "_score"]).limit(DEPTH).to_arrow()

    def run(text: str) -> None:
        vector = live.embedder.embed([text], "query")[0]
        listed = beside.submit(words, text)
        near = LanceVectorQueryBuilder(opened, vector, "vector")
        near.distance_type("dot").refine_factor(REFINE)
        near.minimum_nprobes(PROBES).maximum_nprobes(PROBES)
        near.select(["key", "_distance"]).limit(DEPTH).to_arrow()
        listed.result()

    return run


def processes(home: Path) -> dict[str, float]:
    """Seconds of new processes: wall clock, and processor time of a parser that starts."""
    program = str(Path(sys.executable).with_name("wellread"))
    asked = iter(questions(pattern(), COLD_RUNS + 1, seed=3))
    parser = [sys.executable, "-m", "wellread.ingest.parsing.worker", PARSER_MEMORY]
    seconds: Times = {}
    for number in range(COLD_RUNS + 1):
        commands = {
            "cold ask": [program, "--home", str(home), "ask", next(asked)],
            "imports": [sys.executable, "-c", IMPORTS],
            "help": [program, "--help"],
            "parser start, processor": parser,
        }
        for name, command in commands.items():
            wall, processor = ran(command)
            if number:  # the first ones fill the disk cache
                spent = processor if command is parser else wall
                seconds.setdefault(name, []).append(spent)
    return {name: round(percentile(found, 0.5), 3) for name, found in seconds.items()}


def ran(command: list[str]) -> tuple[float, float]:
    """Wall clock and processor seconds of a command that is given no input."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(figures: Mapping[str, Any]) -> list[str]:
    """What was measured, its ratio to what it is measured against, and what it should be."""
    lines = ["| what | p50 | p95 | against | ratio | at most |", "|---|---|---|---|---|---|"]
    for size in figures["sizes"]:
        for name, against, most in (
            ("bare", "", ""),
            ("search", "bare", "1.6"),
            ("search, filtered", "search", "2"),
            ("question analysis", "", "5 ms at 1,000,000"),
            ("ask", "search", "5"),
        ):
            one = size[name]
            ratio = f"{one['p50'] / size[against]['p50']:.2f}" if against else ""
            what = f"{name} at {size['passages']:,}"
            cells = (what, f"{one['p50']:.1f} ms", f"{one['p95']:.1f} ms", against, ratio, most)
            lines.append(f"| {' | '.join(cells)} |")
    ratio = f"{figures['cold ask'] / figures['imports']:.2f}"
    lines += [
        f"| cold ask at {COLD_SIZE:,} | {figures['cold ask']:.2f} s | | imports | {ratio} | 1.5 |",
        f"| `{IMPORTS}` | {figures['imports']:.2f} s | | | | |",
        f"| `wellread --help` | {figures['help']:.2f} s | | | | 0.2 s |",
        f"| parser start, processor | {figures['parser start, processor']:.2f} s | | | | 0.5 s |",
    ]
    load = f"load {figures['load before']:.1f} before, {figures['load after']:.1f} after"
    return [*lines, "", f"{figures['questions']} questions of each part and size; {load}.", ""]


if __name__ == "__main__":
    main()
