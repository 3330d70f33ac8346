"""The example questions of five projects that Wellread is to stand in for, on like material.

    python -m benchmarks.seed_questions ask --out answers.jsonl    # without a language model
    python -m benchmarks.seed_questions judged                     # the table of the judged runs

The material (``seed_material``) and the right answers (``questions/seeds.jsonl``) were written
before anything was asked. Each project is a collection, asked by itself; a follow-up is asked
behind the question that it follows. ``example`` marks the questions that the projects' authors
gave; the others are what their descriptions say must be answered. What was shown was judged against
the right answer alone (``questions/seeds-judged.jsonl``, a line for each question and run).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.exam_marks import Row, read_rows
from benchmarks.homes import default_embedder
from benchmarks.others_exam import counted, in_turn
from benchmarks.paths import CACHE, ROOT
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.features.answering import similar_past_questions
from wellread.values.answers import NOBODY, Answer

MATERIAL = ROOT / "benchmarks" / "seed_material"
QUESTIONS = ROOT / "benchmarks" / "questions" / "seeds.jsonl"
JUDGED = ROOT / "benchmarks" / "questions" / "seeds-judged.jsonl"
JUDGEMENTS = ("good", "partly", "bad", "refused")
SEEDS = {"s0": "news", "s1": "commons", "s2": "papers", "s3": "past answers", "s4": "recordings"}
_DAYS_AGO = re.compile(r"@(\d+)@")


def main() -> None:
    """Ask all questions, or print what was judged."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("what", choices=("ask", "judged"))
    parser.add_argument("--out", type=Path, help="where the answers go, as JSON lines")
    options = parser.parse_args()
    if options.what == "judged":
        print("\n".join(tables(read_rows(QUESTIONS), read_rows(JUDGED))))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "material"), datetime.now(UTC))
        with open_kb(Path(folder, "home"), embedder=default_embedder()) as kb:
            for seed in SEEDS:
                report = add(kb, [str(Path(folder, "material", seed))], collection=seed)
                for row in report.rows:
                    if row.status == "failed":
                        raise SystemExit(f"{row.uri}: {row.reason}")
            rows = asyncio.run(answers(kb, read_rows(QUESTIONS)))
    out = options.out or CACHE / "seeds.jsonl"
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    out.write_text(text, encoding="utf-8")
    print(out)


def write(folder: Path, now: datetime) -> None:
    """The material, news dated from ``now`` back."""
    for path in sorted(MATERIAL.glob("*/*")):
        there = folder / path.relative_to(MATERIAL)
        there.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        dated = _DAYS_AGO.sub(lambda found: (now - timedelta(days=int(found[1]))).isoformat(), text)
        there.write_text(dated, encoding="utf-8")


async def answers(kb: KnowledgeBase, asked: Sequence[Row]) -> list[Row]:
    """Every question with what was shown."""
    return [
        one | {"right": one["answer"]} | shown(kb, given)
        async for one, given in in_turn(kb, asked, "seed")
    ]


def shown(kb: KnowledgeBase, given: Answer) -> Row:
    """What a reader sees of an answer; ``marked``: the sentences that are set off in it."""
    return {
        "answer": given.text,
        "marked": [one.text for one in given.sentences if one.marked],
        "by": given.answered_by,
        "type": given.type,
        "refused": given.answered_by == NOBODY,
        "confidence": given.confidence.score,
        "notes": list(given.notes),
        "table": [list(line) for line in given.table.rows] if given.table else [],
        "citations": [f"{one.title}, {one.locator.label} {one.url}" for one in given.citations],
        "beside": [
            f"{one.question} {one.answer} {one.correction}"
            for one in similar_past_questions(kb, given)
        ],
    }


def tables(asked: Sequence[Row], judged: Sequence[Row]) -> Iterator[str]:
    """What was judged of each run, by project, as Markdown."""
    questions = {row["id"]: row for row in asked}
    for run in dict.fromkeys(row["run"] for row in judged):
        rows = [questions[row["id"]] | row for row in judged if row["run"] == run]
        yield f"\n{run}:\n"
        groups = [
            (name, [row for row in rows if row["seed"] == seed]) for seed, name in SEEDS.items()
        ]
        groups.append(("the authors' examples", [row for row in rows if row["example"]]))
        groups.append(("all", rows))
        yield from counted(groups, JUDGEMENTS)


if __name__ == "__main__":
    main()
