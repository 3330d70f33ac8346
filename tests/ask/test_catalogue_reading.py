"""Questions to the catalogue are read as the examples are that they were learned from."""

from __future__ import annotations

import pytest
from benchmarks.train_catalogue import EXAMPLES, examples, known_words, masked_words

from wellread.ask.aggregate.catalogue_reading import (
    CATALOGUE_MODEL_FILE,
    LOOKUP_READINGS,
    TEXTS,
    classify,
    load_model,
)

READ = {file: examples(file) for file in EXAMPLES}
KNOWN = {file: known_words(given) for file, given in READ.items()}
READINGS = [
    (file, name) for file in READ for name in dict.fromkeys(one.reading for one in READ[file])
]


def read_as(masked: list[str], file: str = CATALOGUE_MODEL_FILE) -> tuple[str, bool]:
    """The reading of words and slots, and whether the topic has to be named."""
    reading = classify(masked, load_model(file))
    if reading and reading.sure:
        return reading.name, reading.naming and reading.name in LOOKUP_READINGS
    return TEXTS, False


@pytest.mark.parametrize(("file", "name"), READINGS)
def test_each_example_has_its_reading(file: str, name: str) -> None:
    mine = [one for one in READ[file] if one.reading == name]
    wanted = {one.text: (name, one.naming and name in LOOKUP_READINGS) for one in mine}
    assert {one.text: read_as(masked_words(one, KNOWN[file]), file) for one in mine} == wanted


@pytest.mark.parametrize("file", EXAMPLES)
def test_the_model_was_learned_from_these_examples(file: str) -> None:
    told = {word: frozenset(names) for word, names in KNOWN[file].items()}
    assert load_model(file).words == told
