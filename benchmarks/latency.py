"""Latency of search and ask at 10,000 and 200,000 passages, warm and cold, and by step.

    python -m benchmarks.latency --sizes 10000,200000 --questions 200

The homes hold generated text (see ``material.py``) and are kept. Every question is asked once, so
that no cache of query vectors helps; the first ones warm up and are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.material import COLLECTIONS, FIRST_DAY, generated_home, pattern, questions
from benchmarks.record import save
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import weighted
from wellread.ask.retrieve.search import CLOSENESS_DEPTH, LOWEST_SCORES, search
from wellread.evaluation.scores import percentile
from wellread.kb import KnowledgeBase
from wellread.models.open_reader import closeness
from wellread.serve.cli.ask_cli import EXIT_NOT_ANSWERED
from wellread.types import Filters
from wellread.values.answers import Question

WARM_UP = 20
COLD_RUNS = 5
COLD_SIZE = 10_000
DEPTH = 100
SHOWN = 24
FILTERS = Filters(collections=COLLECTIONS[:1], kinds=("article", "paper"), published_from=FIRST_DAY)

Seconds = list[float]


def main() -> None:
    """Measure every size and write ``results/latency.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sizes", default="10000", help="passages, with commas")
    parser.add_argument("--questions", type=int, default=200, help="per figure")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    figures = {
        "questions": options.questions,
        "sizes": [measure(int(size), options.questions) for size in options.sizes.split(",")],
    }
    save("latency", figures)
    print("\n".join(table(figures)))


def measure(size: int, count: int) -> dict[str, Any]:
    """Every figure of one size."""
    started = time.perf_counter()
    shape = pattern()
    kb = generated_home(size)
    built = time.perf_counter() - started
    with kb:
        asked = iter(questions(shape, 4 * (count + WARM_UP), seed=size))

        def some() -> list[str]:
            return [next(asked) for _ in range(count + WARM_UP)]

        figures: dict[str, Any] = {
            "passages": size,
            "build seconds": round(built, 1),
            "search": spread(timed(lambda text: search(kb, text, Filters()), some())),
            "search, filtered": spread(timed(lambda text: search(kb, text, FILTERS), some())),
        }
        answers = timed_answers(kb, some())
        figures |= {"ask": spread(answers["seconds"]), "declined": answers["declined"]}
        figures["ask steps"] = answers["steps"]
        figures["steps"] = steps(kb, some())
    if size == COLD_SIZE:
        figures["cold ask"] = cold(kb.home, questions(shape, COLD_RUNS + 1, seed=3))
    return figures


def timed(run: Callable[[str], object], asked: Sequence[str]) -> Seconds:
    """Seconds of each call after the warm-up."""
    seconds = []
    for text in asked:
        started = time.perf_counter()
        run(text)
        seconds.append(time.perf_counter() - started)
    return seconds[WARM_UP:]


def timed_answers(kb: KnowledgeBase, asked: Sequence[str]) -> dict[str, Any]:
    """Seconds of each whole answer, the median of its steps, and the share declined."""
    return asyncio.run(_answers(kb, asked))


async def _answers(kb: KnowledgeBase, asked: Sequence[str]) -> dict[str, Any]:
    seconds: Seconds = []
    by_step: dict[str, Seconds] = {}
    declined = 0
    for number, text in enumerate(asked):
        started = time.perf_counter()
        given = await final(answer(kb, Question(text=text, fresh=True)))
        if number < WARM_UP:
            continue
        seconds.append(time.perf_counter() - started)
        declined += given.answered_by == "none"
        for step in given.steps:
            by_step.setdefault(step.name, []).append(step.seconds)
    medians = {name: statistics.median(found) for name, found in by_step.items()}
    return {"seconds": seconds, "steps": medians, "declined": declined / len(seconds)}


def steps(kb: KnowledgeBase, asked: Sequence[str]) -> dict[str, dict[str, float]]:
    """The parts of a search one after the other, from embedding to the facts of what is shown."""
    seconds: dict[str, Seconds] = {}

    def note(name: str, since: float) -> float:
        now = time.perf_counter()
        seconds.setdefault(name, []).append(now - since)
        return now

    for text in asked:
        clock = time.perf_counter()
        vector = kb.embedder.embed([text], "query")[0]
        clock = note("embed the question", clock)
        lists = {"text": kb.index.search_text(text, Filters(), DEPTH)}
        clock = note("text list", clock)
        lists["vector"] = kb.index.search_vector(vector, Filters(), DEPTH)
        clock = note("vector list", clock)
        fused = weighted(lists, {"text": 0.5, "vector": 0.5}, LOWEST_SCORES)
        clock = note("fusion", clock)
        best = fused[:CLOSENESS_DEPTH]
        held = kb.catalogue.live_passages([item.candidate.passage_id for item in best])
        clock = note("texts of the best 60", clock)
        closeness(text, [(passage.context, passage.text) for passage in held.values()])
        clock = note("closeness", clock)
        kb.catalogue.facts({item.candidate.document_id for item in fused[:SHOWN]})
        note("facts", clock)
    return {name: spread(found[WARM_UP:]) for name, found in seconds.items()}


def cold(home: Path, asked: Sequence[str]) -> dict[str, float]:
    """Seconds of ``wellread ask`` as a new process; the first run is not counted (it may build
    what a home keeps of the model).
    """
    program = Path(sys.executable).with_name("wellread")
    environ = os.environ | {"WELLREAD_HOME": str(home)}
    seconds = []
    for text in asked:
        started = time.perf_counter()
        done = subprocess.run([program, "ask", text], env=environ, capture_output=True, text=True)
        seconds.append(time.perf_counter() - started)
        if done.returncode != EXIT_NOT_ANSWERED:
            done.check_returncode()
    return spread(seconds[1:])


def spread(seconds: Seconds) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    return {
        "p50": round(1000 * percentile(seconds, 0.5), 2),
        "p95": round(1000 * percentile(seconds, 0.95), 2),
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """All sizes side by side as Markdown."""
    sizes = figures["sizes"]
    heads = " | ".join(f"{size['passages']:,} p50 | p95" for size in sizes)
    lines = [f"| ms | {heads} |", f"|---|{'---|---|' * len(sizes)}"]
    for name in ("search", "search, filtered", "ask", "cold ask"):
        cells = [_cell(size.get(name)) for size in sizes]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name in sizes[0]["steps"]:
        cells = [_cell(size["steps"][name]) for size in sizes]
        lines.append(f"| step of search: {name} | {' | '.join(cells)} |")
    for name in sizes[0]["ask steps"]:
        cells = [f"{1000 * size['ask steps'].get(name, 0.0):.1f} | " for size in sizes]
        lines.append(f"| step of ask: {name} | {' | '.join(cells)} |")
    declined = ", ".join(f"{size['declined']:.0%} at {size['passages']:,}" for size in sizes)
    return [*lines, "", f"{figures['questions']} questions per figure; declined: {declined}.", ""]


def _cell(found: dict[str, float] | None) -> str:
    return f"{found['p50']:.1f} | {found['p95']:.1f}" if found else "– | –"


if __name__ == "__main__":
    main()
