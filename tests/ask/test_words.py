"""Words, numbers and names as questions and sentences are compared by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.text.parsed import parse


def test_terms_leave_out_question_words() -> None:
    assert parse("What did the Town Council decide about ferries?").terms == (
        "town",
        "council",
        "decide",
        "ferries",
    )


def test_stems_join_forms_of_a_word_and_split_compounds() -> None:
    assert parse("lending lends").stems[0] == parse("lending lends").stems[1]
    assert set(parse("tool-library").stems) >= {"tool"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It cost 1,250 euros.", {"1250"}),
        ("six hours and 240 homes", {"6", "240"}),
        ("on 14 October 2025", {"14", "2025"}),
        ("3.50 and 3.5", {"3.5"}),
        ("the 3rd turbine", {"3"}),
        ("no number here", set()),
    ],
)
def test_numbers_have_one_form(text: str, expected: set[str]) -> None:
    assert parse(text).numbers == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Ida Brandt say in October?", ("Ida Brandt", "October")),
        ("Who founded it?", ()),
        ("How is BIP340 used?", ("BIP340",)),
        ("What does “slow lending” mean?", ("slow lending",)),
    ],
)
def test_names(text: str, expected: tuple[str, ...]) -> None:
    assert parse(text).names == expected


def test_negations_are_counted() -> None:
    assert parse("It isn't true, and nobody said no.").negations == 3
    assert parse("It is true.").negations == 0


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    parse(text).terms, parse(text).stems, parse(text).numbers, parse(text).names
