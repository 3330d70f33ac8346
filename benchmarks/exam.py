"""A user's exam: two hundred questions of all kinds over five bases, asked without a model.

    python -m benchmarks.exam --half dev
    python -m benchmarks.exam --half dev --base optech,s3 --out answers.jsonl
    python -m benchmarks.exam --half wordings

The questions are in ``questions/exam-dev.jsonl`` and ``questions/exam-sealed.jsonl``; the sealed
half is asked once, when all else is done, and nothing is mended by it. ``exam-wordings.jsonl``
asks the questions of the README, the examples and the demo in three other wordings each. Bases: the
sample, Bitcoin Optech, the Sociocracy patterns, ten PDF documents with six talks, three long
meetings. The homes are named ``exam-*`` and kept between runs.

Every answer is marked by gold strings and cited sources and printed to ``--out`` (JSON lines:
question, answer, citations, confidence, mark). Whoever judges the answers writes
``results/exam-judged-HALF-READER.jsonl`` (``{"id", "judged", "why"}``, judged good, acceptable or
bad); ``--merge answers.jsonl`` makes the figures again with it, asking nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import time_machine

from benchmarks.exam_marks import (
    ExamQuestion,
    Row,
    figures,
    mark,
    read_questions,
    read_rows,
)
from benchmarks.homes import open_home, refresh
from benchmarks.paths import CACHE, RESULTS, ROOT, SAMPLE, eval_data
from benchmarks.record import save
from benchmarks.sets.reading import read_lines
from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.values.answers import Answer, Question

QUESTIONS = ROOT / "benchmarks" / "questions"
TODAY = datetime(2026, 1, 15, 12, tzinfo=UTC)
MEETINGS = {11: "Childcare offer", 25: "Remote control for children", 33: "Remote control kick-off"}
TALKS = (
    "bitcoin-explained/hashcash-and-bit-gold.md",
    "bitcoin-explained/ocean-tides.md",
    "bitcoin-explained/silent-payments.md",
    "bitcoin-2024/unlocking-expressivity-with-op-cat.md",
    "chaincode-podcast/address-relay.md",
    "chaincode-podcast/assumeutxo.md",
)
PAGES = ("2305.03393v1-pg9.pdf", "code_and_formula.pdf", "multi_page.pdf", "normal_4pages.pdf")
LEXICAL = {"relevance": "lexical", "answers": "lexical"}
_CODE = shutil.ignore_patterns("__pycache__", "*.py")


def main() -> None:
    """Ask a half, or merge judgements into the answers of an earlier run; print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--half", choices=["dev", "sealed", "wordings"], default="dev")
    parser.add_argument("--reader", choices=["lexical", "default"], default="default")
    parser.add_argument("--base", default="", help="with commas; all when empty")
    parser.add_argument("--out", type=Path, help="where the answers go, as JSON lines")
    parser.add_argument("--merge", type=Path, help="answers of an earlier run")
    options = parser.parse_args()
    name = f"{options.half}-{options.reader}"
    if options.merge:
        rows = read_rows(options.merge)
    else:
        rows = ask_half(options.half, options.reader, options.base)
    judged = {row["id"]: row["judged"] for row in read_rows(RESULTS / f"exam-judged-{name}.jsonl")}
    rows = [row | {"judged": judged.get(row["id"], "")} for row in rows]
    out = options.out or CACHE / f"exam-{name}.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = figures(rows)
    print(json.dumps(found, indent=1))
    print(out)
    if not options.base:
        print(save(f"exam-{name}", found))


def ask_half(half: str, reader: str = "default", bases: str = "") -> list[Row]:
    """Ask the questions of a half, all or those of some ``bases`` (with commas), and mark them."""
    asked = read_questions(QUESTIONS / f"exam-{half}.jsonl")
    rows: list[Row] = []
    for base in bases.split(",") if bases else sorted({one.base for one in asked}):
        mine = [one for one in asked if one.base == base]
        rows += asyncio.run(_ask_base(base, mine, reader))
    return rows


