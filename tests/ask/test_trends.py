"""Trends: counts of every period, shares compared, first and last appearance."""

from __future__ import annotations

import json
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

# Month to the texts of that month; March has none.
MONTHS = {
    "2024-01": ["Trams ran.", "Bread rose.", "Rain fell."],
    "2024-02": ["Bread rose again.", "Rain fell again."],
    "2024-04": ["A tram stopped. The tram was old.", "Rain."],
    "2024-05": ["New trams came.", "The tram is full.", "Snow."],
    "2024-06": ["Trams for all.", "A tram at night with the Night Owl."],
}
OWL = "---\nid: owl\ntype: line\ntitle: Night Owl\n---\n\nA line.\n"


def write(folder: Path, months: dict[str, list[str]]) -> None:
    folder.mkdir()
    lines = [
        {"title": f"{month} {number}", "published_at": f"{month}-{number + 10}", "text": text,
         "url": f"https://news.example/{month}/{number}"}
        for month, texts in months.items()
        for number, text in enumerate(texts)
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "news.jsonl").write_text(text, encoding="utf-8")
    (folder / "owl.md").write_text(OWL, encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trends")
    write(root / "town", MONTHS)
    write(root / "club", {"2019-01": ["A secret tram."] * 4})
    write(root / "years", {f"20{year}-06": ["A tram.", "Rain."] for year in range(10, 20)})
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        for folder in ("town", "club", "years"):
            add(kb, [str(root / folder)], collection=folder)
    return root / "home"


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


def ask(kb: KnowledgeBase, text: str, collection: str = "town") -> AggregateResult | None:
    filters = Filters(collections=(collection,))
    known = vocabulary_of(kb, filters.collections)
    return catalogued(kb, analyse(Question(text=text, filters=filters), known, date(2025, 1, 1)))


@pytest.mark.parametrize(
    "question",
    [
        "How have trams changed over time?",
        "What is the trend of trams?",
    ],
)
def test_every_period_is_counted_also_the_empty_one(kb: KnowledgeBase, question: str) -> None:
    tally = ask(kb, question)
    assert tally is not None
    assert tally.columns == ("Period", "Documents", "Of", "Share", "Named")
    assert [row.cells for row in tally.rows] == [
        ("2024-01", "1", "3", "33 %", "1"),
        ("2024-02", "0", "2", "0 %", "0"),
        ("2024-03", "0", "0", "0 %", "0"),
        ("2024-04", "1", "2", "50 %", "2"),
        ("2024-05", "2", "3", "67 %", "2"),
        ("2024-06", "2", "2", "100 %", "2"),
    ]
    assert [len(row.document_ids) for row in tally.rows] == [1, 0, 0, 1, 2, 2]
    assert [row.line for row in tally.rows[:4]] == [
        "2024-01: 1 of 3 documents (33 %), named once",
        "2024-02: 0 of 2 documents (0 %)",
        "2024-03: no documents",
        "2024-04: 1 of 2 documents (50 %), named 2 times",
    ]


def test_the_change_is_told_by_shares_with_first_last_and_peak(kb: KnowledgeBase) -> None:
    tally = ask(kb, "How have trams changed over time?")
    assert tally is not None
    assert "named in 6 of 12 dated documents, more than before" in tally.sentence
    assert "in 20 % of those in the first third of the time and 80 % in the last" in tally.sentence
    assert "first on 2024-01-10, last on 2024-06-11" in tally.sentence
    assert "the largest share in 2024-06 (2 of 2)" in tally.sentence


def test_ten_years_are_counted_by_year(kb: KnowledgeBase) -> None:
    tally = ask(kb, "How has the tram changed over time?", "years")
    assert tally is not None
    assert [row.cells[0] for row in tally.rows] == [str(year) for year in range(2010, 2020)]


def test_too_little_shows_no_trend(kb: KnowledgeBase) -> None:
    assert ask(kb, "How has the Night Owl changed over time?") is None
    assert ask(kb, "How has the price of trams changed over time?") is None
    assert ask(kb, "Is it more and more?") is None
