from __future__ import annotations

from pathlib import Path

import pytest

from wellread.errors import RequestError
from wellread.evaluation.report import (
    ALL,
    Base,
    Report,
    check_report,
    depths_of,
    gate_body,
    read_gate,
)
from wellread.evaluation.scores import Interval


def figure(mean: float, low: float, high: float) -> Interval:
    return Interval(mean=mean, low=low, high=high, n=10)


REPORT = Report(
    name="set",
    at="2025-01-01T00:00:00+00:00",
    version="1",
    retrieval_only=False,
    depths=(5,),
    base=Base(documents=1, passages=1, embedder="e", settings={}),
    cases=(),
    groups={
        ALL: {"recall@5": figure(0.8, 0.7, 0.9), "brier": figure(0.2, 0.1, 0.3)},
        "tag:a/b": {"recall@5": figure(0.5, 0.4, 0.6)},
    },
)


def outcome(tmp_path: Path, text: str) -> list[bool]:
    path = tmp_path / "gate.yaml"
    path.write_text(text, encoding="utf-8")
    return [each.passed for each in check_report(REPORT, read_gate(path))]


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("recall@5: 0.8", True),
        ("recall@5: 0.81", False),
        ("recall@5: {min: 0.7, bound: low}", True),
        ("recall@5: {min: 0.71, bound: low}", False),
        ("recall@5: {max: 0.79}", False),
        ("recall@5: {min: 0.1, max: 0.85, bound: high}", False),
        ("recall@5: {min: 0.1, max: 0.9, bound: high}", True),
        ("brier: 0.2", True),
        ("brier: 0.19", False),
        ("brier: {max: 0.25, bound: high}", False),
        ("tag:a/b/recall@5: 0.5", True),
        ("tag:a/b/recall@5: 0.6", False),
        ("type:factual/recall@5: 0", False),
        ("answer_match: 0", False),
        ('{"recall@5": {"min": 0.5}}', True),
    ],
)
def test_a_threshold_is_reached_or_not(tmp_path: Path, text: str, passed: bool) -> None:
    assert outcome(tmp_path, text) == [passed]


def test_all_thresholds_have_to_be_reached(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text("recall@5: 0.8\nanswer_match: 0.1\n", encoding="utf-8")
    checks = check_report(REPORT, read_gate(path))
    body = gate_body(checks)
    assert body["passed"] is False
    assert [(each["measure"], each["value"], each["passed"]) for each in body["checks"]] == [
        ("recall@5", 0.8, True),
        ("answer_match", None, False),
    ]
    assert gate_body(checks[:1])["passed"] is True


def test_the_depths_that_a_gate_needs(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text("recall@7: 0\nspan_all@20: 0\nhit@1: 0\nndcg@10: 0\n", encoding="utf-8")
    assert depths_of(read_gate(path)) == {7, 20}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "contains no measures"),
        ("- recall@5", "contains no measures"),
        ("recall@5: [", "not YAML or JSON"),
        ("recal@5: 0.5", "no measure 'recal@5'.*recall@k"),
        ("ndcg@5: 0.5", "no measure 'ndcg@5'"),
        ("hit: 0.5", "no measure 'hit'"),
        ("all/recall@5: 0.5", "a group is type:"),
        ("recall@5: high", "'high' is not a number"),
        ("recall@5: true", "True is not a number"),
        ("recall@5: .nan", "nan is not a number"),
        ("recall@5: {least: 0.5}", "unknown field least"),
        ("recall@5: {min: 0.5, bound: lower}", "bound is one of mean, low, high"),
        ("recall@5: {bound: low}", "give min, max or both"),
        ("recall@5: {min: x}", "'x' is not a number"),
    ],
)
def test_a_gate_that_says_nothing_clear_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(RequestError, match=rf"gate.yaml.*{reason}"):
        outcome(tmp_path, text)
