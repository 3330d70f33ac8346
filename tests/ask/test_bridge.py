"""A question whose named thing is found and leads on to what is asked: one more search."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.plan import find
from wellread.ask.retrieve.direct import INSERT_AT, MAX_ADDED, expand_by_references
from wellread.ask.retrieve.search import search
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import Filters, Hit
from wellread.values.answers import Question

PAGES = {
    "Ottilie Brandvik": "Ottilie Brandvik played the keeper in Salt Road, and sang on two records.",
    "Salt Road": "Salt Road is a film of 1988. Imre Halasz directed it over one winter.",
    "Grey Ferry": "Grey Ferry is a film. Somebody else directed it, and a debut it was not.",
} | {
    f"Debut {number}": f"A film made its debut in town {number}, and somebody directed it."
    for number in range(12)
}
ASKED = "Who directed the film in which Ottilie Brandvik played the keeper?"


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    """Pages of which one names another."""
    pages = {f"{title}.md": f"# {title}\n\n{text}\n" for title, text in PAGES.items()}
    return make_home(films=pages)


def titles(hits: list[Hit]) -> list[str]:
    return [hit.document.title for hit in hits]


def first(kb: KnowledgeBase, text: str, without: str = "") -> list[Hit]:
    found = search(kb, text, Filters(), limit=20)
    return [hit for hit in found if hit.document.title != without]


def test_what_the_named_thing_leads_to_stands_behind_the_best(kb: KnowledgeBase) -> None:
    hits = first(kb, ASKED, without="Salt Road")
    assert titles(hits)[0] == "Ottilie Brandvik"
    found = expand_by_references(kb, ASKED, Filters(), hits)
    assert titles(found)[:INSERT_AT] == titles(hits)[:INSERT_AT]
    assert titles(found)[INSERT_AT] == "Salt Road"
    assert len(found) <= len(hits) + MAX_ADDED


@pytest.mark.parametrize(
    "asked",
    [
        "Was it Ottilie Brandvik that sang on two records?",  # nothing is left open
        "Who directed a film of which nobody knows?",  # nothing is named
    ],
)
def test_without_something_open_there_is_no_other_search(kb: KnowledgeBase, asked: str) -> None:
    hits = first(kb, asked)
    assert expand_by_references(kb, asked, Filters(), hits) == hits


def test_a_question_is_led_on(kb: KnowledgeBase) -> None:
    read = analyse(Question(text=ASKED), vocabulary_of(kb, ()), date.today())
    found = find(kb, read)
    assert "Salt Road" in titles(list(found.hits))
