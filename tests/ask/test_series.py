"""One of a series of documents that a question looks into is a limit: "in letter 8".

And which of them is the first, or the last, that mentions something.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, ask

from wellread.ask.understand.mentions import numbered_of
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.values.answers import CATALOGUE

NETS = {7: ("two", "Eel", "nine"), 8: ("three", "Crab", "four"), 9: ("five", "Mussel", "six")}
LETTER = """---
title: 'Harbour Letter #{number}'
date: 2024-0{number}-01
---

This letter tells what is new.

## News

- **Bigger nets:** The nets are now {metres} metres wide, and sold at the quay again.

  They are dear.

- **A prize:** It went to the {animal} fishers.

## Notable repairs

- The crane was down for {days} days.
"""
UNION = """---
id: pilots
type: union
title: Pilots Of Pier Four
---

The pilots of pier four row at night.
"""
TALK = """---
title: 'Harbour Letter #{number} Talk'
date: 2024-0{number}-09
---

Ada Moss: 00:00:05

The nets of {metres} metres are too wide for me, they tear at the {animal} rocks.
"""


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    pages = {
        f"{name}-{number}.md": text.format(number=number, metres=metres, animal=animal, days=days)
        for number, (metres, animal, days) in NETS.items()
        for name, text in (("letter", LETTER), ("talk", TALK))
    }
    once = "---\ntitle: Pier plan 4\n---\n\nThe pier plan is drawn.\n"
    return make_home(default={"once.md": once, "union.md": UNION, **pages})


def meant(kb: KnowledgeBase, question: str) -> list[str]:
    return [one.constraint.value for one in numbered_of(question, vocabulary_of(kb))]


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("How wide are the nets in letter 8?", ["“Harbour Letter #8”"]),
        ("What does Harbour Letter #9 say about nets?", ["“Harbour Letter #9”"]),
        ("According to the letters no. 7, how long was the crane down?", ["“Harbour Letter #7”"]),
        ("What was said of the nets in the talk of letter 8?", ["“Harbour Letter #8 Talk”"]),
        ("What is letter 8?", []),  # looks into none
        ("What was cut in letter 12?", []),  # there is none
        ("How many boats are in harbour 8?", []),  # nothing is called so
    ],
)
def test_which_of_a_series_is_meant(kb: KnowledgeBase, question: str, titles: list[str]) -> None:
    assert meant(kb, question) == titles


@pytest.mark.parametrize(("number", "metres"), [(7, "two"), (8, "three"), (9, "five")])
async def test_only_the_named_one_is_cited(kb: KnowledgeBase, number: int, metres: str) -> None:
    given = await ask(kb, f"How wide are the nets in letter {number}?")
    assert {one.title for one in given.citations} == {f"Harbour Letter #{number}"}
    assert f"{metres} metres" in given.text
    assert not given.relaxed


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("Which news items are in letter 8?", ["Bigger nets: The nets are now three", "A prize"]),
        ("List the repairs in letter 9.", ["The crane was down for six days"]),
    ],
)
async def test_the_items_of_a_section(kb: KnowledgeBase, question: str, items: list[str]) -> None:
    given = await ask(kb, question)
    assert given.answered_by == CATALOGUE
    _, *told = given.text.splitlines()
    assert len(told) == len(items)
    assert all(item in line for item, line in zip(items, told, strict=True))
    assert {one.title for one in given.citations} == {
        question.split(" in ")[1].strip("?.").replace("letter ", "Harbour Letter #")
    }


@pytest.mark.parametrize(
    ("question", "said", "first"),
    [
        ("In which document were nets first mentioned?", "the first 3", "#7"),
        ("Which document last mentioned nets?", "the last 3", "#9 Talk"),
        ("What is the latest document that mentions crab rocks?", "", "#8 Talk"),
    ],
)
async def test_the_first_and_the_last_that_mention_it(
    kb: KnowledgeBase, question: str, said: str, first: str
) -> None:
    given = await ask(kb, question)
    assert given.answered_by == CATALOGUE
    heading, row, *_ = given.text.splitlines()
    assert said in heading
    assert f"{first} (2024-" in row
    assert given.confidence.score < 0.8 or not said


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (
            "When was the latest document published?",
            "“Harbour Letter #9 Talk” is dated 9 September",
        ),
        ("When was the first document published?", "“Harbour Letter #7” is dated 1 July 2024"),
        ("What does PPF stand for?", "The pilots of pier four row at night."),
    ],
)
async def test_the_newest_the_oldest_and_a_short_form(
    kb: KnowledgeBase, question: str, told: str
) -> None:
    given = await ask(kb, question)
    assert given.answered_by == CATALOGUE
    assert told in given.text
