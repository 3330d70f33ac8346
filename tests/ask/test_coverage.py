"""Coverage: how the material divides, from the catalogue alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.plan import catalogued
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters
from wellread.values.answers import Question

PLACES = {
    "mill": "type: place\ntitle: Mill\nsectors: [energy, water]\nscales: [local]",
    "weir": "type: place\ntitle: Weir\nsectors: [water]\nscales: [local]",
    "grid": "type: network\ntitle: Grid\nsectors: [energy]\nscales: [national]",
}
PAGE = "---\ntitle: Notes\ndate: 2024-03-01\n---\n\nThe weir was opened.\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("coverage")
    for folder in ("river", "club"):
        (root / folder).mkdir()
    for name, front in PLACES.items():
        text = f"---\nid: {name}\n{front}\n---\n\nAbout it.\n"
        (root / "river" / f"{name}.md").write_text(text, encoding="utf-8")
    (root / "river" / "notes.md").write_text(PAGE, encoding="utf-8")
    secret = "---\nid: x\ntype: place\ntitle: X\nsectors: [food]\nscales: [secret]\n---\n\nX.\n"
    (root / "club" / "x.md").write_text(secret, encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        for folder in ("river", "club"):
            add(kb, [str(root / folder)], collection=folder)
    return root / "home"


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


def ask(kb: KnowledgeBase, text: str) -> AggregateResult | None:
    filters = Filters(collections=("river",))
    known = vocabulary_of(kb, filters.collections)
    return catalogued(kb, analyse(Question(text=text, filters=filters), known, date(2025, 1, 1)))


def test_two_dimensions_give_every_cell_also_the_empty_ones(kb: KnowledgeBase) -> None:
    tally = ask(kb, "What is the coverage of sectors by scale?")
    assert tally is not None
    assert tally.columns == ("Sector", "Scale", "Documents")
    assert [row.cells for row in tally.rows] == [
        ("energy", "local", "1"),
        ("energy", "national", "1"),
        ("water", "local", "2"),
        ("water", "national", "empty"),
    ]
    assert [len(row.document_ids) for row in tally.rows] == [1, 1, 2, 0]
    assert [row.line for row in tally.rows[2:]] == [
        "water × local: 2 documents",
        "water × national: no document",
    ]
    assert tally.sentence == (
        "3 of 4 cells of sectors × scales are covered (75 %); empty are water · national."
    )


def test_one_dimension_gives_its_values(kb: KnowledgeBase) -> None:
    tally = ask(kb, "What is the coverage of the sectors?")
    assert tally is not None
    assert [row.cells for row in tally.rows] == [("energy", "2", "67 %"), ("water", "2", "67 %")]
    assert tally.rows[0].line == "energy: 2 documents (67 %)"


def test_the_whole_is_divided_in_every_way_within_the_collection(kb: KnowledgeBase) -> None:
    tally = ask(kb, "What do you know?")
    assert tally is not None
    assert tally.number == 4
    cells = [row.cells for row in tally.rows]
    assert ("collection", "river", "4", "100 %") in cells
    assert ("kind", "entity", "3", "75 %") in cells
    assert ("entity type", "place", "2", "50 %") in cells
    assert ("year", "2024", "1", "25 %") in cells
    assert ("year", "without a date", "3", "75 %") in cells
    assert ("sectors", "water", "2", "50 %") in cells
    assert "kind – entity: 3 documents (75 %)" in [row.line for row in tally.rows]
    assert not any("club" in cell or "secret" in cell for row in cells for cell in row)
    assert all(len(row.document_ids) == int(row.cells[2]) for row in tally.rows)


def test_a_topic_narrows_it_and_one_that_is_not_there_is_left_to_others(kb: KnowledgeBase) -> None:
    tally = ask(kb, "How well is the weir covered?")
    assert tally is not None
    assert tally.number == 2  # its entry and the notes
    assert ask(kb, "How well are zeppelins covered?") is None


@pytest.mark.parametrize("question", ["How good is our weir coverage?", "Our weir coverage?"])
def test_our_coverage_of_something_is_what_is_about_it(kb: KnowledgeBase, question: str) -> None:
    tally = ask(kb, question)
    assert tally is not None
    assert tally.sentence.startswith("There are 2 documents about “weir”")
