"""Questions about the graph are read as the examples are that they were learned from."""

from __future__ import annotations

import pytest
from benchmarks.train_walks import examples, known_words, masked_words

from wellread.ask.aggregate.catalogue_reading import TEXTS
from wellread.ask.aggregate.read_queries import family_of, plain_words
from wellread.ask.aggregate.walk_reading import FLAGS, interpret_clause, walk_model

GIVEN = examples()
KNOWN = known_words(GIVEN)
LEAST_RIGHT = 0.85  # of the examples: the model keeps its larger weights only
MOST_TAKEN = 0.01  # of those about the texts


def test_most_examples_have_their_reading() -> None:
    mine = [one for one in GIVEN if TEXTS not in one.labels]
    clauses = [(one, interpret_clause(tuple(masked_words(one, KNOWN)))) for one in mine]
    right = [one for one, clause in clauses if clause and clause.readings[0] in one.readings]
    assert len(right) / len(mine) > LEAST_RIGHT


def test_examples_about_the_texts_are_left_to_them() -> None:
    texts = [one for one in GIVEN if TEXTS in one.labels]
    taken = [one.text for one in texts if interpret_clause(tuple(masked_words(one, KNOWN)))]
    assert len(texts) > len(GIVEN) / 8
    assert len(taken) / len(texts) < MOST_TAKEN


def test_the_model_was_learned_from_these_examples() -> None:
    assert walk_model().words == {word: frozenset(names) for word, names in KNOWN.items()}
    assert set(FLAGS) <= set(walk_model().readings)


@pytest.mark.parametrize(
    ("name", "reading"),
    [
        ("bankrolled_by", "fund.subject"),
        ("runs_on", "use.object"),
        ("cannot open without", "need.object"),
        ("home of", "place.subject"),
        ("ferments", ""),
    ],
)
def test_a_relation_type_that_nobody_foresaw_finds_its_family(name: str, reading: str) -> None:
    assert family_of(plain_words(name)) == reading
