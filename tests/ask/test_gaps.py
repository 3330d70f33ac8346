"""Gap finding: yes with everything, or not found with what is near; never a guess."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, jsonl

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import answer_from_catalogue
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question

NEWS = [
    ("Otters return", "2023-04-01", "Ada Moss", "Three otters swim in the river again."),
    ("A new weir", "2024-05-01", "Bo Reed", "The weir has a ladder for fish. No otter was seen."),
    (
        "Heat in the hall",
        "2024-06-01",
        "Bo Reed",
        "Heat was lost; pumps in the cellar stood still. It was weird.",
    ),
]
ENTITIES = {
    "river-trust": "type: group\ntitle: River Trust\nsectors: [water]\nscales: [local]\n"
    "relations: [{type: funds, target: otter-watch}]",
    "mill": "type: place\ntitle: The Mill\nsectors: [energy]\nscales: [national]",
}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    lines = [
        {"title": title, "published_at": day, "author": author, "text": text,
         "url": f"https://news.example/{number}"}
        for number, (title, day, author, text) in enumerate(NEWS)
    ]  # fmt: skip
    entities = {
        f"{name}.md": f"---\nid: {name}\n{front}\n---\n\nAbout it.\n"
        for name, front in ENTITIES.items()
    }
    secret = {"secret.jsonl": jsonl([{"title": "Zeppelins", "text": "Zeppelins, in secret."}])}
    return make_home(river={"news.jsonl": jsonl(lines), **entities}, club=secret)


def look(kb: KnowledgeBase, text: str) -> Found | None:
    filters = Filters(collections=("river",))
    known = vocabulary_of(kb, filters.collections)
    return answer_from_catalogue(
        kb, analyse(Question(text=text, filters=filters), known, date(2025, 1, 1))
    )


def rows(found: Found | None) -> list[tuple[str, ...]]:
    assert found is not None
    assert isinstance(found, AggregateResult)
    assert found.kind == "gap"
    return [row.cells for row in found.rows]


def firsts(found: Found | None) -> list[str]:
    return [cells[0] for cells in rows(found)]


@pytest.mark.parametrize(
    "question",
    [
        "Is there anything about otters?",
        "Does anything mention otters?",
    ],
)
def test_all_that_there_is_comes_back(kb: KnowledgeBase, question: str) -> None:
    found = look(kb, question)
    assert firsts(found) == ["Otters return", "A new weir"]
    assert found is not None
    assert isinstance(found, AggregateResult)
    assert found.sentence.startswith("Yes: 2 documents are about “otters”")


def test_what_is_not_there_is_not_found_in_other_collections(kb: KnowledgeBase) -> None:
    found = look(kb, "Is there anything about zeppelins?")
    assert rows(found) == []
    assert found is not None
    assert isinstance(found, AggregateResult)
    assert found.number == 0
    assert found.sentence.startswith("Not found: in the collection river")
    assert found.gap == "nothing found about “zeppelins”"


@pytest.mark.parametrize(
    "question",
    [
        "Is there anything about how otters find a partner?",
        "Is there any reason to be sad about otters?",
        "Is there a river that has no otter?",
        "Is there anything about otters since the autumn of 2022, when it rained?",
        "Are there any otters in the mill pond on Sundays?",
    ],
)
def test_a_question_for_more_than_that_is_left_to_the_passages(
    kb: KnowledgeBase, question: str
) -> None:
    assert look(kb, question) is None
