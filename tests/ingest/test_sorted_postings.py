"""Postings in sorted arrays say what dicts would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wellread.ingest.joining import story_clusters
from wellread.ingest.joining.story_clusters import Postings

# Few codes, so that they meet; the ends of what a code may be among them.
CODES = st.sampled_from([0, 1, 2, 3, 7, 2**32 - 1, 2**63, 2**64 - 1])
SHARED_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def often_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_clusters, "MIN_MERGED", 4)


def filled(added: list[dict[int, float]]) -> Postings:
    postings = Postings()
    for number, weights in enumerate(added):
        postings.add(number, weights)
        if postings.full:
            postings.merge()
    return postings


WEIGHTS = st.dictionaries(CODES, st.floats(0.125, 1), max_size=6)


@SHARED_FIXTURE
@given(st.lists(WEIGHTS, max_size=12), WEIGHTS, st.floats(0.125, 2))
def test_products_are_those_of_all_that_were_added(
    added: list[dict[int, float]], asked: dict[int, float], least: float
) -> None:
    sums = {
        number: sum(asked[code] * weights[code] for code in asked if code in weights)
        for number, weights in enumerate(added)
    }
    found = dict(filled(added).products(asked, least))
    # Sums of floats depend on their order, and since Python 3.12 ``sum`` rounds once only.
    assert all(found[number] == pytest.approx(sums[number]) for number in found)
    assert {n for n, total in sums.items() if total >= least + 1e-9} <= set(found)
    assert set(found) <= {n for n, total in sums.items() if total >= least - 1e-9}


@SHARED_FIXTURE
@given(st.lists(WEIGHTS, max_size=12), st.lists(CODES, max_size=4), st.integers(1, 3))
def test_the_newest_of_each_code(
    added: list[dict[int, float]], asked: list[int], most: int
) -> None:
    having = [[n for n, weights in enumerate(added) if code in weights] for code in asked]
    wanted = {number for numbers in having for number in numbers[-most:]}
    assert filled(added).newest(asked, most) == sorted(wanted)


def test_numbers_that_are_dead_are_dropped() -> None:
    postings = filled([{5: 1.0, 6: 2.0}] * 3)
    postings.merge()
    postings.add(3, {5: 4.0})
    postings.merge(np.array([False, True, False, True]))
    assert postings.products({5: 1.0}, 0.1) == [(1, 1.0), (3, 4.0)]
    assert postings.newest([6], 9) == [1]
