"""How close a passage's words come to a question's: a value for each passage, from 0 to 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.models import open_reader as close_by
from wellread.models.open_reader import closeness

WORDS = "ferry harbour engine tide possibility dying sky news kelp lichen 2021 café".split()

word = st.sampled_from([*WORDS, "the", "of"])
sentence = st.lists(word, max_size=40).map(" ".join)


def close(question: str, *texts: str) -> list[float]:
    return closeness(question, [("", text) for text in texts])


@given(st.text(max_size=80), st.lists(st.tuples(st.text(max_size=40), st.text()), max_size=4))
def test_any_text_gets_a_share(question: str, held: list[tuple[str, str]]) -> None:
    values = closeness(question, held)
    assert len(values) == len(held)
    assert all(0 <= value <= 1 for value in values)


@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=8, unique=True),
    st.lists(sentence, max_size=5),
)
def test_nothing_comes_closer_than_the_question_itself(asked: list[str], others: list[str]) -> None:
    question = " ".join(asked)
    own, *rest = close(question, question, *others)
    assert own >= max(rest, default=0.0) - 1e-9
    # All but what a title is worth, which it has none of.
    assert own == pytest.approx(1 - close_by.WEIGHT_TITLE / close_by.TOTAL_WEIGHT)


def test_case_and_inflection_do_not_count() -> None:
    assert close("Ferries LEAVE", "the ferry leaves", "FERRY, LEAVING") == pytest.approx(
        close("ferry leave", "the ferry leaves", "ferry, leaving")
    )
    for asked, held in (
        ("possibility", "possible"),
        ("possible", "possibilities"),
        ("dying", "they die"),
        ("sky", "the skies"),
        ("happy", "happiness"),
    ):
        assert close(asked, held)[0] > 0.4, (asked, held)
