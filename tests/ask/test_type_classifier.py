"""The type of a question by its meaning: what ships, and where it counts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from wellread.answers import Question
from wellread.ask.understand.analyse import analyse
from wellread.ask.understand.question_type import features, guesser, learned, phrases_of
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.models.base import Purpose
from wellread.testing.embedding import ReadableEmbedder


class Leaning:
    """An embedder of the right name, whose vectors are those that speak most for one type."""

    identity = "all-MiniLM-L6-v2/any"
    dimensions = 384

    def __init__(self, sort: str) -> None:
        column = learned().weights[: self.dimensions, learned().types.index(sort)]
        self.vector = column / np.linalg.norm(column)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        self.asked += texts
        return np.stack([self.vector for _ in texts])


def read(question: str, embedder: Leaning) -> tuple[str, tuple[str, ...]]:
    found = analyse(Question(text=question), Vocabulary(), date(2026, 1, 15), guesser(embedder))
    return found.type, found.reasons


@pytest.mark.parametrize("sort", ["synthesis", "gap_finding", "temporal", "factual"])
def test_a_question_without_a_sure_pattern_gets_its_type(sort: str) -> None:
    found, reasons = read("Bread and the walking club?", Leaning(sort))
    assert (found, reasons[0]) == (sort, f"{sort}: by its meaning")


@pytest.mark.parametrize(
    ("question", "sort"),
    [
        ("Copper kettle: how far from us?", "factual"),
        ("Bread and the walking club?", "factual"),
        ("How rich is the stock?", "meta"),
        ("All in all, what do you have?", "meta"),
    ],
)
def test_only_what_speaks_of_the_base_is_taken_for_a_question_about_it(
    question: str, sort: str
) -> None:
    assert read(question, Leaning("meta"))[0] == sort


def test_a_sure_pattern_decides_without_an_embedding() -> None:
    embedder = Leaning("trend")
    assert read("How many loaves are there?", embedder)[0] == "counting"
    assert embedder.asked == []


def test_what_is_embedded_is_what_is_searched_for() -> None:
    embedder = Leaning("trend")
    asked = Question(text="Boil the bread talks since March 2024 down.")
    found = analyse(asked, Vocabulary(), date(2026, 1, 15), guesser(embedder))
    assert embedder.asked == [found.searched]


def test_an_embedder_that_it_was_not_learned_for_tells_nothing() -> None:
    assert guesser(ReadableEmbedder()) is None


def test_what_ships_fits_together() -> None:
    model = learned()
    assert model.weights.shape == (384 + len(model.phrases) + 1, len(model.types))
    assert len(set(model.types)) == 11
    rows = features(["a b?"], np.zeros((1, 384), np.float32), {"a b": 0, "c": 1})
    assert rows[0, 384:].tolist() == [2.0, 0.0, 1.0]


def test_numbers_are_one_word() -> None:
    assert phrases_of("Since 1999?") == phrases_of("since 2004?")
