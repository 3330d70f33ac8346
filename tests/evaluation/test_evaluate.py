"""Cases put to a real, small base, from the question to the figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from wellread.evaluation import report as running
from wellread.evaluation.cases import Case, Expected, WantedDocument, WantedSpan
from wellread.evaluation.report import (
    ALL,
    TOTAL,
    Report,
    base_of,
    evaluate,
    question_of,
    report_of,
)
from wellread.evaluation.scores import Scored
from wellread.kb import KnowledgeBase
from wellread.types import Filters

FERRY = Case(
    id="ferry",
    line=1,
    turns=("How much was the ferry Osprey bought for?",),
    expected=Expected(
        spans=(WantedSpan(document="ferry.md", quote="bought for 2.6 million euros"),),
        answer=("2.6 million euros", "2600000"),
        answerable=True,
    ),
    filters=Filters(collections=("town",)),
    type="factual",
    tags=("boats",),
)
ROOF = Case(
    id="roof",
    line=2,
    turns=("When will the boathouse roof be repaired?",),
    expected=Expected(
        spans=(WantedSpan(document="roof.vtt", seconds=(70.0, 70.0)),), answerable=True
    ),
    type="temporal",
)
COMET = Case(
    id="comet",
    line=3,
    turns=("Which comet did astronomers photograph?",),
    expected=Expected(answerable=False),
    tags=("boats", "off"),
)
NOWHERE = Case(
    id="nowhere",
    line=4,
    turns=("Who repaired the boathouse roof?",),
    expected=Expected(
        documents=(WantedDocument(document="ferry.md"),), answer=("Ben",), answerable=True
    ),
    filters=Filters(collections=("atlantis",)),
    type="counting",
)
CASES = (FERRY, ROOF, COMET, NOWHERE)


@pytest.fixture(scope="module")
def scored(town: KnowledgeBase) -> dict[str, Scored]:
    return {each.case.id: each for each in evaluate(town, CASES)}


@pytest.fixture(scope="module")
def report(town: KnowledgeBase, scored: dict[str, Scored]) -> Report:
    return report_of(
        "town.jsonl", base_of(town), list(scored.values()), (5, 10), retrieval_only=False
    )


def means(report: Report, group: str = ALL) -> dict[str, float]:
    return {name: figure.mean for name, figure in report.groups[group].items()}


def test_a_right_answer_scores_in_every_measure(scored: dict[str, Scored]) -> None:
    scores = scored["ferry"].scores
    for name in ("hit@1", "recall@5", "all@10", "ndcg@10"):
        assert scores[name] == scores[f"span_{name}"] == 1.0, name
    for name in ("type_accuracy", "answer_right", "answer_match", "citation_recall"):
        assert scores[name] == 1.0, name
    assert 0.0 < scores["citation_precision"] <= 1.0
    assert scored["ferry"].answered is True
    assert scores["brier"] == pytest.approx((1 - (scored["ferry"].confidence or 0)) ** 2)


def test_a_question_off_the_material_is_measured_by_its_refusal(scored: dict[str, Scored]) -> None:
    comet = scored["comet"]
    assert comet.answered is False
    assert set(comet.scores) == {"refusal_accuracy", "brier"}
    assert comet.scores["refusal_accuracy"] == 1.0
    assert comet.right is False
    assert comet.scores["brier"] == pytest.approx((comet.confidence or 0) ** 2)


def test_a_case_that_fails_scores_worst_and_tells_why(
    scored: dict[str, Scored], report: Report
) -> None:
    nowhere = scored["nowhere"]
    assert "atlantis" in nowhere.failed
    scores = dict(nowhere.scores)
    assert scores.pop("brier") == 1.0
    assert set(scores.values()) == {0.0}
    assert {"hit@1", "recall@10", "answer_match", "refusal_accuracy"} <= scores.keys()
    assert [each.case.id for each in report.failed] == ["nowhere"]
    assert means(report)["failed"] == 0.25


def test_every_case_counts_in_the_means(report: Report) -> None:
    figures = report.groups[ALL]
    assert figures["recall@5"].mean == pytest.approx(2 / 3)
    assert figures["recall@5"].n == 3
    assert figures["answer_match"].mean == 0.5
    assert figures["refusal_accuracy"].mean == 0.75
    assert figures["refusal_accuracy"].n == figures["brier"].n == 4
    for name, figure in figures.items():
        assert figure.low <= figure.mean <= figure.high, name


def test_groups_are_by_type_and_tag(report: Report) -> None:
    assert list(report.groups) == [
        ALL,
        "type:factual",
        "type:temporal",
        "type:counting",
        "tag:boats",
        "tag:off",
    ]
    assert means(report, "type:factual")["recall@5"] == 1.0
    assert report.groups["tag:boats"]["refusal_accuracy"].n == 2
    assert "recall@5" not in report.groups["tag:off"]


def test_nothing_is_recorded_and_recording_goes_on_afterwards(
    town: KnowledgeBase, scored: dict[str, Scored]
) -> None:
    assert len(scored) == 4
    assert town.catalogue.answers() == []
    assert town.catalogue.gaps() == []
    kept = town.catalogue
    evaluate(town, [COMET])
    assert town.catalogue is kept


def test_retrieval_only_writes_no_answer(
    town: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_given: object) -> None:
        raise AssertionError("an answer was written")

    monkeypatch.setattr(running, "answer", never)
    scored = evaluate(town, CASES, retrieval_only=True, depths=(1, 3))
    by_id = {each.case.id: each for each in scored}
    assert by_id["ferry"].answered is None
    assert {"recall@1", "recall@3", "span_all@3", "type_accuracy"} <= by_id["ferry"].scores.keys()
    assert not {"answer_match", "refusal_accuracy", "brier"} & by_id["ferry"].scores.keys()
    assert by_id["comet"].scores == {}
    assert set(by_id["ferry"].seconds) == {"analysis", "retrieval", TOTAL}


def test_a_question_that_is_two_is_measured_by_what_was_found_for_both(town: KnowledgeBase) -> None:
    both = Case(
        id="both",
        line=1,
        turns=("How much was the ferry Osprey bought for, and when will the roof be repaired?",),
        expected=Expected(
            spans=(*FERRY.expected.spans, *ROOF.expected.spans),
            answer=("2.6 million euros",),
            answerable=True,
        ),
        filters=FERRY.filters,
        type="factual",
    )
    (scored,) = evaluate(town, [both], depths=(2,))
    assert scored.failed == ""
    assert scored.scores["recall@2"] == scored.scores["span_all@2"] == 1.0  # the best of each
    assert scored.scores["type_accuracy"] == 1.0
    assert scored.scores["citation_recall"] > 0.0


@pytest.mark.parametrize(
    ("turns", "asked"),
    [
        (["Who runs it?"], "Who runs it?"),
        (["Tell me about the ferry.", " Who runs it? "], "Who runs it?\nTell me about the ferry."),
        (["x" * 3_990, "About the ferry.", "Who runs it?"], "Who runs it?\nAbout the ferry."),
    ],
)
def test_of_several_turns_the_last_comes_first(turns: Sequence[str], asked: str) -> None:
    fields: dict[str, Any] = {"id": "t", "line": 1, "expected": Expected()}
    case = Case(turns=tuple(turns), mode="deep", filters=FERRY.filters, **fields)
    question = question_of(case)
    assert question.text == asked
    assert question.mode == "deep"
    assert question.filters == FERRY.filters
