"""Exploratory questions, through the strategy: a small garden of entities and notes about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import answer_from_catalogue
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

TODAY = date(2026, 5, 1)
ENTRIES = {
    "rain-barrel": ("tool", "water", "spring", "A rain barrel keeps water from the roof."),
    "drip-hose": ("tool", "water", "summer", "A drip hose gives water to roots drop by drop."),
    "leaf-rake": ("tool", "soil", "autumn", "A leaf rake gathers leaves."),
    "mulching": ("method", "soil", "autumn", "Mulching covers the soil with leaves."),
    "swale": ("method", "water", "spring", "A swale is a ditch that holds rain water."),
    "seed-swap": (
        "event",
        "seeds-and-cuttings",
        "spring",
        "At the seed swap people give away seeds.",
    ),
}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    dry = "# Drought\n\nIn the drought the Rain barrel was empty and mulching saved the beans.\n"
    garden = {f"{name}.md": entry(name, *said) for name, said in ENTRIES.items()}
    secret = entry("secret-well", "tool", "water", "spring", "A secret well of water.")
    return make_home(
        garden={**garden, "drought.md": dry},
        hidden={"secret-well.md": secret},
        pages={"plain.md": "# Water\n\nNo entity here, only water.\n"},
    )


def entry(name: str, sort: str, theme: str, season: str, text: str) -> str:
    title = name.replace("-", " ").capitalize()
    return (
        f"---\nid: {name}\ntype: {sort}\ntitle: {title}\nthemes: [{theme}]\nseasons: [{season}]\n"
        f"---\n\n# {title}\n\n{text}\n\nMore about it.\n"
    )


def read(kb: KnowledgeBase, text: str, *collections: str) -> Analysis:
    filters = Filters(collections=collections or ("garden",))
    vocabulary = vocabulary_of(kb, filters.collections)
    return analyse(Question(text=text, filters=filters), vocabulary, TODAY)


def ask(kb: KnowledgeBase, text: str, *collections: str) -> Found:
    found = answer_from_catalogue(kb, replace(read(kb, text, *collections), constraints=()))
    assert found is not None
    return found


def rows(found: Found) -> dict[str, str]:
    """Name to group."""
    assert isinstance(found, AggregateResult)
    return {row.cells[1]: row.cells[0] for row in found.rows}


def test_a_taxonomy_value_lists_all_that_have_it_by_type(kb: KnowledgeBase) -> None:
    found = ask(kb, "What is there about water?")
    assert rows(found) == {"Rain barrel": "tool", "Drip hose": "tool", "Swale": "method"}
    assert isinstance(found, AggregateResult)
    assert found.kind == "list"
    assert found.number == 3
    assert found.method == "all entities themes: water"


@pytest.mark.parametrize("part", ["seeds", "cuttings"])
def test_a_value_that_joins_things_is_found_by_each(kb: KnowledgeBase, part: str) -> None:
    assert set(rows(ask(kb, f"What events exist for {part}?"))) == {"Seed swap"}


@pytest.mark.parametrize(
    "text",
    [
        "What buckets do gardeners use to keep water?",  # no type is called so
        "Which kinds of beetles does the note describe?",
        "Which methods does the Rain barrel build on?",  # no relation is called so
        "Which tools do gardeners lend to each other?",
        "Which tools help against drought?",
        "What could we try if the beans dry out?",
    ],
)
def test_a_condition_that_only_the_texts_tell_lists_nothing(kb: KnowledgeBase, text: str) -> None:
    assert answer_from_catalogue(kb, read(kb, text)) is None


def test_other_collections_are_not_seen(kb: KnowledgeBase) -> None:
    found = ask(kb, "What is there about water?")
    assert "Secret well" not in rows(found)
    assert {hit.document.collection for hit in found.hits} == {"garden"}
    assert "Secret well" in rows(ask(kb, "What is there about water?", "garden", "hidden"))


def test_the_askers_filters_and_the_questions_limits_hold(kb: KnowledgeBase) -> None:
    analysis = replace(read(kb, "What is there about water?"), constraints=())
    filters = Filters(collections=("garden",), taxonomy=(("seasons", "summer"),))
    found = answer_from_catalogue(kb, replace(analysis, filters=filters))
    assert found is not None
    assert set(rows(found)) == {"Drip hose"}
    limited = ask(kb, "What is there about water in spring?")
    assert set(rows(limited)) == {"Rain barrel", "Swale"}
