"""Which sentences may stand in a report: those that have to do with what was asked."""

from __future__ import annotations

import pytest
from tests.doubles.evidence import evidence_of

from wellread.ask.write.candidate_sentences import options_of
from wellread.reports import Facet
from wellread.research.candidates import stays_with
from wellread.research.facets import subject_stems

ITEMS = (
    "- The Zephyr group reviewed the harbour tax. It takes two years.\n"
    "- The Zephyr plugin colours scripts in the editor.\n"
    "- The harbour tax was raised."
)
BRIDGE = Facet(id="f2", kind="bridge", title="Zephyr", query="Zephyr")


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("News of the week", ["reviewed", "two years", "raised"]),
        ("Zephyr", ["reviewed", "two years", "plugin", "raised"]),
    ],
)
def test_a_bridge_keeps_to_items_that_hold_a_word_of_the_question_or_to_its_own_page(
    title: str, kept: list[str]
) -> None:
    (piece,) = evidence_of(ITEMS, title=title)
    found = [
        one.text for one in options_of([piece]) if stays_with(BRIDGE, "the harbour tax", piece, one)
    ]
    assert len(found) == len(kept)
    assert all(word in text for word, text in zip(kept, found, strict=True))


def test_words_for_any_source_are_no_subject() -> None:
    assert subject_stems("What do the sources say about covenants?") == {"coven"}
