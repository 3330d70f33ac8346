"""An exam by others, who did not build: a hundred questions on five kinds of material.

    python -m benchmarks.others_exam ask --out answers.jsonl    # as the settings have it
    python -m benchmarks.others_exam judged                     # the tables of both judged runs

Documents, questions and answers (``questions/exam-others*``) were chosen and written by somebody
who saw no code, before anything was asked; the delivered answers were judged by another, who saw no
code either (``results/exam-others-judged-*.jsonl``; what is good, acceptable or bad is what
``benchmarks.exam`` says). Each kind is a collection, asked by itself; a follow-up is asked behind
the question that it follows. Half of the questions have been looked at since (ids with an odd end).
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import gzip
import json
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.exam_marks import JUDGEMENTS, SURE, Row, read_rows
from benchmarks.homes import open_home, refresh
from benchmarks.paths import CACHE, RESULTS, ROOT, eval_data
from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import NOBODY, Answer, Question

QUESTIONS = ROOT / "benchmarks" / "questions" / "exam-others.jsonl"
FILES = ROOT / "benchmarks" / "questions" / "exam-others-files.json"
KINDS = ("articles", "papers", "patterns", "reading", "talks")
RUNS = {"extracts": "without a language model", "model": "with a played one, the even half"}
UNANSWERABLE = "unanswerable"
META = "(meta data)"


def main() -> None:
    """Ask all questions, or print what was judged."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("what", choices=("ask", "judged"))
    parser.add_argument("--out", type=Path, help="where the answers go, as JSON lines")
    options = parser.parse_args()
    asked = read_rows(QUESTIONS)
    if options.what == "judged":
        print("\n".join(tables(asked)))
        return
    folder = CACHE / "sources" / "exam-others"
    refresh(folder, write)
    with open_home("exam-others", {}) as kb:
        for kind in KINDS:
            add(kb, [str(folder / kind)], collection=kind)
        rows = asyncio.run(answers(kb, asked))
    out = options.out or CACHE / "exam-others.jsonl"
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    out.write_text(text, encoding="utf-8")
    print(out)


async def answers(kb: KnowledgeBase, asked: Sequence[Row]) -> list[Row]:
    """Every question with what was delivered."""
    rows: list[Row] = []
    async for one, given in in_turn(kb, asked, "kind"):
        row: Row = {"confidence": given.confidence.score, "refused": given.answered_by == NOBODY}
        table = [list(line) for line in given.table.rows] if given.table else []
        row["marked"] = [sentence.text for sentence in given.sentences if sentence.marked]
        rows.append({**one, "key": one["answer"], "answer": given.text, "table": table} | row)
    return rows


async def in_turn(
    kb: KnowledgeBase, asked: Sequence[Row], collection: str
) -> AsyncIterator[tuple[Row, Answer]]:
    """Every question with its answer, each conversation in its order.

    Args:
        collection: the field of a question that names the collection which is asked.
    """
    sessions: dict[str, str] = {}
    for one in sorted(asked, key=lambda row: bool(row["follows"])):
        question = Question(
            text=one["question"],
            filters=Filters(collections=(one[collection],)),
            session_id=sessions.get(one["follows"], f"exam-{one['id']}"),
            fresh=True,
        )
        given = await final(answer(kb, question))
        sessions[one["id"]] = given.session_id
        yield one, given


# --- what was judged -------------------------------------------------------------------------


def tables(asked: Sequence[Row]) -> Iterator[str]:
    """The figures of each judged run, as Markdown."""
    questions = {row["id"]: row for row in asked}
    for name, what in RUNS.items():
        rows = [questions[row["id"]] | row for row in judged(name)]
        yield f"\n{what}:\n"
        groups: list[tuple[str, list[Row]]] = [("all", rows)]
        for key in ("kind", "type"):
            groups += [
                (value, [row for row in rows if row[key] == value])
                for value in sorted({row[key] for row in rows})
            ]
        yield from counted(groups, JUDGEMENTS)
        yield ""
        yield from figures(rows)


def counted(
    groups: Iterable[tuple[str, Sequence[Row]]], judgements: Sequence[str]
) -> Iterator[str]:
    """How many of each group were judged how, as a Markdown table."""
    yield "| | of | " + " | ".join(judgements) + " |"
    yield "|---|---|" + "---|" * len(judgements)
    for group, held in groups:
        counts = [sum(row["judged"] == each for row in held) for each in judgements]
        yield f"| {group} | {len(held)} | " + " | ".join(map(str, counts)) + " |"