async def _ask_base(base: str, asked: Sequence[ExamQuestion], reader: str) -> list[Row]:
    overrides: dict[str, dict[str, Any]] = {"reader": LEXICAL} if reader == "lexical" else {}
    with open_home(f"exam-{base}", overrides) as kb:
        _fill(kb, base)
        addresses = {
            fact.id: f"{fact.title} {fact.uri} {fact.url}"
            for collection in kb.catalogue.collection_names()
            for fact in kb.catalogue.documents(collection)
        }
        with time_machine.travel(TODAY, tick=True):
            return [await _ask(kb, one, addresses) for one in asked]


async def _ask(kb: KnowledgeBase, one: ExamQuestion, addresses: Mapping[str, str]) -> Row:
    session = ""
    for turn in one.before:
        said = await final(answer(kb, Question(text=turn, session_id=session, fresh=True)))
        session = said.session_id
    asked = Question(text=one.question, session_id=session, fresh=True)
    given = await final(answer(kb, asked))
    return {
        "id": one.id,
        "base": one.base,
        "kind": one.kind,
        "expect": one.expect,
        "before": list(one.before),
        "question": one.question,
        "gold": [list(group) for group in one.gold],
        "mark": mark(one, given, addresses),
    } | _told(given)


def _told(given: Answer) -> dict[str, Any]:
    return {
        "by": given.answered_by,
        "type": given.type,
        "confidence": given.confidence.score,
        "answer": given.text,
        "table": [list(row) for row in given.table.rows] if given.table else [],
        "citations": [f"{one.title}: {one.quote[:160]}" for one in given.citations],
        "notes": list(given.notes),
        "suggestions": list(given.suggestions),
    }


# --- the homes -------------------------------------------------------------------------------


def _fill(kb: KnowledgeBase, base: str) -> None:
    rules = ROOT / "examples" / "collections"
    if base == "sample":
        folder = CACHE / "sources" / "golden-sample"  # one address for every checkout
        refresh(folder, lambda fresh: _copy_sample(fresh))
        add(kb, [str(folder)], collection=base)
    elif base == "examples":
        add(kb, [str(ROOT / "examples" / "material")], collection=base)
    elif base == "optech":
        source = str(eval_data("bitcoin_optech"))
        add(kb, [source], collection=base, settings=rules / "optech.yaml")
    elif base == "s3":
        add(
            kb,
            [str(eval_data("s3_patterns"))],
            collection=base,
            settings=rules / "s3_patterns.yaml",
        )
    elif base == "papers":
        pages = eval_data("docling_pdfs", "tests", "data", "pdf", "sources")
        papers = sorted(eval_data("aragog", "pdf").glob("*.pdf"))
        add(kb, [*map(str, papers), *(str(pages / one) for one in PAGES)], collection="papers")
        talks = [str(eval_data("bitcoin_transcripts", *one.split("/"))) for one in TALKS]
        add(kb, talks, collection="talks")
    else:
        folder = CACHE / "sources" / f"exam-{base}"
        refresh(folder, _write_meetings)
        add(kb, [str(folder)], collection=base)


def _copy_sample(folder: Path) -> None:
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True, ignore=_CODE)


def _write_meetings(folder: Path) -> None:
    """Three meetings as WebVTT: one cue a turn, four seconds a cue, since the set has no times."""
    rows = read_lines(eval_data("qmsum", "val.jsonl"))
    for number, title in MEETINGS.items():
        lines = ["WEBVTT", "", f"NOTE title: {title}", ""]
        for place, turn in enumerate(rows[number]["meeting_transcripts"]):
            start, end = (_stamp(4 * second) for second in (place, place + 1))
            said = turn["content"].replace("{vocalsound}", "").replace("{disfmarker}", "").strip()
            if said:
                lines += [f"{start} --> {end}", f"<v {turn['speaker']}>{said}", ""]
        name = title.lower().replace(" ", "-")
        (folder / f"{name}.vtt").write_text("\n".join(lines), encoding="utf-8")


def _stamp(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}.000"


if __name__ == "__main__":
    main()
