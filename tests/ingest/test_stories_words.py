from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wellread.ingest.joining.story_clusters import (
    COMMON_FROM,
    Frequencies,
    bands,
    code_of,
    feature_counts,
    pack_signature,
    pack_vector,
    signature_of,
    similarities,
    unpack_signature,
    unpack_vector,
)

FERRY = (
    "The ferry Osprey was sold to an island firm for 2.6 million euros on Monday, and the harbour "
    "master said that the new owners want to run it from May on with the same crew as before."
)
weights = st.floats(min_value=0, max_value=1, width=16)
vectors = st.dictionaries(st.integers(0, 2**32 - 1), weights, max_size=20)


@given(vectors)
def test_a_vector_is_the_same_after_storing(vector: dict[int, float]) -> None:
    assert unpack_vector(pack_vector(vector)) == vector
    assert len(pack_vector(vector)) == 6 * len(vector)


def test_rare_words_weigh_more_than_common_ones_and_very_common_ones_nothing() -> None:
    frequencies = Frequencies()
    for number in range(COMMON_FROM):
        words = "harbour" + (" quay" if number % 10 == 0 else "")
        frequencies.weigh(feature_counts("", words))
    vector = frequencies.weigh(feature_counts("", "harbour quay osprey osprey"))
    frequencies.add([code_of("osprey")])
    again = frequencies.weigh(feature_counts("", "harbour quay osprey"))
    assert vector[code_of("harbour")] == 0.0
    assert again[code_of("osprey")] > again[code_of("quay")] > 0


def test_a_copy_has_nearly_the_same_signature_and_another_text_has_not() -> None:
    original = signature_of(FERRY)
    copy = signature_of(FERRY.replace("on Monday", "yesterday"))
    other = signature_of("Bread dough rises because yeast makes carbon dioxide in it all night.")
    same, much, little = similarities(original, np.stack([original, copy, other]))
    assert same == 1.0
    assert much > 0.7
    assert little < 0.1
    assert set(bands(original)) & set(bands(copy))
    assert not set(bands(original)) & set(bands(other))


@given(st.text(max_size=80))
def test_every_text_has_a_signature_that_can_be_stored(text: str) -> None:
    signature = signature_of(text)
    assert (unpack_signature(pack_signature(signature)) == signature).all()
