"""Questions about the graph: answers exactly right, ways shown, on three graphs.

    python -m benchmarks.graph_questions
    python -m benchmarks.graph_questions --half "development"

The questions in ``questions/graph.jsonl`` were written before the code that answers them; the
right answers were worked out from the files by a script of its own (regular expressions over the
sources and set operations), not by Wellread's loaders. Half of the first hundred ("held out") were
not looked at while the code was written; 24 more ("fresh") were written when that half had been
run. What the first run over each of them showed was mended afterwards: ``FIRST_RUNS`` keeps its
figures, and the table counts the code as it is. Every question goes the way of a user's: analysis,
then the strategy of its type. The bases: the sample, the Sociocracy 3.0 patterns, and Optech's
topics with the newsletters.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.homes import refresh
from benchmarks.paths import CACHE, ROOT, SAMPLE, eval_data
from benchmarks.record import save
from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import find
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

QUESTIONS = Path(__file__).with_name("questions") / "graph.jsonl"
HELD_OUT = QUESTIONS.with_name("graph-held-out.jsonl")
SETTINGS = ROOT / "examples" / "collections"
SAMPLE_GRAPH, PATTERNS, OPTECH = "halden-sound", "s3", "optech"
NAMES = {PATTERNS: "S3 patterns", OPTECH: "Optech topics", SAMPLE_GRAPH: "sample"}
HALVES = ("development", "held out", "fresh")
FIRST_RUNS = {"held out": "45 of 48", "fresh": "21 of 24"}
ROUNDS = 3  # of all questions, for the time of one
# Vectors only choose which passages are shown with an answer, so the quick embedder will do.
OVERRIDES = {"embedding": {"backend": "static"}}

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one question went.

    Attributes:
        precision, recall: over the set of answers; of a question for a way or for yes or no,
            1 when it is right.
        shown: whether every answer has a way that leads to it.
        cause: why it is not right; empty when it is.
    """

    case: Case
    right: bool
    precision: float
    recall: float
    shown: bool
    milliseconds: float
    cause: str = ""
    detail: str = ""


