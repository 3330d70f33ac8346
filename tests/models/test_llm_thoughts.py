from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.models.server_calls import ThoughtFilter


def passed_on(pieces: list[str]) -> str:
    thoughts = ThoughtFilter()
    return "".join([thoughts.feed(piece) for piece in pieces] + [thoughts.finish()])


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Blue.", "Blue."),
        ("<think>Hm.</think>\n\nBlue.", "Blue."),
        ("\n<think>\na < b </thin\n</think> Blue.", "Blue."),
        ("Blue <think>is</think> all.", "Blue <think>is</think> all."),
        ("<think>for ever", ""),
        ("<thin", "<thin"),
        ("  ", "  "),
        ("<think></think>", ""),
        ("", ""),
    ],
)
def test_the_thoughts_are_left_out(reply: str, expected: str) -> None:
    assert passed_on([reply]) == expected
    assert passed_on(list(reply)) == expected


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "/think>", "a", " ", "<thi"])))
def test_how_a_reply_is_cut_makes_no_difference(pieces: list[str]) -> None:
    assert passed_on(pieces) == passed_on(["".join(pieces)]) == passed_on(list("".join(pieces)))
