"""Counting and listing: questions with answers that were worked out from the files by other means.

    python -m benchmarks.counting

``questions/counting.jsonl`` holds the questions; ``known`` says how each answer was found (files
counted, front matter, words in the text without markup). A question whose number is null is about
what texts say, not about the catalogue, and must be left to the passages. An answer is right when
its number is; where rows are given, these have to be the same, too. Each question goes through
``analyse`` and ``find``. The answers do not depend on vectors, so a quick embedder stands in.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.paths import CACHE, ROOT, SAMPLE, eval_data
from benchmarks.record import save
from wellread.answers import Question
from wellread.ask.aggregate.queries.result import AggregateResult
from wellread.ask.plan import find
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.identity import tagged_hash
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder

QUESTIONS = ROOT / "benchmarks" / "questions" / "counting.jsonl"
EXAMPLES = ROOT / "examples" / "collections"
TODAY = date(2026, 1, 1)
COLUMNS = ("base", "questions", "exact", "left to the passages, as they should be", "ms p50", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One question, and whether it was answered exactly."""

    base: str
    question: str
    wanted: int | None
    got: int | None
    right: bool
    seconds: float


def main() -> None:
    """Ask all questions, print, write ``results/counting.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="one base: optech, sample, s3")
    options = parser.parse_args()
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    outcomes: list[Outcome] = []
    for base in dict.fromkeys(one["base"] for one in questions):
        if options.only in ("", base):
            with ExitStack() as stack:
                kb = stack.enter_context(filled(base))
                outcomes += [ask(kb, one) for one in questions if one["base"] == base]
    for one in outcomes:
        if not one.right:
            print(f"{one.base}: {one.question}: {one.got}, should be {one.wanted}")
    figures = measured(outcomes)
    if not options.only:
        save("counting", figures)
    print("\n".join(table(figures)))


def filled(base: str) -> KnowledgeBase:
    """The base, filled through the real ingest path."""
    folders = {"optech": "bitcoin_optech", "s3": "s3_patterns"}
    names = {"optech": "optech.yaml", "s3": "s3_patterns.yaml"}
    folder = eval_data(folders[base]) if base in folders else SAMPLE
    settings = EXAMPLES / names[base] if base in names else None
    # Checkouts that share a cache have a sample each: in one home it would be there twice.
    name = f"counting-{base}-{tagged_hash('folder', str(folder.resolve()))[-8:]}"
    kb = open_kb(CACHE / "homes" / name, embedder=ReadableEmbedder())
    report = add(kb, [str(folder)], collection=base, settings=settings)
    bad = [row for row in report.rows if row.status == "failed"]
    if bad:
        raise SystemExit(f"{len(bad)} sources of {base} failed, for example {bad[0].uri}")
    return kb


def ask(kb: KnowledgeBase, one: Mapping[str, Any]) -> Outcome:
    """One question through analysis and strategy."""
    words = vocabulary_of(kb)
    started = time.perf_counter()
    found = find(kb, analyse(Question(text=one["question"]), words, TODAY))
    seconds = time.perf_counter() - started
    result = found if isinstance(found, AggregateResult) else None
    got = result.number if result else None
    right = got == one["number"] and (result is None or same_rows(result, one.get("rows")))
    return Outcome(
        base=one["base"],
        question=one["question"],
        wanted=one["number"],
        got=got,
        right=right,
        seconds=seconds,
    )


def same_rows(result: AggregateResult, wanted: Sequence[Any] | None) -> bool:
    """Whether the rows are those that are given: by all cells, or by the first of each."""
    if wanted is None:
        return True
    if wanted and isinstance(wanted[0], list):
        return [list(row.cells) for row in result.rows] == [list(row) for row in wanted]
    return [row.cells[0] for row in result.rows] == list(wanted)


def measured(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of each base and of all."""
    bases = [*dict.fromkeys(one.base for one in outcomes), "all"]
    figures: dict[str, Any] = {"questions": str(Path(QUESTIONS).relative_to(ROOT))}
    for base in bases:
        mine = [one for one in outcomes if base in ("all", one.base)]
        counted = [one for one in mine if one.wanted is not None]
        others = [one for one in mine if one.wanted is None]
        times = [1000 * one.seconds for one in counted]
        figures[base] = {
            "questions": len(counted),
            "exact": sum(one.right for one in counted),
            "others": len(others),
            "left": sum(one.right for one in others),
            "p50": round(median(times), 1),
            "max": round(max(times), 1),
        }
    figures["wrong"] = [
        f"{one.base}: {one.question} {one.got} instead of {one.wanted}"
        for one in outcomes
        if not one.right
    ]
    return figures


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of the figures."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for base in ("optech", "sample", "s3", "all"):
        if base in figures:
            one = figures[base]
            cells = (base, one["questions"], one["exact"], f"{one['left']} of {one['others']}")
            lines.append(f"| {' | '.join(map(str, (*cells, one['p50'], one['max'])))} |")
    if figures["wrong"]:
        lines += ["", "Wrong:", "", *(f"- {line}" for line in figures["wrong"])]
    return lines


if __name__ == "__main__":
    main()
