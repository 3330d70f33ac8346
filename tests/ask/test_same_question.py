"""Whether two questions mean the same: what turns one round, and what are only other words."""

from __future__ import annotations

import pytest

from wellread.ask.retrieve.past_questions import same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I close an account?", "How can I close an account?"),
        ("How do I close an account?", "Is there a way to close an account?"),
        ("What does a kayak cost?", "How much does a kayak cost?"),
        ("How much is a kayak?", "What does a kayak cost?"),
        ("How long may a kayak be rented?", "How long may kayaks be rented for?"),
        ("How do I delete a photo?", "how can i remove a picture"),
        ("In Lima, where can I rent a kayak?", "Where can I rent a kayak in Lima?"),
        (
            "How do I move a file from the desk to the shelf?",
            "How can I move a file to the shelf from the desk?",
        ),
    ],
)
def test_other_words_are_no_other_question(one: str, other: str) -> None:
    assert same(one, other, 0.9)
    assert same(other, one, 0.9)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I turn the pump on?", "How do I turn the pump off?"),
        ("Who may enter before noon?", "Who may enter after noon?"),
        ("Is the mill reliable?", "Is the mill unreliable?"),
        ("Can dogs enter the park?", "Can dogs not enter the park?"),
        ("Can dogs enter the park?", "Can't dogs enter the park?"),
        ("What does a kayak cost for 2 days?", "What does a kayak cost for 3 days?"),
        ("What did a kayak cost in 2019?", "What did a kayak cost in 2021?"),
        ("What did a kayak cost in 2019?", "What did a kayak cost?"),
        ("Is a fine of €5 usual?", "Is a fine of $5 usual?"),
        ("What does a kayak cost in Lima?", "What does a kayak cost in Quito?"),
        ("Is it open in March?", "Is it open in April?"),
        ("Is it open on monday?", "Is it open on friday?"),
        ("How far is it from Ghent to Lille?", "How far is it from Lille to Ghent?"),
        ("Did Ada sue Bob?", "Did Bob sue Ada?"),
        ("Is a kayak faster than a canoe?", "Is a canoe faster than a kayak?"),
        ("Does she owe me money?", "Do I owe her money?"),
        ("When was the mill built?", "Why was the mill built?"),
        ("When was the mill built?", "Where was the mill built?"),
        ("Who built the mill?", "What did they build the mill of?"),
        ("What is on today?", "What is on today?"),
        ("Who won last week?", "Who won last week?"),
    ],
)
def test_what_turns_a_question_round_makes_it_another(one: str, other: str) -> None:
    assert not same(one, other, 0.99)
    assert not same(other, one, 0.99)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What does a red kayak cost?", "What does a blue kayak cost?"),
        ("What does a kayak cost?", "What does a kayak cost for students?"),
        ("what does a kayak cost in lima?", "what does a kayak cost in quito?"),
        ("Where do I work?", "Where do I work at work?"),
    ],
)
def test_a_word_more_or_another_one_is_another_question(one: str, other: str) -> None:
    assert not same(one, other, 0.99)
    assert not same(other, one, 0.99)


def test_questions_far_from_each_other_are_not_the_same() -> None:
    assert not same("How do I close an account?", "How can I close an account?", 0.79)
