from __future__ import annotations

import pytest
from benchmarks.confidence_figures import auroc, calibration_error
from hypothesis import given
from hypothesis import strategies as st

from wellread.evaluation.scores import reliability

cases = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), max_size=30
)


@given(cases)
def test_auroc_is_the_share_of_pairs_in_order(judged: list[tuple[float, bool]]) -> None:
    positives = [score for score, positive in judged if positive]
    negatives = [score for score, positive in judged if not positive]
    found = auroc([score for score, _ in judged], [positive for _, positive in judged])
    if not positives or not negatives:
        assert found is None
        return
    won = sum((high > low) + 0.5 * (high == low) for high in positives for low in negatives)
    assert found is not None
    assert found.mean == pytest.approx(won / (len(positives) * len(negatives)))
    assert 0.0 <= found.low <= found.high <= 1.0


def test_auroc_interval_covers_the_exact_value_of_many_cases() -> None:
    # Positives uniform on 0.2-1.2, negatives on 0-1: the area is 1 - 0.8 ** 2 / 2 = 0.68.
    scores = [0.2 + number / 200 for number in range(200)] + [n / 200 for n in range(200)]
    found = auroc(scores, [True] * 200 + [False] * 200)
    assert found is not None
    assert found.mean == pytest.approx(0.68, abs=0.005)
    # Hanley and McNeil's standard error is 0.0265 here.
    assert found.low == pytest.approx(0.68 - 1.96 * 0.0265, abs=0.012)
    assert found.high == pytest.approx(0.68 + 1.96 * 0.0265, abs=0.012)


def test_calibration_error_by_hand() -> None:
    # Three bins of five with gaps 0.1, 0.1 and 0.1.
    confidences = [0.9] * 5 + [0.1] * 5 + [0.5] * 5
    right = [True] * 4 + [False] + [False] * 5 + [True, False, True, False, False]
    assert calibration_error(confidences, right).mean == pytest.approx(0.1)


@given(cases.filter(lambda judged: len(judged) > 0))
def test_calibration_error_is_that_of_the_bins(judged: list[tuple[float, bool]]) -> None:
    confidences = [score for score, _ in judged]
    right = [positive for _, positive in judged]
    bins = reliability(confidences, right)
    weighted = sum(each.right.n * abs(each.confidence - each.right.mean) for each in bins)
    assert calibration_error(confidences, right).mean == pytest.approx(weighted / len(judged))
