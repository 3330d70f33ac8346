"""The speed of the road as ratios, in one run: each figure beside what bounds it from below.

    python -m benchmarks.speed --sizes 10000,200000 --questions 100

Machines differ and are busy at times, so what is compared is measured in turn, question by
question, and the load is printed. "Bare" is the question embedded, then LanceDB's two lists side
by side, without the rest of Wellread. "Reader" is what the ask before it gave to the reader's
network, read once more with nothing else. The homes hold generated text (``material.py``), are
kept between runs, and every question is asked once. The release gate holds the ratios
(``release/limits.yaml``).
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lancedb
import yaml
from lancedb.query import LanceFtsQueryBuilder, LanceVectorQueryBuilder

from benchmarks.material import COLLECTIONS, FIRST_DAY, generated_home, pattern, questions
from benchmarks.record import save
from benchmarks.release.verdict import LIMITS, Measured, count
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.evaluation.report import ALL
from wellread.evaluation.scores import percentile
from wellread.kb import KnowledgeBase
from wellread.kb.index_parts import INDEX_FOLDER
from wellread.models.base import Reading
from wellread.models.trained_reader import TrainedModel
from wellread.serve.cli.ask_cli import EXIT_NOT_ANSWERED
from wellread.store.index.lance import PROBES, REFINE
from wellread.store.index.lance_tables import table_name
from wellread.types import Filters
from wellread.values.answers import Question

FILTERS = Filters(collections=COLLECTIONS[:1], kinds=("article", "paper"), published_from=FIRST_DAY)
WARM_UP = 10
DEPTH = 100
COLD_RUNS = 5
IMPORTS = "import lancedb, onnxruntime, numpy"
NOT_KEPT = "PYTHONDONTWRITEBYTECODE"
PARSER_MEMORY = "1024"  # mebibytes
PARTS = ("bare", "search", "search, filtered", "question analysis", "ask", "reader")
SIZES = (10_000, 200_000)
QUESTIONS = 100
RATIOS = ("ask_large_by_small", "search_large_by_bare", "ask_small_by_reader", "cold_by_imports")

Run = Callable[[str], object]
Times = dict[str, list[float]]
Pairs = Sequence[tuple[str, Sequence[str]]]


def main() -> None:
    """Measure every size, print the table, write ``results/speed.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="passages, with commas")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each part and size")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    figures = measured_sizes([int(size) for size in options.sizes.split(",")], options.questions)
    save("speed", figures)
    print("\n".join(table(figures)))


def measured_sizes(sizes: Sequence[int], count: int) -> dict[str, Any]:
    """Every figure, with the ratios between them."""
    figures: dict[str, Any] = {"load before": os.getloadavg()[0], "questions": count}
    figures["sizes"] = [warm(size, count) for size in sizes]
    with generated_home(min(sizes)) as kb:
        home = kb.home
    figures |= processes(home)
    figures["load after"] = os.getloadavg()[0]
    return figures | {"ratios": ratios(figures)}


def ratios(figures: Mapping[str, Any]) -> dict[str, float]:
    """What the release gate holds: medians of the smallest and the largest base, and of starts."""
    small, large = (
        choose(figures["sizes"], key=lambda size: size["passages"]) for choose in (min, max)
    )
    pairs = (
        (large["ask"]["p50"], small["ask"]["p50"]),
        (large["search"]["p50"], large["bare"]["p50"]),
        (small["ask"]["p50"], small["reader"]["p50"]),
        (figures["cold ask"], figures["imports"]),
    )
    return {name: round(a / b, 3) for name, (a, b) in zip(RATIOS, pairs, strict=True)}


def measure() -> Measured:
    """The ratios, as a part of the release gate."""
    found = measured_sizes(SIZES, QUESTIONS)
    save("speed", found)
    return Measured(
        groups={ALL: {name: count(value, QUESTIONS) for name, value in found["ratios"].items()}}
    )


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

    asked, reader = asked_of(kb), Replay()
    made: tuple[Run, ...] = (
        bare(kb, beside),
        lambda text: search(kb, text, Filters()),
        lambda text: search(kb, text, FILTERS),
        understood,
        lambda text: reader.listening(lambda: asked(text)),
        reader.read,
    )
    return dict(zip(PARTS, made, strict=True))


def asked_of(kb: KnowledgeBase) -> Run:
    """Asks a question that no answer is kept of."""

    async def answered(text: str) -> None:
        await final(answer(kb, Question(text=text, fresh=True)))

    return lambda text: asyncio.run(answered(text))


class Replay:
    """What the last question gave to the reader's network, to be read once more."""

    def __init__(self) -> None:
        self._given: list[tuple[TrainedModel, Pairs]] = []

    def listening(self, work: Callable[[], object]) -> None:
        """Note what the network is given while ``work`` is done."""
        real, self._given = TrainedModel.read, []

        def read(model: TrainedModel, pairs: Pairs) -> list[Reading]:
            self._given.append((model, pairs))
            return real(model, pairs)

        with patch.object(TrainedModel, "read", read):
            work()

    def read(self, _: str) -> None:
        """Read all of it."""
        for model, pairs in self._given:
            model.read(pairs)


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
    parser = [sys.executable, "-m", "wellread.ingest.pipeline.worker", PARSER_MEMORY]
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
    # An installed command keeps its compiled modules.
    environ = {name: each for name, each in os.environ.items() if name != NOT_KEPT}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environ)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != EXIT_NOT_ANSWERED:  # a question without an answer took its time as well
        done.check_returncode()
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(figures: Mapping[str, Any]) -> list[str]:
    """What was measured, and the ratios with what the release gate allows."""
    lines = ["| what | p50 | p95 |", "|---|---|---|"]
    for size in figures["sizes"]:
        for name in PARTS:
            one = size[name]
            what = f"{name} at {size['passages']:,}"
            lines.append(f"| {what} | {one['p50']:.1f} ms | {one['p95']:.1f} ms |")
    lines += [
        f"| {name} | {figures[name]:.2f} s | |"
        for name in ("cold ask", "imports", "help", "parser start, processor")
    ]
    limits = yaml.safe_load(LIMITS.read_text(encoding="utf-8"))["speed"]
    lines += ["", "| ratio | found | at most |", "|---|---|---|"]
    lines += [
        f"| {name} | {value:.2f} | {limits[name]} |" for name, value in figures["ratios"].items()
    ]
    load = f"load {figures['load before']:.1f} before, {figures['load after']:.1f} after"
    return [*lines, "", f"{figures['questions']} questions of each part and size; {load}.", ""]


if __name__ == "__main__":
    main()
