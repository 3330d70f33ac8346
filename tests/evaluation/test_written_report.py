"""A report as JSON values, and as a page."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from wellread.evaluation.cases import Case, Expected
from wellread.evaluation.markdown import markdown_page
from wellread.evaluation.report import Base, Report, Threshold, check_report, report_body, report_of
from wellread.evaluation.scores import Scored


def one(
    number: int, scores: Mapping[str, float], *, right: bool = False, question: str = ""
) -> Scored:
    case = Case(
        id=f"c{number}",
        line=number,
        turns=(question or f"Question {number}?",),
        expected=Expected(answer=("x",), answerable=True),
        tags=("even | odd",) if number % 2 else (),
    )
    return Scored(
        case=case,
        scores=scores,
        right=right,
        confidence=number / 20,
        answered=True,
        text="It is x.",
        failed="it broke" if number == 3 else "",
        missing=("document b|c.md",) if number == 4 else (),
        seconds={"retrieval": 0.05, "total": 0.1},
    )


def report(cases: list[Scored], **settings: object) -> Report:
    base = Base(
        documents=2,
        passages=3,
        embedder="readable",
        settings={"retrieval": {"top_k": 8} | settings},
    )
    return report_of("set.jsonl", base, cases, (5, 10), retrieval_only=False)


def then_cases() -> list[Scored]:
    return [one(n, {"recall@5": n % 2, "answer_match": 0.0}, right=n > 9) for n in range(20)]


def test_the_json_holds_every_case_and_every_figure() -> None:
    made = report(then_cases())
    plain = json.loads(json.dumps(report_body(made)))
    assert len(plain["cases"]) == 20
    assert plain["cases"][3]["failed"] == "it broke"
    assert plain["cases"][3]["scores"] == {"recall@5": 1, "answer_match": 0.0}
    assert plain["figures"]["all"]["recall@5"]["n"] == 20
    assert plain["figures"]["tag:even | odd"]["recall@5"]["mean"] == 1.0
    assert plain["latency"]["total"]["p90"]["mean"] == pytest.approx(0.1)
    assert [each["right"]["n"] for each in plain["curve"]] == [5, 5, 5, 5]


def test_the_page_has_a_table_for_each_part() -> None:
    made = report(then_cases())
    thresholds = [Threshold(measure="recall@5", least=0.9), Threshold(measure="hit@1", least=0.1)]
    text = markdown_page(made, checks=check_report(made, thresholds))
    lines = text.splitlines()
    assert "# set.jsonl · 20 cases · full answers · 2 documents, 3 passages" in lines
    assert "| recall@5 | 0.500 | 0.300 – 0.700 | 20 |" in lines
    assert "| failed | 0.050 | 0.000 – 0.150 | 20 |" in lines
    assert "| recall@5 | ≥ 0.9 | 0.500 [0.300, 0.700] | **✗** |" in lines
    assert "| hit@1 | ≥ 0.1 | not measured | **✗** |" in lines
    assert any(line.startswith("| tag:even \\| odd | 10 | 1.000") for line in lines)
    assert "| total | 100 [100, 100] | 100 [100, 100] |" in lines
    assert "| 0.10 | 0.000 [0.000, 0.000] | 5 |" in lines
    assert "- line 3 failed: it broke" in lines
    assert "- line 4: not in the knowledge base: document b\\|c.md" in lines
    assert any("at most 8 passages" in line for line in lines)
    for line in lines:
        if line.startswith("|"):
            assert line.endswith("|")
