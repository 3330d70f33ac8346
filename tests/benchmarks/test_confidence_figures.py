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


@given(cases.filter(lambda judged: len(judged) > 0))
def test_calibration_error_is_that_of_the_bins(judged: list[tuple[float, bool]]) -> None:
    confidences = [score for score, _ in judged]
    right = [positive for _, positive in judged]
    bins = reliability(confidences, right)
    weighted = sum(each.right.n * abs(each.confidence - each.right.mean) for each in bins)
    assert calibration_error(confidences, right).mean == pytest.approx(weighted / len(judged))
