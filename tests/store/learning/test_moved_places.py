"""The words of a place are found again by their hash, where they stand now."""

from __future__ import annotations

import pytest

from wellread.identity import words_hash
from wellread.store.catalogue.feedback_records import find_words
from wellread.store.schema.stored_values import BetterCitation
from wellread.types import Span

BEFORE = "The tide\n  is high at   noon, and (so they say) low at six."


def place(words: str) -> BetterCitation:
    start = BEFORE.index(words)
    span = Span(start=start, end=start + len(words))
    return BetterCitation(document_id="d", version="v", span=span, content=words_hash(words))


@pytest.mark.parametrize(
    "words", ["is high at   noon", "(so they say) low", "so they say", "tide\n  is high", BEFORE]
)
@pytest.mark.parametrize("text", [BEFORE, f"A new line.\n\n{BEFORE}"])
def test_they_are_found_wherever_they_stand(words: str, text: str) -> None:
    found = find_words(text, place(words))
    assert found is not None
    assert found.of(text).split() == words.split()


@pytest.mark.parametrize("text", ["", "Tide.", BEFORE.replace("high", "low"), "is high at"])
def test_words_that_changed_are_nowhere(text: str) -> None:
    assert find_words(text, place("is high at   noon")) is None
