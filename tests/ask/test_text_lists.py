"""Lists of a text: where they begin and end, and what introduces them."""

from __future__ import annotations

import pytest

from wellread.ask.understand.text_lists import listings_of


def _items(text: str) -> list[list[str]]:
    return [[item.of(text) for item in one.items] for one in listings_of(text)]


@pytest.mark.parametrize("sign", ["-", "*", "•", "1."])
def test_bullets_with_their_lead(sign: str) -> None:
    text = f"Before.\n\nA good cellar has\n\n{sign} a door\n{sign} two shelves\n\nThe end."
    (found,) = listings_of(text)
    assert found.lead is not None
    assert found.lead.of(text) == "A good cellar has"
    assert _items(text) == [["a door", "two shelves"]]
    assert text[found.span.start : found.span.end].startswith("A good cellar")


def test_a_finished_sentence_introduces_nothing() -> None:
    text = "This was the day before.\n\n- a door\n- two shelves"
    (found,) = listings_of(text)
    assert found.lead is None
    assert found.span.of(text).startswith("- a door")


def test_what_stands_under_an_item_is_left_out() -> None:
    assert _items("Needs:\n- wood\n  - oak\n  - pine\n- nails") == [["wood", "nails"]]


def test_paragraphs_between_bullets_end_a_list() -> None:
    assert _items("- a\n\n- b\n\nA paragraph.\n\n- c\n- d") == [["a", "b"], ["c", "d"]]


def test_a_table_has_a_header_and_rows() -> None:
    text = "Boats of the yard\n\nBoat | Length\nTern | 9 m\nKnot | 12 m\n\nThat is all."
    (found,) = listings_of(text)
    assert found.table
    assert found.lead is not None
    assert found.lead.of(text) == "Boat | Length"
    assert _items(text) == [["Tern | 9 m", "Knot | 12 m"]]


def test_headings_that_count_up_are_a_list_whatever_lies_between() -> None:
    text = "Step 1: Sow\n\nIn May.\n\nStep 2: Water\n\n- daily\n\nStep 3: Reap\n\nIn autumn."
    found = next(one for one in listings_of(text) if one.spread)
    assert [item.of(text) for item in found.items] == [
        "Step 1: Sow",
        "Step 2: Water",
        "Step 3: Reap",
    ]


def test_captions_are_no_list() -> None:
    assert not listings_of("Table 1: A\n\nTable 2: B\n\nTable 3: C")


def test_paragraphs_with_titles_under_a_colon() -> None:
    text = (
        "It is a mixture of sources:\n\nRivers [60%]. Taken in May.\n\nWells [30%]. Dug deep.\n\n"
        "Rain [10%]. Caught on roofs.\n\nPipes. They are new.\n\nAfter that nothing was added"
    )
    (found,) = listings_of(text)
    assert found.lead is not None
    assert [item.of(text).split(".")[0] for item in found.items] == [
        "Rivers [60%]",
        "Wells [30%]",
        "Rain [10%]",
    ]


def test_a_table_amid_a_page_does_not_end_a_list() -> None:
    text = (
        "It is a mixture of sources:\n\nRivers [60%]. Taken in May, from the upper\n\n"
        "Source Share Depth\n\nRivers 60 2 m\n\nTable 1: Sources. With their depths.\n\n"
        "and the lower course.\n\nWells [30%]. Dug deep.\n\nRain [10%]. Caught on roofs.\n\nEnd."
    )
    (found,) = listings_of(text)
    assert [item.of(text)[:5] for item in found.items] == ["River", "Wells", "Rain "]


def test_paragraphs_that_each_say_what_another_thing_is() -> None:
    text = (
        "Three ovens are left.\n\nNORTH (Norman Oven, 1931) is a stone oven. It smokes.\n\n"
        "The South Oven is an iron one. It is warm.\n\nWEST (Westfield) burns gas.\n\n"
        "They are swept in May."
    )
    (found,) = listings_of(text)
    assert [item.of(text) for item in found.items] == [
        "NORTH (Norman Oven, 1931) is a stone oven.",
        "The South Oven is an iron one.",
        "WEST (Westfield) burns gas.",
    ]


def test_two_that_are_numbered_are_a_list_with_its_lead() -> None:
    text = "The oven is lit in two steps:\n\nStep #1: Open the flue\n\nSlowly.\n\nStep #2: Light it"
    (found,) = listings_of(text)
    assert found.lead is not None
    assert found.lead.of(text) == "The oven is lit in two steps:"
    assert [item.of(text) for item in found.items] == [
        "Step #1: Open the flue",
        "Step #2: Light it",
    ]


def test_plain_paragraphs_are_none() -> None:
    assert not listings_of("One day it rained. We stayed.\n\nThe next day was dry.\n\nIt rained.")