def main() -> None:
    """Measure, print, write ``results/graph_questions.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--half", choices=HALVES, help="only these, and nothing is saved")
    options = parser.parse_args()
    cases = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    if options.half:
        cases = [case for case in cases if case["half"] == options.half]
    with filled() as kb:
        outcomes = [judged(kb, case) for case in cases]
        others = [] if options.half else in_other_words(kb)
    figures = summed(outcomes)
    for one in outcomes:
        if not one.right:
            print(f"{one.cause}: {one.case['question']} ({one.case['half']})\n    {one.detail}")
    if not options.half:
        figures["other words"] = others
        save("graph_questions", figures)
    print("\n".join(table(figures)))


@contextmanager
def filled() -> Iterator[KnowledgeBase]:
    """A home with the three collections."""
    sources = CACHE / "sources" / "graph"
    with open_kb(CACHE / "homes" / "graph", overrides=OVERRIDES) as kb:
        refresh(sources / OPTECH, _optech)
        commons = str(SAMPLE / "commons")
        inputs = [commons, *(str(SAMPLE / name) for name in ("news", "pages", "transcripts"))]
        add(kb, inputs, collection=SAMPLE_GRAPH)
        add(
            kb,
            [str(eval_data("s3_patterns"))],
            collection=PATTERNS,
            settings=SETTINGS / "s3_patterns.yaml",
        )
        add(
            kb,
            [str(sources / OPTECH)],
            collection=OPTECH,
            settings=SETTINGS / "optech.yaml",
        )
        yield kb


def _optech(folder: Path) -> None:
    """Topics and newsletters; the recordings would only take time."""
    for part in (("_topics", "en"), ("_posts", "en", "newsletters")):
        shutil.copytree(eval_data("bitcoin_optech", *part), folder.joinpath(*part))


# --- one question ---


def judged(kb: KnowledgeBase, case: Case) -> Outcome:
    """Ask, and compare with the right answer."""
    found, analysis, milliseconds = asked(kb, case)
    graph = isinstance(found, AggregateResult) and found.strategy == "graph"
    if not graph:
        return Outcome(
            case=case,
            right=False,
            precision=0.0,
            recall=0.0,
            shown=False,
            milliseconds=milliseconds,
            cause=f"taken as {analysis.type}" if analysis.type != "relational" else "nothing found",
            detail=f"{found.strategy}; {'; '.join(found.notes)}",
        )
    if "answers" in case:
        return _of_answers(kb, case, found, milliseconds)
    right = _right_way(case, found)
    shown = bool(found.paths)
    return Outcome(
        case=case,
        right=right,
        precision=float(right),
        recall=float(right),
        shown=shown,
        milliseconds=milliseconds,
        cause="" if right else "wrong way",
        detail=found.sentence if isinstance(found, AggregateResult) else "",
    )


def asked(kb: KnowledgeBase, case: Case) -> tuple[Found, Analysis, float]:
    """What is found for a question, how it was understood, and the median time of both."""
    question = Question(text=case["question"], filters=Filters(collections=(case["graph"],)))
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        vocabulary = vocabulary_of(kb, question.filters.collections)
        analysis = analyse(question, vocabulary, datetime.now(UTC).date())
        found = find(kb, analysis)
        times.append(1_000 * (time.perf_counter() - began))
    return found, analysis, statistics.median(times)


def _of_answers(kb: KnowledgeBase, case: Case, found: Found, milliseconds: float) -> Outcome:
    ids = {
        known: node.id
        for node in kb.catalogue.graph.entities([case["graph"]])
        for known in node.documents
    }
    unknown = {
        path.steps[-1].name for path in found.paths if path.steps and path.steps[-1].node is None
    }
    ends = {path.steps[-1].name for path in found.paths if path.steps}
    rows = found.rows if isinstance(found, AggregateResult) else ()
    given = {row.cells[0] if row.cells[0] in unknown else ids[row.document_ids[0]] for row in rows}
    wanted = set(case["answers"])
    right = given == wanted
    return Outcome(
        case=case,
        right=right,
        precision=len(given & wanted) / len(given) if given else 0.0,
        recall=len(given & wanted) / len(wanted),
        shown=all(row.cells[0] in ends for row in rows),
        milliseconds=milliseconds,
        cause="" if right else "other answers",
        detail=f"missing {sorted(wanted - given)}, too many {sorted(given - wanted)}",
    )


def _right_way(case: Case, found: Found) -> bool:
    """Yes or no as it should be, or a way as short as the shortest, between the right ends."""
    sentence = found.sentence if isinstance(found, AggregateResult) else ""
    if "exists" in case:
        return sentence.startswith("Yes") is bool(case["exists"])
    if not found.paths:
        return False
    path = found.paths[0]
    last = path.steps[-1].node
    ends = {path.start.id, last.id if last else ""}
    return len(path.steps) == int(case["length"]) and ends == set(case["ends"])


def in_other_words(kb: KnowledgeBase) -> list[dict[str, Any]]:
    """How the questions of somebody else went, by half; those about texts are to be left alone.

    Half a was looked at while examples were written, half b was asked when all was done.
    """
    cases = [json.loads(line) for line in HELD_OUT.read_text(encoding="utf-8").splitlines()]
    rows = []
    for half in sorted({case["half"] for case in cases}):
        counts: Counter[str] = Counter()
        for case in (one for one in cases if one["half"] == half):
            if case.get("decoy"):
                found, _, _ = asked(kb, case)
                graph = isinstance(found, AggregateResult) and found.strategy == "graph"
                counts["taken" if graph else "left alone"] += 1
            else:
                given = {key: value for key, value in case.items() if value is not None}
                one = judged(kb, given)
                left = one.cause.startswith(("taken", "nothing"))
                counts["right" if one.right else "left" if left else "wrong"] += 1
        rows.append({"half": half} | counts)
    return rows


# --- figures ---


def summed(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Figures per graph, number of hops and half, and over all."""
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        hops = "one hop" if one.case["hops"] == 1 else "two hops"
        groups.setdefault(f"{NAMES[one.case['graph']]}, {hops}", []).append(one)
    for half in HALVES:
        groups[f"all, {half}"] = [one for one in outcomes if one.case["half"] == half]
    groups["all"] = list(outcomes)
    times = sorted(one.milliseconds for one in outcomes)
    return {
        "groups": {name: _figures(those) for name, those in groups.items() if those},
        "causes": dict(Counter(one.cause for one in outcomes if not one.right)),
        "ms p50": round(statistics.median(times), 1),
        "ms p95": round(times[min(len(times) - 1, int(0.95 * len(times)))], 1),
    }


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "questions": len(outcomes),
        "right": sum(one.right for one in outcomes),
        "precision": round(statistics.mean(one.precision for one in outcomes), 3),
        "recall": round(statistics.mean(one.recall for one in outcomes), 3),
        "ways shown": sum(one.shown for one in outcomes),
        "ms p50": round(statistics.median(one.milliseconds for one in outcomes), 1),
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as a table in Markdown."""
    lines = [
        "| questions | number | exactly right | precision | recall | ways shown | ms (median) |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in figures["groups"].items():
        share = 100 * one["right"] / one["questions"]
        lines.append(
            f"| {name} | {one['questions']} | {one['right']} ({share:.0f} %)"
            f" | {one['precision']:.3f} | {one['recall']:.3f} | {one['ways shown']}"
            f" | {one['ms p50']} |"
        )
    lines += [
        "",
        "| in other people's words | right | wrong | left to the texts | about texts, taken |",
        "|---|---|---|---|---|",
    ]
    for row in figures["other words"]:
        right, wrong, left, taken = (row.get(key, 0) for key in ("right", "wrong", "left", "taken"))
        lines.append(f"| half {row['half']} | {right} | {wrong} | {left} | {taken} |")
    causes = ", ".join(f"{cause}: {count}" for cause, count in figures["causes"].items())
    lines += [
        "",
        f"All: p50 {figures['ms p50']} ms, p95 {figures['ms p95']} ms, analysis and passages "
        f"included. Not right: {causes or 'none'}. Right when first run, before what it showed was "
        f"mended: {', '.join(f'{half} {share}' for half, share in FIRST_RUNS.items())}.",
    ]
    return lines


if __name__ == "__main__":
    main()
