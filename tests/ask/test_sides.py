"""Comparisons rest on every side, and say which is missing; syntheses rest on few sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.direct import MAX_SOURCES, compare, synthesis
from wellread.ask.retrieve.ranking import pack
from wellread.ask.write.extracts import MIN_SPREAD_CONFIDENCE, Extracts, choose_extracts
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question
from wellread.values.question import Analysis

TOWN = Filters(collections=("town",))
# The trams outscore the ferries in every list, so only turns give the ferries a place.
TRAMS = [
    f"Comparing costs: costs of trams in street {number}. Trams have costs, trams compare well."
    for number in range(12)
]
FERRIES = ["A ferry was repaired again in winter, which nobody had planned; the bill was high."]


def lines(texts: list[str], title: str, year: int = 2024) -> str:
    items = [
        {"title": f"{title} {number}", "text": text, "published_at": f"{year}-01-01",
         "url": f"https://town.example/{title}/{number}"}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return "".join(json.dumps(item) + "\n" for item in items)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("sides")
    town, club = root / "town", root / "club"
    for folder in (town, club):
        folder.mkdir()
    (town / "trams.jsonl").write_text(lines(TRAMS, "Trams"), encoding="utf-8")
    (town / "ferries.jsonl").write_text(lines(FERRIES, "Ferries", 2020), encoding="utf-8")
    balloon = ["A balloon costs less than trams and ferries do."]
    (club / "balloons.jsonl").write_text(lines(balloon, "Balloons"), encoding="utf-8")
    few = {"retrieval": {"top_k": 6}}
    with open_kb(root / "home", overrides=few, embedder=ReadableEmbedder()) as opened:
        add(opened, [str(town)], collection="town")
        add(opened, [str(club)], collection="club")
        yield opened


def asking(text: str, *sides: str, filters: Filters = TOWN) -> Analysis:
    return Analysis(
        question=text,
        type="comparative",
        terms=("compare", "differences", "costs"),
        names=(),
        filters=filters,
        sides=sides,
    )


def test_every_side_has_a_passage_also_the_one_that_fits_less(kb: KnowledgeBase) -> None:
    found = compare(kb, asking("Compare the costs of trams and ferry", "trams", "ferry"))
    assert found is not None
    titles = [hit.document.title for hit in found.hits]
    assert titles[0].startswith("Trams")
    assert "Ferries 0" in titles
    assert len(titles) == MAX_SOURCES
    assert found.notes == ()
    assert len({hit.document.id for hit in found.hits}) <= MAX_SOURCES


def test_a_side_that_nothing_is_about_is_named(kb: KnowledgeBase) -> None:
    found = compare(kb, asking("Compare trams and zeppelins", "trams", "zeppelins"))
    assert found is not None
    assert found.notes == ("nothing was found about “zeppelins”",)
    assert found.hits


def test_a_comparison_stays_within_its_collection(kb: KnowledgeBase) -> None:
    found = compare(kb, asking("Compare trams and balloons", "trams", "balloon"))
    assert found is not None
    assert {hit.document.collection for hit in found.hits} == {"town"}
    assert found.notes == ("nothing was found about “balloon”",)


@pytest.mark.parametrize(("topic", "sources"), [("costs of trams", MAX_SOURCES), ("zeppelins", 1)])
def test_a_synthesis_shows_each_source_that_is_about_it(
    kb: KnowledgeBase, topic: str, sources: int
) -> None:
    asked = replace(asking(f"What are the main views on {topic}?"), type="synthesis")
    found = synthesis(kb, asked)
    shown = choose_extracts(kb, asked, pack(kb, found.hits)) if found else Extracts()
    assert len({one.piece.hit.document.id for one in shown.shown}) >= sources
    assert (shown.confidence >= MIN_SPREAD_CONFIDENCE) == (sources > 1)


async def test_the_answer_says_what_is_missing(kb: KnowledgeBase) -> None:
    question = Question(text="What is the difference between trams and zeppelins?", filters=TOWN)
    given: Any = await final(answer(kb, question))
    assert "nothing was found about “zeppelins”" in given.notes
