"""Measures of groupings against values worked out by hand."""

from __future__ import annotations

import pytest
from benchmarks.clusters import judge

# Items 0 and 1 are about a, 2 about b, 3 about both; 4 is not judged.
TOPICS = {0: frozenset("a"), 1: frozenset("a"), 2: frozenset("b"), 3: frozenset("ab")}


def test_everything_in_one_group_finds_all_pairs() -> None:
    found = judge(["x"] * 5, TOPICS)
    assert found.recall == found.bcubed_recall == found.inverse_purity == 1.0
    assert found.precision == pytest.approx(4 / 6)  # 01, 03, 13 and 23 of six pairs
    assert found.purity == pytest.approx(3 / 4)
    assert found.bcubed_precision == pytest.approx((3 + 3 + 2 + 4) / 16)
    assert found.groups == 1


def test_every_item_alone_is_pure_and_finds_no_pair() -> None:
    found = judge(range(5), TOPICS)
    assert found.purity == found.bcubed_precision == 1.0
    assert found.recall == found.precision == found.f1 == 0.0
    assert found.bcubed_recall == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 1 / 4) / 4)
    assert found.groups == 4


def test_an_item_of_two_topics_may_be_with_either() -> None:
    found = judge(["x", "x", "y", "y", "z"], TOPICS)
    assert (found.purity, found.precision, found.bcubed_precision) == (1.0, 1.0, 1.0)
    assert found.recall == pytest.approx(2 / 4)
    assert found.f1 == pytest.approx(2 / 3)
