"""Words, numbers and names as questions and sentences are compared by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.text import words


def test_terms_leave_out_question_words() -> None:
    assert words.terms("What did the Town Council decide about ferries?") == (
        "town",
        "council",
        "decide",
        "ferries",
    )


def test_stems_join_forms_of_a_word_and_split_compounds() -> None:
    assert words.stems("lending lends")[0] == words.stems("lending lends")[1]
    assert set(words.stems("tool-library")) >= {"tool"}


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
    assert words.numbers(text) == expected


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
    assert words.names(text) == expected


def test_negations_are_counted() -> None:
    assert words.negations("It isn't true, and nobody said no.") == 3
    assert words.negations("It is true.") == 0


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    words.terms(text), words.stems(text), words.numbers(text), words.names(text)
