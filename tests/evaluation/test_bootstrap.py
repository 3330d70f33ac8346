from __future__ import annotations

import pytest

from wellread.evaluation import scores as module
from wellread.evaluation.scores import (
    bootstrap,
    bootstrap_percentile,
    paired_difference,
    percentile,
    reliability,
)


def test_bootstrap_is_repeatable_and_holds_the_mean() -> None:
    values = [0.0] * 30 + [1.0] * 70
    first, second = bootstrap(values), bootstrap(values)
    assert first == second
    # The normal interval of a share of .7 over 100 cases is .7 ± .09.
    assert first.low == pytest.approx(0.61, abs=0.02)
    assert first.high == pytest.approx(0.79, abs=0.02)


def test_drawing_in_parts_gives_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [(number * 37 % 101) / 100 for number in range(333)]
    whole = bootstrap(values)
    monkeypatch.setattr(module, "MAX_DRAWN_CASES", 10_000)
    assert bootstrap(values) == whole


def test_paired_difference_is_narrower_than_its_parts() -> None:
    better = [1.0, 1.0, 0.0, 0.0] * 25
    worse = [1.0, 0.9, 0.0, 0.0] * 25
    interval = paired_difference(better, worse)
    assert interval.mean == pytest.approx(0.025)
    assert interval.low > 0
    assert interval.high - interval.low < 0.02


def test_percentile_interpolates() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([], 0.5) == 0.0


def test_bootstrap_percentile_holds_the_percentile() -> None:
    values = [float(number) for number in range(1, 102)]
    interval = bootstrap_percentile(values, 0.9)
    assert interval.mean == percentile(values, 0.9) == 91.0
    # Binomial bounds of the 90th percentile of 101 values: the 85th to the 97th.
    assert 83 <= interval.low <= 88
    assert 94 <= interval.high <= 98


def test_reliability_has_bins_of_equal_size_in_order() -> None:
    confidences = [0.9] * 5 + [0.1] * 5 + [0.5] * 5
    right = [True] * 4 + [False] + [False] * 5 + [True, False, True, False, False]
    bins = reliability(confidences, right)
    assert [each.confidence for each in bins] == pytest.approx([0.1, 0.5, 0.9])
    assert [each.right.mean for each in bins] == pytest.approx([0.0, 0.4, 0.8])
    assert [each.right.n for each in bins] == [5, 5, 5]
    assert reliability([], []) == []
