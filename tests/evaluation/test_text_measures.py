from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.evaluation.scores import (
    citation_precision,
    citation_recall,
    contains,
    normalised,
    token_f1,
)


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
    assert normalised(text) == plain


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


def test_token_f1_by_hand() -> None:
    # Given: ferry osprey carries ninety; wanted: ninety passengers. One word of 4 and of 2 shared.
    precision, recall = 1 / 4, 1 / 2
    expected = 2 * precision * recall / (precision + recall)
    text = "The ferry Osprey carries ninety."
    assert token_f1(text, ["ninety passengers"]) == pytest.approx(expected)
    assert token_f1(text, ["ninety passengers", "Ferry Osprey carries ninety"]) == 1.0


def test_token_f1_counts_repeated_words_as_often_as_both_have_them() -> None:
    assert token_f1("no no no", ["no no"]) == pytest.approx(2 * 2 / 5)
    assert token_f1("", ["x"]) == token_f1("y", ["x"]) == 0.0


@given(st.text(), st.text())
def test_token_f1_is_symmetric_and_a_share(one: str, other: str) -> None:
    value = token_f1(one, [other])
    assert value == token_f1(other, [one])
    assert 0.0 <= value <= 1.0
    if normalised(one):
        assert token_f1(one, [one]) == contains(one, [one]) == 1.0


def test_citations_by_hand() -> None:
    met = [frozenset({"a"}), frozenset[str](), frozenset({"a", "b"}), frozenset[str]()]
    assert citation_precision(met) == 0.5
    assert citation_recall(met, frozenset("abc")) == pytest.approx(2 / 3)


def test_no_citation_scores_zero() -> None:
    assert citation_precision([]) == citation_recall([], frozenset("a")) == 0.0
