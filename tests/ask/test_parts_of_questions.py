"""Several questions in one, questions that could mean anything, and turns that ask for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, ask

from wellread.ask.understand.question_parts import split_questions
from wellread.kb import KnowledgeBase

TEXTS = {
    "mill": "type: place\ntitle: Corn Mill\naliases: [the Heron]",
    "boat": "type: ship\ntitle: Ferry Heron\naliases: [the Heron]",
}
BODIES = {
    "mill": "The Corn Mill was built in 1821. The Corn Mill is owned by the miller Ines Holm.",
    "boat": "The Ferry Heron carries forty passengers. The Ferry Heron was painted green.",
}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    pages = {
        f"{name}.md": f"---\nid: {name}\n{front}\n---\n\n{BODIES[name]}\n"
        for name, front in TEXTS.items()
    }
    return make_home(town=pages)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "When was the mill built and who owns the ferry?",
            ("When was the mill built?", "Who owns the ferry?"),
        ),
        (
            "What is the mill? How many boats has the harbour?",
            ("What is the mill?", "How many boats has the harbour?"),
        ),
        (
            "Which boats are green, and how much does a ticket cost?",
            ("Which boats are green?", "How much does a ticket cost?"),
        ),
    ],
)
def test_two_questions_in_one_are_two(text: str, parts: tuple[str, ...]) -> None:
    assert split_questions(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "How and why was the mill built?",
        "What is the difference between the mill and the ferry?",
        "Explain what covenants are and how they work",
        "Was the mill built in 1821? Why?",
        "I moved here in 2019. Who owns the mill?",
        "Which boats are green and blue?",
    ],
)
def test_one_question_stays_one(text: str) -> None:
    assert split_questions(text) == (text,)


async def test_each_part_has_its_answer_and_citations(kb: KnowledgeBase) -> None:
    given = await ask(kb, "When was the Corn Mill built and how many documents mention the ferry?")
    first, second = given.text.split("**How many documents mention the ferry?**")
    assert first.startswith("**When was the Corn Mill built?**")
    assert "1821" in first
    assert "There is 1 document mentioning “ferry”" in second
    for sentence in given.sentences:
        assert sentence.span.of(given.text) == sentence.text
    assert [one.id for one in given.citations] == list(range(1, len(given.citations) + 1))
    assert all(f"[{one.id}]" in given.text for one in given.citations)


async def test_a_part_that_needs_the_other_is_read_with_it(kb: KnowledgeBase) -> None:
    given = await ask(kb, "When was the Corn Mill built and who owns it?")
    assert "**" not in given.text
    assert "1821" in given.text
    assert "Ines Holm" in given.text


@pytest.mark.parametrize(
    "text", ["thanks", "Hello!", "ok great", "Thank you very much", "Thanks, that helped.", "Hallo"]
)
async def test_who_asks_for_nothing_is_not_searched_for_and_leaves_nothing(
    kb: KnowledgeBase, text: str
) -> None:
    before = len(kb.catalogue.answers()), len(kb.catalogue.gaps())
    given = await ask(kb, text)
    assert given.id == ""
    assert (len(kb.catalogue.answers()), len(kb.catalogue.gaps())) == before
    assert (given.citations, given.confidence.score, given.data_gaps) == ((), 0.0, ())
    assert "have enough information" not in given.text
