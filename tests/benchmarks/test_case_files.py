"""Public sets become cases that ``wellread eval`` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.case_files import asked_lines, judged_lines
from benchmarks.sets.asked import Asked, Gold
from benchmarks.sets.judged import Query

from wellread.evaluation.cases import Case, Expected, WantedDocument, WantedSpan, read_cases
from wellread.types import Span


def written(path: Path, lines: Iterable[dict[str, Any]]) -> list[Case]:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return read_cases(path)


def test_judged_queries(tmp_path: Path) -> None:
    queries = [
        Query(id="q1", text="Which?", grades={"doc_a": 2.0, "doc_b": 0.0}),
        Query(id="q2", text="Nothing is relevant.", grades={"doc_a": 0.0}),
        Query(
            id="q3",
            text="Where?",
            grades={"0": 1.0},
            spans={"0": ("doc_c", Span(start=3, end=9)), "1": ("doc_d", Span(start=0, end=1))},
        ),
    ]
    first, second = written(tmp_path / "set.jsonl", judged_lines(queries))
    assert (first.id, first.turns) == ("q1", ("Which?",))
    assert first.expected.documents == (WantedDocument(document="doc_a", grade=2.0),)
    assert second.id == "q3"
    assert second.expected.spans == (WantedSpan(document="doc_c", start=3, end=9),)


def test_asked_questions(tmp_path: Path) -> None:
    gold = Gold(document_id="doc_a", span=Span(start=3, end=9), within=Span(start=0, end=50))
    asked = [
        Asked(id="a", text="Who?", group="answerable", kind="page", gold=(gold,), phrases=("Ann",)),
        Asked(id="b", text="Why?", group="off_topic"),
    ]
    first, second = written(tmp_path / "set.jsonl", asked_lines(asked))
    assert first.expected == Expected(
        spans=(WantedSpan(document="doc_a", start=3, end=9),), answer=("Ann",), answerable=True
    )
    assert first.tags == ("answerable", "page")
    assert second.expected == Expected(answerable=False)
    assert second.tags == ("off_topic",)
