"""Numbers are borne out with what they count."""

from __future__ import annotations

import pytest

from wellread.ask.verify.check_steps import missing_fact
from wellread.text.parsed import parse


@pytest.mark.parametrize(
    ("claim", "passage", "told"),
    [
        ("It sails at 40 knots.", "She carries 40 per cent more.", "40 per cent, not 40 knots"),
        ("The lease runs 12 years.", "The lease runs 12 months.", "12 months, not 12 years"),
        ("It cost $2.5 million.", "It cost 2.5 million euros.", "2.5 million euros, not $2.5"),
        ("It weighs 2,000 kg.", "It weighs 2000 tonnes.", "2000 tonnes, not 2,000 kg"),
    ],
)
def test_another_unit_is_another_number(claim: str, passage: str, told: str) -> None:
    found = missing_fact(claim, passage)
    assert found is not None
    assert found.kind == "number"
    assert told in found.words


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("It sails at 40 km/h.", "It sails at 40 kilometres per hour."),
        ("It cost $40 million.", "A ship for 40 million dollars."),
        ("It takes 12 minutes.", "It is a 12-minute ride."),
        ("It grew by 5%.", "It grew by 5 percent."),
        ("It sails at 40 knots.", "It sails at 40."),  # what kind is not said
        ("All 40 sailed.", "40 per cent sailed."),
        ("One day it sailed.", "Only 1 per cent sailed."),
        ("It sails at 40 knots.", "40 per cent more, at 40 knots."),
    ],
)
def test_the_same_or_an_unknown_unit_is_no_trouble(claim: str, passage: str) -> None:
    assert missing_fact(claim, passage) is None


def test_what_stands_beside_a_number() -> None:
    found = parse(
        "In 2025 it cost £1.2 million, 40-year loans and 8 m for a 3-year-old."
    ).quantities
    assert [(each.value, each.unit) for each in found] == [
        (2025.0, ""),
        (1.2e6, "pound"),
        (40.0, "year"),
        (8.0, ""),
        (3.0, ""),  # an age
    ]


@pytest.mark.parametrize(
    ("claim", "passage", "absent"),
    [
        ("Dockside crews (DCs) mend nets.", "Dockside crews mend nets.", None),
        ("An MRI was made of the bone.", "Magnetic resonance imaging showed the bone.", None),
        ("An MRI was made of the bone.", "An image was made of the bone.", "MRI"),
        ("The WTO mends nets.", "Dockside crews mend nets.", "WTO"),
        ("The crew of Ostrow (Lindholm) mends nets.", "The crew of Ostrow.", "Lindholm"),
    ],
)
def test_a_short_form_that_is_said_in_full_is_no_missing_name(
    claim: str, passage: str, absent: str | None
) -> None:
    found = missing_fact(claim, passage)
    assert (found.words.split()[0] if found else None) == absent
