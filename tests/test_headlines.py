from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.text.sentences import MAX_TITLE_CHARS, part_title, short_title, shorten
from wellread.types import Span


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("Ferry sold: the Osprey went to an island firm. It leaves in May.", "Ferry sold"),
        ("The Osprey was sold in May: 2.6 million. More follows.", "The Osprey was sold in May"),
        ("The Osprey was sold. The price: 2.6 million.", "The Osprey was sold"),
        ("Harbour news\n\nThe quay was closed.", "Harbour news"),
        ("The quay was closed.\n\nIt opens in May.", "The quay was closed"),
        ("  version 2.1 is out  ", "version 2.1 is out"),
        ("", ""),
    ],
)
def test_a_lead_is_a_heading_or_what_stands_before_the_colon_or_a_sentence(
    text: str, lead: str
) -> None:
    assert short_title(text) == lead


def test_a_part_that_is_the_document_has_its_title() -> None:
    whole = Span(start=0, end=100)
    assert part_title(whole, "First words. More.", "The title", 100) == "The title"
    assert (
        part_title(Span(start=0, end=50), "First words. More.", "The title", 100) == "First words"
    )
    assert part_title(whole, "First words. More.", "", 100) == "First words"


def test_a_long_line_is_cut_at_a_space() -> None:
    assert shorten("one two three", 13) == "one two three"
    assert shorten("one two three four", 13) == "one two…"


@given(st.text(max_size=400))
def test_a_lead_is_one_short_line(text: str) -> None:
    lead = short_title(text)
    assert len(lead) <= MAX_TITLE_CHARS + 1
    assert "\n" not in lead
