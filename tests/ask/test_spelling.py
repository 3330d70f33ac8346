"""Misspelt words of a question: put right only by a word of the material, and told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.answer import answer, final
from wellread.ask.understand.vocabulary import Vocabulary, correct_spelling
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question

TEXT = """# Harbour

The ephemeral lighthouse stands at the harbour. The harbour master keeps the lighthouse.

The harbor of another town is smaller. The kittiwakes breed on the lighthouse.
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(town={"harbour.md": TEXT})


def read(kb: KnowledgeBase, text: str, filters: Filters | None = None) -> tuple[str, int]:
    question, notes = correct_spelling(
        kb, Question(text=text, filters=filters or Filters()), Vocabulary()
    )
    return question.text, len(notes)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Who keeps the lighthose?", "Who keeps the lighthouse?"),
        ("What is epehmeral here?", "What is ephemeral here?"),  # two letters changed places
        ("Lihgthouse or harbour?", "lighthouse or harbour?"),
        ("Where do kitiwakes breed?", "Where do kittiwakes breed?"),
    ],
)
def test_a_word_that_stands_nowhere_becomes_the_nearest_that_does(
    kb: KnowledgeBase, asked: str, meant: str
) -> None:
    assert read(kb, asked) == (meant, 1)


@pytest.mark.parametrize(
    "asked",
    [
        "Who keeps the lighthouses?",  # another form of a word that is there
        "Where is the submarine?",  # nothing is near
        "Who kept the lamp?",  # too short to tell
        "",
        "(((",
        "x" * 4_000,  # too long to be compared
        "Lighthose kitiwakes?",  # most of it stands nowhere: another language
        "Warum keept ein Licht den Harbous?",
        "Who keeps the kitiwakee?",  # two of nine letters
    ],
)
def test_other_questions_stay_as_they_are(kb: KnowledgeBase, asked: str) -> None:
    assert read(kb, asked) == (asked, 0)


def test_a_known_name_is_never_changed(kb: KnowledgeBase) -> None:
    known = Vocabulary(speakers={"lighthose": ("Ann Lighthose",)})
    asked = Question(text="What did Lighthose say?")
    assert correct_spelling(kb, asked, known) == (asked, ())


async def test_the_answer_says_what_was_put_right(kb: KnowledgeBase) -> None:
    given = await final(answer(kb, Question(text="Who keeps the lighthose?")))
    assert given.question == "Who keeps the lighthose?"
    assert any("“lighthose”" in note and "“lighthouse”" in note for note in given.notes)
