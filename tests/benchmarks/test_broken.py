"""The places that ``benchmarks.broken`` breaks: renames in the source must not lose them."""

from __future__ import annotations

import pytest
from benchmarks.broken import PLACES, Place, module_of
from benchmarks.paths import ROOT


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.fault)
def test_each_place_and_its_tests_are_there(place: Place) -> None:
    assert module_of(place)
    assert [path for path in place.tests.split() if not (ROOT / path).exists()] == []
