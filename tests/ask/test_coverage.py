"""Coverage: how the material divides, from the catalogue alone."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import answer_from_catalogue
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import Question

PLACES = {
    "mill": "type: place\ntitle: Mill\nsectors: [energy, water]\nscales: [local]",
    "weir": "type: place\ntitle: Weir\nsectors: [water]\nscales: [local]",
    "grid": "type: network\ntitle: Grid\nsectors: [energy]\nscales: [national]",
}
PAGE = "---\ntitle: Notes\ndate: 2024-03-01\n---\n\nThe weir was opened.\n"


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    places = {
        f"{name}.md": f"---\nid: {name}\n{front}\n---\n\nAbout it.\n"
        for name, front in PLACES.items()
    }
    secret = "---\nid: x\ntype: place\ntitle: X\nsectors: [food]\nscales: [secret]\n---\n\nX.\n"
    settings = {"wellread-collection.yaml": "coverage: {values: {scales: [regional]}}"}
    return make_home(river={"notes.md": PAGE, **places, **settings}, club={"x.md": secret})


def ask(kb: KnowledgeBase, text: str) -> AggregateResult | None:
    filters = Filters(collections=("river",))
    known = vocabulary_of(kb, filters.collections)
    return answer_from_catalogue(
        kb, analyse(Question(text=text, filters=filters), known, date(2025, 1, 1))
    )


def test_two_dimensions_give_every_cell_also_the_empty_ones(kb: KnowledgeBase) -> None:
    tally = ask(kb, "What is the coverage of sectors by scale?")
    assert tally is not None
    assert tally.columns == ("Sector", "Scale", "Documents")
    assert [row.cells for row in tally.rows] == [
        ("energy", "regional", "0/1"),
        ("energy", "local", "✓ 1"),
        ("energy", "national", "✓ 1"),
        ("water", "regional", "0/1"),
        ("water", "local", "✓ 2"),
        ("water", "national", "0/1"),
    ]
    assert [len(row.document_ids) for row in tally.rows] == [0, 1, 1, 0, 2, 0]
    assert [row.line for row in tally.rows[4:]] == [
        "water × local: 2 documents ✓",
        "water × national: no document, 1 wanted",
    ]
    assert tally.sentence == (
        "3 of 6 cells of sectors × scales are covered (50 %); "
        "gaps are energy × regional, water × regional, water × national."
    )


def test_one_dimension_counts_the_values_that_are_declared(kb: KnowledgeBase) -> None:
    tally = ask(kb, "What is the coverage of scales?")
    assert tally is not None
    assert tally.sentence == "2 of 3 values of scales are covered (67 %); gaps are regional."
    assert [row.line for row in tally.rows] == [
        "regional: no document, 1 wanted",
        "local: 2 documents ✓",
        "national: 1 document ✓",
    ]
    tally = ask(kb, "What is the coverage by kind?")
    assert tally is not None
    assert "wanted" not in " ".join(row.line for row in tally.rows)


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
