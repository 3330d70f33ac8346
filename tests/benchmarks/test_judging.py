"""Finding gold in stored text, and judging ranked candidates against it."""

from __future__ import annotations

import pytest
from benchmarks.homes import find_quote
from benchmarks.sets.items import printed_strings
from benchmarks.sets.judged import Query, place_right, ranking
from hypothesis import given
from hypothesis import strategies as st

from wellread.types import Candidate, Span


def candidate(document: str, start: int, end: int) -> Candidate:
    return Candidate(
        passage_id=f"{document}:{start}",
        document_id=document,
        version="v",
        span=Span(start=start, end=end),
        score=1.0,
    )


def test_a_document_counts_at_its_first_passage() -> None:
    found = [candidate("a", 0, 5), candidate("a", 5, 9), candidate("b", 0, 5)]
    query = Query(id="1", text="?", grades={"b": 1.0})
    assert ranking(query, found) == [frozenset({"a"}), frozenset({"b"})]


def test_a_span_is_met_by_every_passage_that_overlaps_it() -> None:
    found = [candidate("a", 0, 5), candidate("b", 4, 6), candidate("a", 5, 9)]
    span = Span(start=4, end=6)
    query = Query(id="1", text="?", grades={"gold": 1.0}, spans={"gold": ("a", span)})
    assert ranking(query, found) == [frozenset({"gold"}), frozenset(), frozenset({"gold"})]


def test_place_looks_at_the_best_passage_of_the_right_document_alone() -> None:
    found = [candidate("x", 0, 5), candidate("a", 0, 5), candidate("a", 5, 9)]
    at_first = Query(id="1", text="?", grades={"a": 1.0}, place=("a", Span(start=2, end=3)))
    at_second = Query(id="2", text="?", grades={"a": 1.0}, place=("a", Span(start=6, end=7)))
    assert place_right(at_first, found) == 1.0
    assert place_right(at_second, found) == 0.0
    assert place_right(at_first, []) == 0.0


@pytest.mark.parametrize(
    ("printed", "strings"),
    [
        ("['Tides rise.'\n 'They fall.']", ["Tides rise.", "They fall."]),
        ("[\"The crab's claw.\" 'It bites.']", ["The crab's claw.", "It bites."]),
        (r"['Both \' and \" here.']", ["Both ' and \" here."]),
        ("['Five (p < 0.05), [brackets].']", ["Five (p < 0.05), [brackets]."]),
        ("[]", []),
    ],
)
def test_a_printed_array_is_read_by_its_quotes(printed: str, strings: list[str]) -> None:
    assert printed_strings(printed) == strings


def test_a_quote_is_found_across_white_space() -> None:
    text = "One.\n\nThe  boat\nleaves at six."
    span = find_quote(text, "boat leaves")
    assert span is not None
    assert span.of(text) == "boat\nleaves"


def test_a_quote_is_found_where_a_broken_word_was_joined() -> None:
    text = "The transition took long."
    span = find_quote(text, "tran-\nsition took")
    assert span is not None
    assert span.of(text) == "transition took"


@pytest.mark.parametrize("quote", ["seven", "", "  "])
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert find_quote("six", quote) is None


@given(st.text(alphabet="ab \n", min_size=1, max_size=30), st.data())
def test_every_piece_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    span = find_quote(text, quote, start)
    if not quote.strip():
        assert span is None
    else:
        assert span is not None
        assert span.of(text).split() == quote.split()
