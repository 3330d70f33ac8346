"""Golden answers: what Wellread says to some 1,000 questions, kept, and compared after a change.

    python -m benchmarks.golden record before
    python -m benchmarks.golden record after --sets sample,xquad
    python -m benchmarks.golden compare before after --show 20

A recording holds, for every question, its type and limits, the retrieved passages in order, and the
delivered answer with citations, verdicts and confidence. Asked are the questions of the sample set,
the labelled questions of ``analysis.py`` on their three bases, and 100 each of XQuAD, ClapNQ,
Optech's past questions and MTRAG-UN (each conversation turn by turn, its last turn recorded).

A change of structure has to leave the recording as it is; ``compare`` says for each field how many
questions kept it and prints those that did not. Recordings hold text of the evaluation data, so
they stay in ``.cache/golden``; only the shares go to ``results/golden.json``. The clock is set to
one day, since "last week" is another week tomorrow.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import time_machine

from benchmarks.analysis import SOURCES, labelled
from benchmarks.homes import filled, open_home, refresh
from benchmarks.paths import CACHE, ROOT, SAMPLE, eval_data
from benchmarks.record import commit, save
from benchmarks.sets.items import MTRAG
from benchmarks.sets.reading import CLAPNQ, XQUAD, read_lines
from benchmarks.sets.sample import SAMPLE_SET
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import Found
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.values.answers import Answer, Question
from wellread.values.question import Analysis

GOLDEN = CACHE / "golden"
TODAY = datetime(2026, 1, 15, 12, tzinfo=UTC)
SEED = 11
DRAWN = 100  # questions of each public set
LISTS = ("hits", "citations", "verdicts", "notes", "data_gaps", "suggestions", "related")
FIELDS = ("type", "limits", "mode", "by", "text", "confidence", "band", "table", *LISTS)
_CODE = shutil.ignore_patterns("__pycache__", "*.py")
TELLING = ("hits", "text", "citations", "verdicts", "confidence")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one base, with the turns of the conversation before it."""

    id: str
    text: str
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A base and the questions put to it."""

    open: Callable[[ExitStack], KnowledgeBase]
    questions: Callable[[KnowledgeBase], Sequence[Asked]]


def main() -> None:
    """Record a set of answers, or compare two recordings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("name")
    recording.add_argument("--sets", default=",".join(SETS), help="with commas")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before")
    comparing.add_argument("after")
    comparing.add_argument("--show", type=int, default=10, help="changed questions to print")
    comparing.add_argument("--fields", default=",".join(FIELDS), help="to print, with commas")
    options = parser.parse_args()
    if options.command == "record":
        record(options.name, options.sets.split(","))
    else:
        compare(options.before, options.after, options.show, options.fields.split(","))


