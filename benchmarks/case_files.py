"""The public sets as case files for ``wellread eval``, with the home that each is asked of.

    python -m benchmarks.case_files --sets hotpot,xquad
    wellread --home benchmarks/.cache/homes/hotpot-... eval benchmarks/.cache/cases/hotpot.jsonl

Documents are named by their ids in that home.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks import extractive, retrieval
from benchmarks.homes import filled
from benchmarks.paths import CACHE
from benchmarks.sets.asked import Asked, AskedSet
from benchmarks.sets.judged import JudgedSet, Query
from wellread.kb import KnowledgeBase

Line = dict[str, Any]
SETS = (*retrieval.SETS, *(name for name in extractive.SETS if name not in retrieval.SETS))


def main() -> None:
    """Write the named sets and say how to run them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sets", default="hotpot", help=f"of {','.join(SETS)}, or all")
    options = parser.parse_args()
    names = list(SETS) if options.sets == "all" else options.sets.split(",")
    for name in names:
        if name not in SETS:
            parser.error(f"no set {name!r}; there are {', '.join(SETS)}")
    for name in names:
        path, home = write(name)
        print(f"wellread --home {home} eval {path}")


def write(name: str) -> tuple[Path, Path]:
    """The case file of a set, and the home that holds its sources."""
    with opened(name) as kb:
        return write_cases(name, kb), kb.home


def opened(name: str) -> AbstractContextManager[KnowledgeBase]:
    """The home with the sources of a set."""
    source: AskedSet | JudgedSet = extractive.SETS.get(name) or retrieval.SETS[name]
    return filled(name, source.write)


def write_cases(name: str, kb: KnowledgeBase) -> Path:
    """The case file of a set, for its home ``kb``."""
    asked = extractive.SETS.get(name)
    if asked is not None:
        lines = asked_lines(asked.questions(kb))
    else:
        lines = judged_lines(retrieval.SETS[name].queries(kb))
    path = CACHE / "cases" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def judged_lines(queries: Iterable[Query]) -> Iterator[Line]:
    """A case for each query to which something is relevant."""
    for query in queries:
        grades = {target: grade for target, grade in query.grades.items() if grade > 0}
        if not grades:
            continue
        if query.spans:
            places = [(*query.spans[target], grade) for target, grade in grades.items()]
            expected: Line = {
                "spans": [
                    {"document": known, "start": span.start, "end": span.end, "grade": grade}
                    for known, span, grade in places
                ]
            }
        else:
            expected = {
                "documents": [
                    {"document": known, "grade": grade} for known, grade in grades.items()
                ]
            }
        expected["answerable"] = True
        yield {"id": query.id, "question": query.text, "expected": expected}


def asked_lines(questions: Iterable[Asked]) -> Iterator[Line]:
    """A case for each question, answerable or not."""
    for one in questions:
        spans = [
            {"document": gold.document_id, "start": gold.span.start, "end": gold.span.end}
            for gold in one.gold
        ]
        expected: Line = {"answerable": one.answerable}
        if one.answerable:
            expected |= {"spans": spans, "answer": list(one.phrases)}
        tags = [tag for tag in (one.group, one.kind) if tag]
        yield {"id": one.id, "question": one.text, "expected": expected, "tags": tags}


if __name__ == "__main__":
    main()
