"""Measures against values worked out by hand."""

from __future__ import annotations

import sys
from math import log2
from pathlib import Path

import pytest

# The measurements are not part of the installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.measures import (
    bootstrap,
    every,
    hit,
    ndcg,
    paired_difference,
    percentile,
    recall,
)


def places(*names: str) -> list[frozenset[str]]:
    """One target a place; ``-`` is a place that meets nothing."""
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


@pytest.mark.parametrize("measure", [hit, recall, every, ndcg])
def test_no_result_scores_zero(measure: type) -> None:
    assert measure([], {"a": 1.0}, 10) == 0.0


def test_bootstrap_of_equal_values_is_a_point() -> None:
    interval = bootstrap([0.5] * 20)
    assert (interval.mean, interval.low, interval.high, interval.n) == (0.5, 0.5, 0.5, 20)


def test_bootstrap_is_repeatable_and_holds_the_mean() -> None:
    values = [0.0] * 30 + [1.0] * 70
    first, second = bootstrap(values), bootstrap(values)
    assert first == second
    # The normal interval of a share of .7 over 100 cases is .7 ± .09.
    assert first.low == pytest.approx(0.61, abs=0.02)
    assert first.high == pytest.approx(0.79, abs=0.02)


def test_bootstrap_of_nothing_is_zero() -> None:
    assert bootstrap([]).n == 0


def test_paired_difference_is_narrower_than_its_parts() -> None:
    better = [1.0, 1.0, 0.0, 0.0] * 25
    worse = [1.0, 0.9, 0.0, 0.0] * 25
    interval = paired_difference(better, worse)
    assert interval.mean == pytest.approx(0.025)
    assert interval.low > 0
    assert interval.high - interval.low < 0.02


def test_pairing_needs_the_same_cases() -> None:
    with pytest.raises(ValueError, match="cannot be paired"):
        paired_difference([1.0], [1.0, 0.0])


def test_percentile_interpolates() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
