"""Scores of exhaustive results, whose proof is the whole list and not the passages found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wellread.answers import Answer, Citation, Confidence, Sentence, Table, Verdict, VerdictName
from wellread.ask.aggregate.queries.result import AggregateResult, Row
from wellread.evaluation.cases import Case, Expected, Targets, WantedDocument
from wellread.evaluation.scores import Run, Scored, measure_names, score
from wellread.types import Locator, Span

LISTED = ("doc_a", "doc_b", "doc_c")
EXPECTED = Expected(
    documents=tuple(WantedDocument(document=name) for name in ("a", "c", "z")), answerable=True
)
CASE = Case(id="list", line=1, turns=("List all boats.",), expected=EXPECTED)
TARGETS = Targets(
    grades={"a": 1.0, "c": 1.0, "z": 1.0},
    documents={name: frozenset({f"doc_{name}"}) for name in "acz"},
)
TALLY = AggregateResult(
    kind="list",
    sentence="There are 3 boats.",
    rows=tuple(Row(cells=(known,), document_ids=(known,)) for known in LISTED),
)


def citation(document_id: str) -> Citation:
    place = Span(start=0, end=4)
    return Citation(
        id=1,
        document_id=document_id,
        version="v",
        title="",
        url="",
        link="",
        kind="page",
        source_type="",
        published_at=None,
        relevance=1.0,
        locator=Locator(label=""),
        quote="",
        answer_span=place,
        source_span=place,
        verdict=VerdictName.SUPPORTED,
    )


def answer(
    text: str,
    *,
    cited: tuple[str, ...] = ("doc_a",),
    table: Table | None = None,
    data_gaps: tuple[str, ...] = (),
) -> Answer:
    verdict = Verdict(name=VerdictName.SUPPORTED, method="catalogue", score=1.0)
    sentence = Sentence(text=text, span=Span(start=0, end=len(text)), verdict=verdict, citations=())
    return Answer(
        id="ans",
        question="?",
        text=f"{text} [1]",
        citations=tuple(citation(known) for known in cited),
        sentences=(sentence,),
        confidence=Confidence(score=0.9, band="high", reasoning=""),
        answered_by="catalogue",
        table=table,
        data_gaps=data_gaps,
    )


def scored(case: Case, given: Answer, targets: Targets = TARGETS) -> Scored:
    run = Run(found=TALLY, answer=given)
    return score(case, targets, run, (1, 5), retrieval_only=False)


def test_the_list_of_an_exhaustive_result_is_its_ranking() -> None:
    scores = scored(CASE, answer("There are 3 boats.")).scores
    assert scores["hit@1"] == 1.0
    assert scores["recall@1"] == pytest.approx(1 / 3)
    assert scores["recall@5"] == pytest.approx(2 / 3)


def test_the_whole_list_is_cited_however_much_of_it_is_shown() -> None:
    table = Table(columns=("boat",), rows=(), documents=tuple((known,) for known in LISTED))
    without = scored(CASE, answer("There are 3 boats.")).scores
    assert without["citation_precision"] == 1.0
    assert without["citation_recall"] == pytest.approx(1 / 3)
    whole = scored(CASE, answer("There are 3 boats.", table=table)).scores
    assert whole["citation_precision"] == whole["citation_recall"] == pytest.approx(2 / 3)


def test_an_empty_list_is_a_refusal_that_is_sure() -> None:
    nothing = answer("Nothing is known about boats.", data_gaps=("boats",), cited=())
    case = replace(CASE, expected=Expected(answerable=False))
    found = scored(case, nothing, Targets())
    assert found.answered is False
    assert found.confidence == pytest.approx(0.1)
    assert found.scores["refusal_accuracy"] == 1.0
    assert scored(CASE, nothing).scores["refusal_accuracy"] == 0.0


def test_a_failure_is_no_refusal() -> None:
    case = replace(CASE, expected=Expected(answerable=False))
    failed = score(case, Targets(), Run(failed="broken"), (5,), retrieval_only=False)
    assert failed.scores == {"refusal_accuracy": 0.0, "brier": 1.0}


def test_an_answer_is_matched_without_its_markers() -> None:
    case = replace(CASE, expected=EXPECTED.model_copy(update={"answer": ("3 boats 1",)}))
    assert scored(case, answer("There are 3 boats")).scores["answer_match"] == 0.0
    case = replace(CASE, expected=EXPECTED.model_copy(update={"answer": ("3 boats",)}))
    assert scored(case, answer("There are 3 boats")).scores["answer_match"] == 1.0


def test_with_accepted_answers_a_document_alone_does_not_make_it_right() -> None:
    case = replace(CASE, expected=EXPECTED.model_copy(update={"answer": ("four boats",)}))
    assert scored(case, answer("There are 3 boats")).right is False
    assert scored(CASE, answer("There are 3 boats")).right is True
    elsewhere = answer("There are 3 boats", cited=("doc_q",))
    assert scored(CASE, elsewhere).right is False


def test_a_case_without_a_standard_is_not_judged() -> None:
    case = replace(CASE, expected=Expected(answerable=True))
    found = scored(case, answer("There are 3 boats"), Targets())
    assert found.right is None
    assert set(found.scores) == {"refusal_accuracy"}


def test_every_score_has_its_place_in_the_report() -> None:
    case = replace(CASE, type="counting", expected=EXPECTED.model_copy(update={"answer": ("x",)}))
    spans = {"0:a": [("doc_a", Span(start=0, end=3))]}
    targets = replace(TARGETS, span_grades={"0:a": 1.0}, spans=spans)
    names = measure_names((1, 5))
    assert set(scored(case, answer("x"), targets).scores) <= set(names)
    assert len(set(names)) == len(names)
