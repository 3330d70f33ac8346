"""Counting and listing: questions with answers that were worked out from the files by other means.

    python -m benchmarks.counting

``questions/counting.jsonl`` holds the questions; ``known`` says how each answer was found (files
counted, front matter, words in the text without markup). A question whose number is null is about
what texts say, not about the catalogue, and must be left to the passages. An answer is right when
its number is; where rows are given, these have to be the same, too. Each question goes through
``analyse`` and ``find``. The answers do not depend on vectors, so a quick embedder stands in.

``questions/catalogue-held-out.jsonl`` is the second table: questions in words that no example of
the reader has, and some that only sound like it and are about the texts. Half ``a`` was looked at
while the reader was made, half ``b`` was not; ``facts`` are of documents. A catalogue answer that
is not the right one, to either, is wrong; what is not read as a question to the catalogue is left
to the passages.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.paths import CACHE, ROOT, SAMPLE, eval_data
from benchmarks.record import save
from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import find
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.identity import tagged_hash
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Question

QUESTIONS = ROOT / "benchmarks" / "questions" / "counting.jsonl"
HELD_OUT = ROOT / "benchmarks" / "questions" / "catalogue-held-out.jsonl"
EXAMPLES = ROOT / "examples" / "collections"
TODAY = date(2026, 1, 1)
OF_CATALOGUE = frozenset(("count", "list", "gap", "coverage", "trend"))
HELD_COLUMNS = ("half", "of the catalogue", "right", "wrong", "left", "of the texts", "wrong")
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
    parser.add_argument("--show", action="store_true", help="print what of half a is not right")
    options = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    unseen = [json.loads(line) for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]
    outcomes: list[Outcome] = []
    marks: dict[str, list[str]] = {}
    for base in dict.fromkeys(one["base"] for one in questions):
        if options.only in ("", base):
            with ExitStack() as stack:
                kb = stack.enter_context(filled(base))
                outcomes += [ask(kb, one) for one in questions if one["base"] == base]
                for one in (one for one in unseen if one["base"] == base):
                    mark, told = marked(kb, one)
                    part = "texts" if one.get("text") else "catalogue"
                    marks.setdefault(f"{one['half']} {part}", []).append(mark)
                    if options.show and one["half"] != "b" and mark != "right":
                        print(f"{mark} {base}: {one['question']}: {told}")
    for one in outcomes:
        if not one.right:
            print(f"{one.base}: {one.question}: {one.got}, should be {one.wanted}")
    figures = measured(outcomes)
    figures["held out"] = {name: Counter(held) for name, held in sorted(marks.items())}
    if not options.only:
        save("counting", figures)
    print("\n".join([*table(figures), "", *held_table(figures["held out"])]))


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


def marked(kb: KnowledgeBase, one: Mapping[str, Any]) -> tuple[str, str]:
    """Whether a held-out question is answered right, wrongly or left; and what was said."""
    found = find(kb, analyse(Question(text=one["question"]), vocabulary_of(kb), TODAY))
    facts = one["half"] == "facts"
    if not isinstance(found, AggregateResult) or not (facts or found.kind in OF_CATALOGUE):
        return ("right" if one.get("text") else "left"), ""
    said = " ".join([found.sentence, *(row.line for row in found.rows if facts)])
    right = not one.get("text") and all(
        (
            "number" not in one or found.number == one["number"],
            "there" not in one or bool(found.number) is one["there"],
            "kinds" not in one or found.kind in one["kinds"],
            one.get("says", "") in said.lower(),
            "rows" not in one or set(one["rows"]) in names_of(found),
            "first" not in one
            or one["first"] in [name for row in found.rows[:1] for name in row.cells[:1]],
            all(has_row(found, *cells) for cells in one.get("cells", ())),
        )
    )
    return ("right" if right else "wrong"), said


def names_of(result: AggregateResult) -> list[set[str]]:
    """What the rows are called, whether the name stands first or behind a group."""
    return [{row.cells[at] for row in result.rows} for at in range(min(2, len(result.columns)))]


def has_row(result: AggregateResult, name: str, number: str) -> bool:
    """Whether a row of this name has the number, alone or before what is counted."""
    return any(
        row.cells[0] == name and any(cell.split(" ")[0] == number for cell in row.cells[1:])
        for row in result.rows
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


def held_table(held: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The Markdown table of the held-out questions."""
    lines = [f"| {' | '.join(HELD_COLUMNS)} |", f"|{'---|' * len(HELD_COLUMNS)}"]
    for half in ("a", "b", "facts"):
        asked, told = held.get(f"{half} catalogue", {}), held.get(f"{half} texts", {})
        cells = (sum(asked.values()), *(asked.get(name, 0) for name in ("right", "wrong", "left")))
        texts = (sum(told.values()), told.get("wrong", 0))
        lines.append(f"| {' | '.join(map(str, (half, *cells, *texts)))} |")
    return lines


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
