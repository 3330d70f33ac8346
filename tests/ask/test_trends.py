"""Trends: counts of every period, shares compared, first and last appearance."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome, jsonl

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.plan import answer_from_catalogue
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
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


def written(months: dict[str, list[str]]) -> dict[str, str]:
    lines = [
        {"title": f"{month} {number}", "published_at": f"{month}-{number + 10}", "text": text,
         "url": f"https://news.example/{month}/{number}"}
        for month, texts in months.items()
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return {"news.jsonl": jsonl(lines), "owl.md": OWL}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(
        town=written(MONTHS),
        club=written({"2019-01": ["A secret tram."] * 4}),
        years=written({f"20{year}-06": ["A tram.", "Rain."] for year in range(10, 20)}),
    )


def ask(kb: KnowledgeBase, text: str, collection: str = "town") -> AggregateResult | None:
    filters = Filters(collections=(collection,))
    known = vocabulary_of(kb, filters.collections)
    return answer_from_catalogue(
        kb, analyse(Question(text=text, filters=filters), known, date(2025, 1, 1))
    )


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


def test_too_little_shows_no_trend(kb: KnowledgeBase) -> None:
    assert ask(kb, "How has the Night Owl changed over time?") is None
    assert ask(kb, "How has the price of trams changed over time?") is None
    assert ask(kb, "Is it more and more?") is None
