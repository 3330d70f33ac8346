"""Questions to the catalogue are read as the examples are that they were learned from."""

from __future__ import annotations

import pytest
from benchmarks.train_catalogue import Example, examples, known_words, masked_words

from wellread.ask.aggregate.read.catalogue_reading import LOOKING, TEXTS, TOPIC, judged, learned

EXAMPLES = examples()
KNOWN = known_words(EXAMPLES)
READINGS = [*dict.fromkeys(one.reading for one in EXAMPLES)]


def read_as(one: Example) -> tuple[str, bool]:
    """The reading of an example, and whether its topic has to be named."""
    masked = masked_words(one, KNOWN)
    reading = judged(masked, learned())
    if reading is None or not reading.sure:
        return TEXTS, False
    named = reading.naming and TOPIC in masked and reading.name in LOOKING
    return reading.name, named


@pytest.mark.parametrize("reading", READINGS)
def test_each_example_has_its_reading(reading: str) -> None:
    mine = [one for one in EXAMPLES if one.reading == reading]
    wanted = {one.text: (reading, one.naming and reading in LOOKING) for one in mine}
    assert {one.text: read_as(one) for one in mine} == wanted


def test_the_model_was_learned_from_these_examples() -> None:
    assert learned().words == {word: frozenset(names) for word, names in KNOWN.items()}


@pytest.mark.parametrize(
    "masked",
    [
        "how many {noun} did {topic}",  # "How many articles did the council ban?"
        "how many {topic} live in {topic}",
        "which {noun} {topic}",
        "why are there so many {noun}",
        "how many {noun} are there per glass",
    ],
)
def test_what_no_example_explains_is_asked_of_the_texts(masked: str) -> None:
    reading = judged(masked.split(), learned())
    assert reading is None or not reading.sure
