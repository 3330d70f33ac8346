"""Scores of exhaustive results, whose proof is the whole list and not the passages found."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.made import answer_of, citation_of

from wellread.ask.aggregate.query import AggregateResult, Row
from wellread.evaluation.cases import Case, Expected, Targets, WantedDocument
from wellread.evaluation.scores import (
    Run,
    Scored,
    all_met,
    citation_precision,
    citation_recall,
    contains,
    hit_rate,
    measure_names,
    ndcg,
    normalise,
    recall,
    score,
)
from wellread.types import Span
from wellread.values.answers import (
    Answer,
    Citation,
    Confidence,
    Sentence,
    Table,
    Verdict,
    VerdictName,
)

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
    return citation_of(document_id=document_id, answer_span=place, source_span=place)


def answer(
    text: str,
    *,
    cited: tuple[str, ...] = ("doc_a",),
    table: Table | None = None,
    data_gaps: tuple[str, ...] = (),
) -> Answer:
    verdict = Verdict(name=VerdictName.SUPPORTED, method="catalogue", score=1.0)
    sentence = Sentence(text=text, span=Span(start=0, end=len(text)), verdict=verdict, citations=())
    return answer_of(
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


def test_every_score_has_its_place_in_the_report() -> None:
    case = replace(CASE, type="counting", expected=EXPECTED.model_copy(update={"answer": ("x",)}))
    spans = {"0:a": [("doc_a", Span(start=0, end=3))]}
    targets = replace(TARGETS, span_grades={"0:a": 1.0}, spans=spans)
    names = measure_names((1, 5))
    assert set(scored(case, answer("x"), targets).scores) <= set(names)
    assert len(set(names)) == len(names)


def places(*names: str) -> list[frozenset[str]]:
    """One place each; ``a+b`` meets two targets, ``-`` meets nothing."""
    return [frozenset(name.replace("-", "").split("+")) - {""} for name in names]


def test_ndcg_of_a_swapped_graded_ranking() -> None:
    gained = 1 / log2(2) + 2 / log2(3)
    ideal = 2 / log2(2) + 1 / log2(3)
    assert ndcg(places("b", "a"), {"a": 2.0, "b": 1.0}, 10) == pytest.approx(gained / ideal)


def test_ndcg_of_a_place_that_meets_two_targets_is_that_of_two_places() -> None:
    grades = {"a": 1.0, "b": 2.0, "c": 1.0}
    together = ndcg(places("-", "a+b", "c"), grades, 10)
    assert together == pytest.approx(ndcg(places("-", "b", "a", "c"), grades, 10))
    assert ndcg(places("a+b"), {"a": 1.0, "b": 1.0}, 1) == pytest.approx(1.0)


@pytest.mark.parametrize("measure", [hit_rate, recall, all_met, ndcg])
def test_no_result_scores_zero(measure: type) -> None:
    assert measure([], {"a": 1.0}, 10) == 0.0


names = st.sampled_from("abcdefgh")
rankings = st.lists(st.frozensets(names, max_size=3), max_size=14)
gradings = st.dictionaries(names, st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=1)
depths = st.integers(1, 12)


@given(rankings, gradings, depths)
def test_every_measure_is_between_nothing_and_all(
    ranking: list[frozenset[str]], grades: dict[str, float], depth: int
) -> None:
    for measure in (hit_rate, recall, all_met, ndcg):
        assert 0.0 <= measure(ranking, grades, depth) <= 1.0 + 1e-9


@given(gradings, st.integers(0, 3))
def test_the_best_order_is_perfect(grades: dict[str, float], more: int) -> None:
    best = [frozenset({name}) for name in sorted(grades, key=lambda name: -grades[name])]
    ranking = best + [frozenset[str]()] * more
    assert ndcg(ranking, grades, 10) == pytest.approx(1.0)
    assert (
        hit_rate(ranking, grades, 1)
        == recall(ranking, grades, 10)
        == all_met(ranking, grades, 10)
        == 1
    )


@given(rankings, gradings, st.data())
def test_a_target_moved_up_never_scores_less(
    ranking: list[frozenset[str]], grades: dict[str, float], data: st.DataObject
) -> None:
    """Single targets, each once: a swap of a wanted item with a worse one before it."""
    known = [name for name in dict.fromkeys(min(place, default="") for place in ranking) if name]
    if len(known) < 2:
        return
    high = data.draw(st.integers(0, len(known) - 2))
    low = data.draw(st.integers(high + 1, len(known) - 1))
    if grades.get(known[low], 0) < grades.get(known[high], 0):
        return
    swapped = list(known)
    swapped[high], swapped[low] = known[low], known[high]
    before, after = ([frozenset({name}) for name in each] for each in (known, swapped))
    assert ndcg(after, grades, 5) >= ndcg(before, grades, 5) - 1e-12


@given(rankings, gradings, depths)
def test_looking_deeper_never_loses(
    ranking: list[frozenset[str]], grades: dict[str, float], depth: int
) -> None:
    for measure in (hit_rate, recall, all_met):
        assert measure(ranking, grades, depth + 1) >= measure(ranking, grades, depth)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Ferry, at last!", "ferry at last"),
        ("“An” hour — a tool-library", "hour tool library"),
        ("theatre", "theatre"),
        ("", ""),
    ],
)
def test_normalised(text: str, plain: str) -> None:
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("text", "accepted", "found"),
    [
        ("It cost 2.6 million euros.", ["2.6 million"], 1.0),
        ("It cost 12.6 million euros.", ["2.6 million"], 0.0),
        ("the man went", ["he"], 0.0),
        ("Osprey.", ["the osprey", "Kittiwake"], 1.0),
        ("anything", ["the"], 0.0),
        ("", ["x"], 0.0),
    ],
)
def test_contains_means_whole_words(text: str, accepted: list[str], found: float) -> None:
    assert contains(text, accepted) == found


def test_citations_by_hand() -> None:
    met = [frozenset({"a"}), frozenset[str](), frozenset({"a", "b"}), frozenset[str]()]
    assert citation_precision(met) == 0.5
    assert citation_recall(met, frozenset("abc")) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("gold", "right"), [((0, 5), 1.0), ((10, 14), 1.0), ((40, 44), 0.0)])
def test_of_extracts_the_first_counts_with_all_that_it_shows(
    gold: tuple[int, int], right: float
) -> None:
    shown = [
        ("Tides turn.", 0, 1, True),
        ("Boats wait.", 10, 1, False),
        ("Gulls cry.", 40, 2, False),
    ]
    sentences = tuple(
        Sentence(
            text=text,
            span=Span(start=0, end=len(text)),
            verdict=Verdict(
                name=VerdictName.QUOTED,
                method="verbatim",
                score=1.0,
                source=Span(start=start, end=start + len(text)),
            ),
            citations=(number,),
            within=within,
        )
        for text, start, number, within in shown
    )
    places = {1: Span(start=0, end=11), 2: Span(start=40, end=50)}
    cited = tuple(
        replace(citation("doc_a"), id=number, source_span=place) for number, place in places.items()
    )
    given = answer_of(sentences=sentences, citations=cited, answered_by="extractive")
    span = Span(start=gold[0], end=gold[1])
    targets = Targets(
        grades={"a": 1.0}, span_grades={"here": 1.0}, spans={"here": (("doc_a", span),)}
    )
    scores = scored(replace(CASE, expected=Expected(answerable=True)), given, targets).scores
    assert scores["answer_right"] == scores["citation_precision"] == right
