"""Measures of rankings against values worked out by hand, and what must hold for any ranking."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.evaluation.scores import every, hit, ndcg, recall, reciprocal_rank


def places(*names: str) -> list[frozenset[str]]:
    """One place each; ``a+b`` meets two targets, ``-`` meets nothing."""
    return [frozenset(name.replace("-", "").split("+")) - {""} for name in names]


def test_hit_looks_only_as_deep_as_asked() -> None:
    ranking = places("-", "a")
    assert hit(ranking, {"a": 1.0}, 1) == 0.0
    assert hit(ranking, {"a": 1.0}, 2) == 1.0


def test_recall_is_the_share_of_targets_met() -> None:
    ranking = places("a", "-", "b", "c")
    assert recall(ranking, {"a": 1.0, "b": 1.0, "d": 1.0}, 3) == pytest.approx(2 / 3)


def test_a_target_met_twice_counts_once() -> None:
    assert recall(places("a", "a"), {"a": 1.0, "b": 1.0}, 5) == 0.5


def test_every_needs_all_targets() -> None:
    ranking = places("a", "x", "b")
    assert every(ranking, {"a": 1.0, "b": 1.0}, 2) == 0.0
    assert every(ranking, {"a": 1.0, "b": 1.0}, 3) == 1.0


def test_reciprocal_rank_is_of_the_first_target() -> None:
    assert reciprocal_rank(places("-", "x", "b", "a"), {"a": 1.0, "b": 1.0}) == pytest.approx(1 / 3)
    assert reciprocal_rank(places("-"), {"a": 1.0}) == 0.0


def test_ndcg_of_a_perfect_ranking_is_one() -> None:
    assert ndcg(places("a", "b", "-"), {"a": 2.0, "b": 1.0}, 10) == pytest.approx(1.0)


def test_ndcg_of_a_swapped_graded_ranking() -> None:
    gained = 1 / log2(2) + 2 / log2(3)
    ideal = 2 / log2(2) + 1 / log2(3)
    assert ndcg(places("b", "a"), {"a": 2.0, "b": 1.0}, 10) == pytest.approx(gained / ideal)


def test_ndcg_counts_a_target_at_its_first_place_only() -> None:
    assert ndcg(places("a", "a", "a"), {"a": 1.0}, 10) == pytest.approx(1.0)


def test_ndcg_ideal_is_cut_at_the_depth() -> None:
    assert ndcg(places("a"), {"a": 1.0, "b": 1.0}, 1) == pytest.approx(1.0)


def test_ndcg_at_place_three() -> None:
    assert ndcg(places("-", "-", "a"), {"a": 1.0}, 10) == pytest.approx(0.5)


def test_ndcg_of_a_place_that_meets_two_targets_is_that_of_two_places() -> None:
    grades = {"a": 1.0, "b": 2.0, "c": 1.0}
    together = ndcg(places("-", "a+b", "c"), grades, 10)
    assert together == pytest.approx(ndcg(places("-", "b", "a", "c"), grades, 10))
    assert ndcg(places("a+b"), {"a": 1.0, "b": 1.0}, 1) == pytest.approx(1.0)


@pytest.mark.parametrize("measure", [hit, recall, every, ndcg])
def test_no_result_scores_zero(measure: type) -> None:
    assert measure([], {"a": 1.0}, 10) == 0.0
    assert reciprocal_rank([], {"a": 1.0}) == 0.0


names = st.sampled_from("abcdefgh")
rankings = st.lists(st.frozensets(names, max_size=3), max_size=14)
gradings = st.dictionaries(names, st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=1)
depths = st.integers(1, 12)


@given(rankings, gradings, depths)
def test_every_measure_is_between_nothing_and_all(
    ranking: list[frozenset[str]], grades: dict[str, float], depth: int
) -> None:
    for measure in (hit, recall, every, ndcg):
        assert 0.0 <= measure(ranking, grades, depth) <= 1.0 + 1e-9
    assert 0.0 <= reciprocal_rank(ranking, grades) <= 1.0


@given(gradings, st.integers(0, 3))
def test_the_best_order_is_perfect(grades: dict[str, float], more: int) -> None:
    best = [frozenset({name}) for name in sorted(grades, key=lambda name: -grades[name])]
    ranking = best + [frozenset[str]()] * more
    assert ndcg(ranking, grades, 10) == pytest.approx(1.0)
    assert hit(ranking, grades, 1) == recall(ranking, grades, 10) == every(ranking, grades, 10) == 1
    assert reciprocal_rank(ranking, grades) == 1.0


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
    assert reciprocal_rank(after, grades) >= reciprocal_rank(before, grades)


@given(rankings, gradings, depths)
def test_looking_deeper_never_loses(
    ranking: list[frozenset[str]], grades: dict[str, float], depth: int
) -> None:
    for measure in (hit, recall, every):
        assert measure(ranking, grades, depth + 1) >= measure(ranking, grades, depth)