def judged(name: str) -> list[Row]:
    """The judgements of one run."""
    return read_rows(RESULTS / f"exam-others-judged-{name}.jsonl")


def figures(rows: Sequence[Row]) -> Iterator[str]:
    """Refusals, places and confidence in a line each."""
    can = [row for row in rows if row["type"] != UNANSWERABLE]
    cannot = [row for row in rows if row["type"] == UNANSWERABLE]
    for name, held in (("answerable", can), ("near misses", cannot)):
        yield f"- {name} declined: {sum(row['refused'] for row in held)} of {len(held)}"
    if "first" in can[0]:
        first, shown = (sum(row[key] for row in can) for key in ("first", "shown"))
        yield f"- it stands in the first, in any extract: {first}, {shown} of {len(can)}"
    sure = [row for row in rows if row["confidence"] >= SURE and not row["refused"]]
    right = [row["judged"] != JUDGEMENTS[-1] for row in sure]
    yield f"- right of those from {SURE}: {sum(right)} of {len(sure)}"
    likely = [
        (row["confidence"], row["judged"] != JUDGEMENTS[-1] and not row["refused"]) for row in rows
    ]
    brier = sum((score - hit) ** 2 for score, hit in likely) / len(likely)
    yield f"- Brier, a refusal counting as not answered: {brier:.3f}"


# --- the material ----------------------------------------------------------------------------


def write(folder: Path) -> None:
    """The chosen documents, a folder for each kind."""
    files = json.loads(FILES.read_text(encoding="utf-8"))
    for kind in KINDS:
        (folder / kind).mkdir()
    for key, name in files["articles"].items():
        packed = eval_data("article_extraction", "html", f"{key}.html.gz")
        (folder / "articles" / f"{name}.html").write_bytes(gzip.decompress(packed.read_bytes()))
    for path, name in files["talks"].items():
        shutil.copyfile(
            eval_data("bitcoin_transcripts", *f"{path}.md".split("/")),
            folder / "talks" / f"{name}.md",
        )
    abstracts = json.loads(eval_data("pubmedqa", "pqal_dev.json").read_text(encoding="utf-8"))
    for key, name in files["papers"].items():
        text = abstract(key, abstracts[key])
        (folder / "papers" / f"{name}.md").write_text(text, encoding="utf-8")
    pages = eval_data("docling_pdfs", "tests", "data", "pdf", "sources")
    for name in files["pages"]:
        shutil.copyfile(pages / f"{name}.pdf", folder / "papers" / f"{name}.pdf")
    patterns = eval_data("s3_patterns", "content", "src")
    for name in files["patterns"]:
        (path,) = patterns.rglob(f"{name}.md")
        shutil.copyfile(path, folder / "patterns" / f"{name}.md")
    rows = read_rows(eval_data("wice", "dev.jsonl"))
    for number, name in files["reading"].items():
        (folder / "reading" / f"{name}.md").write_text(page(rows[int(number)]), encoding="utf-8")


def abstract(key: str, held: Mapping[str, Any]) -> str:
    """An abstract of PubMed as Markdown, a heading for each part."""
    lines = [f"# {held['QUESTION'].strip()}"]
    lines += [f"Year: {held['YEAR']}"] if held["YEAR"] else []
    lines += [f"PubMed: {key}"]
    for label, text in zip(held["LABELS"], held["CONTEXTS"], strict=True):
        lines += [f"## {label.capitalize()}", text]
    return "\n\n".join([*lines, "## Conclusion", held["LONG_ANSWER"]]) + "\n"


def page(row: Row) -> str:
    """A page that is evidence of a claim, as Markdown: its title, its facts, its lines."""
    held = row["evidence"]
    lines = ast.literal_eval(held) if isinstance(held, str) else held
    facts = [line.removeprefix(META).strip() for line in lines if line.startswith(META)]
    titles = [fact.removeprefix("TITLE:").strip() for fact in facts if fact.startswith("TITLE:")]
    named = [fact.partition(":") for fact in facts if not fact.startswith("TITLE:")]
    told = [
        f"{name.capitalize().replace('Published datetime', 'Published')}: {value.strip()}"
        for name, _, value in named
    ]
    body = [line for line in lines if not line.startswith(META)]
    return "\n\n".join([f"# {titles[-1] if titles else ''}", *told, *body]) + "\n"


if __name__ == "__main__":
    main()
