"""A reranker joins in the order of every search that a question makes."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.ask.conftest import MakeHome

from wellread.ask.plan import find
from wellread.ask.retrieve.ranking import Found
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Reader
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.reader_contract import ReadableReader
from wellread.values.answers import Question

QUESTION = "When does the ferry leave the harbour?"
TEXTS = {
    "ferry": "# Ferry harbour\n\nThe ferry leaves the harbour; the ferry leaves the harbour.\n",
    "does": "# Boats\n\nWhen does it leave? The ferry does leave the harbour at six.\n",
    "pier": "# Pier\n\nThe pier is old.\n",
}


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    return make_home(town={f"{name}.md": text for name, text in TEXTS.items()})


def opened(home: Path, reader: Reader | None) -> KnowledgeBase:
    weights: dict[str, dict[str, object]] = {
        "qa": {"confidence_threshold": 0.05},
        "retrieval": {"diversity": 1.0},
    }
    return open_kb(home, overrides=weights, embedder=ReadableEmbedder(), reader=reader)


def found(kb: KnowledgeBase, text: str = QUESTION) -> Found:
    return find(kb, analyse(Question(text=text), vocabulary_of(kb, ()), date(2025, 1, 1)))


def titles(hits: Found) -> list[str]:
    return [hit.document.title for hit in hits.hits]


def test_the_reranker_s_order_is_the_one_of_the_passages(home: Path) -> None:
    with opened(home, None) as kb:
        before = found(kb, "ferry harbour when does")
    reranker = ReadableReader()
    with opened(home, reranker) as kb:
        after = found(kb, "ferry harbour when does")
    assert titles(before)[0] == "Ferry harbour"
    assert titles(after)[0] == "Boats"
    assert "rerank" in {place.name for hit in after.hits for place in hit.ranks}
    assert after.notes == before.notes == ()
    assert {query for query, _ in reranker.asked} == {"ferry harbour when does"}
