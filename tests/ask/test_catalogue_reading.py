"""Questions to the catalogue are read as the examples are that they were learned from."""

from __future__ import annotations

import pytest
from benchmarks.train_catalogue import examples, known_words, masked_words

from wellread.ask.aggregate.read.catalogue_reading import LOOKING, TEXTS, judged, learned

EXAMPLES = examples()
KNOWN = known_words(EXAMPLES)


def read_as(masked: list[str]) -> tuple[str, bool]:
    """The reading of words and slots, and whether the topic has to be named."""
    reading = judged(masked, learned())
    if reading and reading.sure:
        return reading.name, reading.naming and reading.name in LOOKING
    return TEXTS, False


@pytest.mark.parametrize("name", [*dict.fromkeys(one.reading for one in EXAMPLES)])
def test_each_example_has_its_reading(name: str) -> None:
    mine = [one for one in EXAMPLES if one.reading == name]
    wanted = {one.text: (name, one.naming and name in LOOKING) for one in mine}
    assert {one.text: read_as(masked_words(one, KNOWN)) for one in mine} == wanted


def test_the_model_was_learned_from_these_examples() -> None:
    assert learned().words == {word: frozenset(names) for word, names in KNOWN.items()}


def test_what_no_example_explains_is_asked_of_the_texts() -> None:
    assert read_as("how many {noun} did {topic}".split()) == (TEXTS, False)
