"""Exploratory questions, through the strategy: a small garden of entities and notes about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.plan import catalogued
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import UnknownCollectionError
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
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
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    root = tmp_path_factory.mktemp("garden")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as opened:
        folder = root / "garden"
        folder.mkdir()
        for name, (sort, theme, season, text) in ENTRIES.items():
            write(folder, name, sort, theme, season, text)
        add(opened, [str(folder)], collection="garden")
        notes = root / "notes"
        notes.mkdir()
        (notes / "drought.md").write_text(
            "# Drought\n\nIn the drought the Rain barrel was empty and mulching saved the beans.\n",
            encoding="utf-8",
        )
        add(opened, [str(notes)], collection="garden")
        hidden = root / "hidden"
        hidden.mkdir()
        write(hidden, "secret-well", "tool", "water", "spring", "A secret well of water.")
        add(opened, [str(hidden)], collection="hidden")
        pages = root / "pages"
        pages.mkdir()
        (pages / "plain.md").write_text(
            "# Water\n\nNo entity here, only water.\n", encoding="utf-8"
        )
        add(opened, [str(pages)], collection="pages")
        yield opened


def write(folder: Path, name: str, sort: str, theme: str, season: str, text: str) -> None:
    title = name.replace("-", " ").capitalize()
    (folder / f"{name}.md").write_text(
        f"---\nid: {name}\ntype: {sort}\ntitle: {title}\nthemes: [{theme}]\nseasons: [{season}]\n"
        f"---\n\n# {title}\n\n{text}\n\nMore about it.\n",
        encoding="utf-8",
    )


def read(kb: KnowledgeBase, text: str, *collections: str) -> Analysis:
    filters = Filters(collections=collections or ("garden",))
    vocabulary = vocabulary_of(kb, filters.collections)
    return analyse(Question(text=text, filters=filters), vocabulary, TODAY)


def ask(kb: KnowledgeBase, text: str, *collections: str) -> Found:
    found = catalogued(kb, replace(read(kb, text, *collections), constraints=()))
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


def test_a_type_alone_lists_all_of_it_by_a_dimension(kb: KnowledgeBase) -> None:
    found = ask(kb, "What kinds of tools are there?")
    assert set(rows(found)) == {"Rain barrel", "Drip hose", "Leaf rake"}
    assert isinstance(found, AggregateResult)
    assert set(found.method.split(",")) == {"all entities of the type tool"}
    assert set(rows(found).values()) <= {"water", "soil", "spring", "summer", "autumn"}
    assert len(set(rows(found).values())) > 1


@pytest.mark.parametrize("part", ["seeds", "cuttings"])
def test_a_value_that_joins_things_is_found_by_each(kb: KnowledgeBase, part: str) -> None:
    assert set(rows(ask(kb, f"What events exist for {part}?"))) == {"Seed swap"}


def test_type_and_value_must_both_hold(kb: KnowledgeBase) -> None:
    assert set(rows(ask(kb, "Which tools are there for water?"))) == {"Rain barrel", "Drip hose"}
    both = ask(kb, "Which methods for water in spring exist?")
    assert set(rows(both)) == {"Swale"}


def test_each_row_has_a_line_and_counts_who_names_it(kb: KnowledgeBase) -> None:
    found = ask(kb, "What is there about water?")
    assert isinstance(found, AggregateResult)
    row = next(row for row in found.rows if row.cells[1] == "Rain barrel")
    assert row.cells[2] == "A rain barrel keeps water from the roof."
    assert int(row.cells[3]) >= 1  # the note on the drought
    node = kb.catalogue.graph.entity("garden", "rain-barrel")
    assert node is not None
    assert row.document_ids == node.documents


def test_other_words_rank_by_search_and_by_who_is_named(kb: KnowledgeBase) -> None:
    found = ask(kb, "Which tools are about the drought?")
    listed = list(rows(found))
    assert "Rain barrel" in listed  # its own text does not say drought: the note names it
    assert "Seed swap" not in listed
    assert isinstance(found, AggregateResult)
    assert "ranked by search" in found.method


def test_what_is_ranked_by_search_is_less_sure_than_what_is_known(kb: KnowledgeBase) -> None:
    known = ask(kb, "Which tools are there for water?")
    ranked = ask(kb, "Which tools deal with the drought?")
    assert isinstance(known, AggregateResult)
    assert isinstance(ranked, AggregateResult)
    assert ranked.certainty < 0.7 < known.certainty


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
    assert catalogued(kb, read(kb, text)) is None


def test_hits_are_of_the_listed_entities_first(kb: KnowledgeBase) -> None:
    found = ask(kb, "What is there about water?")
    listed = set(rows(found))
    titles = [hit.document.title for hit in found.hits]
    assert set(titles[:3]) == listed
    assert len(found.hits) <= kb.settings.retrieval.top_k


def test_other_collections_are_not_seen(kb: KnowledgeBase) -> None:
    found = ask(kb, "What is there about water?")
    assert "Secret well" not in rows(found)
    assert {hit.document.collection for hit in found.hits} == {"garden"}
    assert "Secret well" in rows(ask(kb, "What is there about water?", "garden", "hidden"))


def test_the_askers_filters_and_the_questions_limits_hold(kb: KnowledgeBase) -> None:
    analysis = replace(read(kb, "What is there about water?"), constraints=())
    filters = Filters(collections=("garden",), taxonomy=(("seasons", "summer"),))
    found = catalogued(kb, replace(analysis, filters=filters))
    assert found is not None
    assert set(rows(found)) == {"Drip hose"}
    limited = ask(kb, "What is there about water in spring?")
    assert set(rows(limited)) == {"Rain barrel", "Swale"}


def test_bases_without_entities_and_unknown_ones(kb: KnowledgeBase) -> None:
    assert catalogued(kb, read(kb, "What is there about water?", "pages")) is None
    analysis = read(kb, "What is there about water?")
    with pytest.raises(UnknownCollectionError):
        catalogued(kb, replace(analysis, filters=Filters(collections=("nowhere",))))


def test_asking_for_another_kind_of_document_lists_no_entities(kb: KnowledgeBase) -> None:
    analysis = read(kb, "What is there about water?")
    filters = Filters(collections=("garden",), kinds=("article",))
    assert catalogued(kb, replace(analysis, filters=filters)) is None