def record(name: str, sets: Sequence[str]) -> None:
    """Ask everything and write ``.cache/golden/NAME.jsonl``, one row per question."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    path = GOLDEN / f"{name}.jsonl"
    kept = {key: row for key, row in _read(path).items() if row["set"] not in sets}
    rows = list(kept.values())
    for chosen in sets:
        with ExitStack() as stack:
            kb = SETS[chosen].open(stack)
            asked = SETS[chosen].questions(kb)
            with time_machine.travel(TODAY, tick=True):
                rows += asyncio.run(_ask_all(kb, chosen, asked))
        print(f"{chosen}: {len(asked)} questions")
    lines = [json.dumps({"commit": commit()} | row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(path)


async def _ask_all(kb: KnowledgeBase, name: str, asked: Sequence[Asked]) -> list[Row]:
    rows = []
    for one in asked:
        session = ""
        for turn in one.before:
            said = await final(answer(kb, Question(text=turn, session_id=session, fresh=True)))
            session = said.session_id
        question = Question(text=one.text, session_id=session, fresh=True)
        rows.append({"set": name, "id": one.id} | await _ask(kb, question))
    return rows


async def _ask(kb: KnowledgeBase, question: Question) -> Row:
    seen: list[tuple[Analysis, Found]] = []
    given = await final(answer(kb, question, explain=lambda *pair: seen.append(pair)))
    return _row(given, *seen[-1])


def _row(given: Answer, analysis: Analysis, found: Found) -> Row:
    return {
        "question": given.question,
        "type": given.type,
        "limits": [f"{one.kind}: {one.value}" for one in analysis.constraints],
        "mode": given.mode,
        "by": given.answered_by,
        "text": given.text,
        "confidence": given.confidence.score,
        "band": given.confidence.band,
        "table": [list(row) for row in given.table.rows] if given.table else [],
        "hits": [hit.passage.id for hit in found.hits],
        "citations": [
            [one.document_id, one.source_span.start, one.source_span.end, one.verdict]
            for one in given.citations
        ],
        "verdicts": [
            [one.verdict.name, one.verdict.method, round(one.verdict.score, 4)]
            for one in given.sentences
        ],
        "notes": list(given.notes),
        "data_gaps": list(given.data_gaps),
        "suggestions": list(given.suggestions),
        "related": [one.title for one in given.related],
    }


def compare(before: str, after: str, show: int, fields: Sequence[str]) -> None:
    """Print what changed between two recordings, and save the shares that did not."""
    old, new = (_read(GOLDEN / f"{name}.jsonl") for name in (before, after))
    shared = [key for key in old if key in new]
    if not shared:
        raise SystemExit("the two recordings have no question in common")
    shares = {}
    for name in FIELDS:
        same = sum(old[key][name] == new[key][name] for key in shared)
        shares[name] = round(same / len(shared), 4)
        print(f"{name:12} {same:5} of {len(shared)} the same  {shares[name]:.4f}")
    changed = [key for key in shared if any(old[key][one] != new[key][one] for one in fields)]
    print(f"{len(changed)} of {len(shared)} questions differ in {', '.join(fields)}")
    for key in changed[:show]:
        print("\n".join(_difference(old[key], new[key], fields)))
    commits = [next(iter(rows.values()))["commit"] for rows in (old, new)]
    telling = sum(all(old[key][one] == new[key][one] for one in TELLING) for key in shared)
    figures = {"questions": len(shared), "same": shares, "all_telling": telling / len(shared)}
    print(save("golden", {"before": commits[0], "after": commits[1]} | figures))


def _difference(old: Row, new: Row, fields: Sequence[str]) -> Iterator[str]:
    yield f"\n=== {old['set']} {old['id']}: {old['question']}"
    for name in fields:
        if old[name] == new[name]:
            continue
        one, other = (_lines(row[name]) for row in (old, new))
        shown = [line for line in difflib.ndiff(one, other) if line[:1] in "+-"]
        yield f"  {name}:"
        yield from (f"    {line[:300]}" for line in shown[:12])


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [json.dumps(one, ensure_ascii=False) for one in value]
    return str(value).splitlines()


def _read(path: Path) -> dict[tuple[str, str], Row]:
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["set"], row["id"]): row for row in rows}


# --- the sets --------------------------------------------------------------------------------


def _drawn(texts: Sequence[str]) -> list[Asked]:
    places = sorted(random.Random(SEED).sample(range(len(texts)), min(DRAWN, len(texts))))
    return [Asked(f"{place:04}", texts[place]) for place in places]


def _described(base: str) -> Callable[[ExitStack], KnowledgeBase]:
    """The home of a base that comes with a settings file, with the vectors of the default model."""

    def opened(stack: ExitStack) -> KnowledgeBase:
        kb = stack.enter_context(open_home(f"golden-{base}"))
        data, settings = SOURCES[base]
        source = eval_data(data) if data else _copied_sample()
        rules = ROOT / "examples" / "collections" / settings if settings else None
        add(kb, [str(source)], collection=base, settings=rules)
        return kb

    return opened


def _copied_sample() -> Path:
    """The sample base under an address that is the same for every checkout."""
    folder = CACHE / "sources" / "golden-sample"

    def write(fresh: Path) -> None:
        shutil.copytree(SAMPLE, fresh, dirs_exist_ok=True, ignore=_CODE)

    refresh(folder, write)
    return folder


def _labelled(base: str) -> Callable[[KnowledgeBase], Sequence[Asked]]:
    def questions(_: KnowledgeBase) -> Sequence[Asked]:
        mine = [one.question for one in labelled() if one.base == base]
        return [Asked(f"labelled-{number:03}", text) for number, text in enumerate(mine)]

    return questions


def _optech(kb: KnowledgeBase) -> Sequence[Asked]:
    past = read_lines(eval_data("bitcoin_optech", "derived", "qa.jsonl"))
    return [*_labelled("optech")(kb), *_drawn([row["question"] for row in past])]


def _conversations(_: KnowledgeBase) -> Sequence[Asked]:
    rows = read_lines(eval_data("mtrag_un", "reference.jsonl"))
    chosen = random.Random(SEED).sample(rows, DRAWN)
    return [
        Asked(
            row["task_id"],
            row["input"][-1]["text"],
            tuple(turn["text"] for turn in row["input"][:-1] if turn["speaker"] == "user"),
        )
        for row in chosen
    ]


def _public(name: str, write: Callable[[Path], None]) -> Callable[[ExitStack], KnowledgeBase]:
    return lambda stack: stack.enter_context(filled(name, write))


SETS: Mapping[str, GoldenSet] = {
    "sample": GoldenSet(
        _public("sample", SAMPLE_SET.write),
        lambda kb: [Asked(one.id, one.text) for one in SAMPLE_SET.questions(kb)],
    ),
    "labelled-sample": GoldenSet(_described("sample"), _labelled("sample")),
    "labelled-s3": GoldenSet(_described("s3"), _labelled("s3")),
    "optech": GoldenSet(_described("optech"), _optech),
    "xquad": GoldenSet(
        _public("xquad", XQUAD.write),
        lambda kb: _drawn([one.text for one in XQUAD.questions(kb) if one.answerable]),
    ),
    "clapnq": GoldenSet(
        _public("clapnq", CLAPNQ.write),
        lambda kb: _drawn([one.text for one in CLAPNQ.questions(kb) if one.group != "off_topic"]),
    ),
    "mtrag": GoldenSet(_public("mtrag", MTRAG.write), _conversations),
}

if __name__ == "__main__":
    main()
