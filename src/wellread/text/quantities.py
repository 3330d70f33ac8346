"""Numbers with what they count: 40 knots is not borne out by 40 per cent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wellread.text.english import NUMBER_WORDS, SCALES, UNITS

LETTERS = {"k": 1e3, "mn": 1e6, "bn": 1e9}
_SCALES = SCALES | LETTERS
_SIGNS = {"$": "dollar", "€": "euro", "£": "pound"}
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?P<sign>[$€£])?(?P<digits>\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(NUMBER_WORDS)})\b)"
    rf"(?:[\s-]?(?P<scale>{'|'.join(_SCALES)})\b)?"
    rf"(?:[\s-]?(?:{'|'.join(f'(?P<u{n}>{form})' for n, form in enumerate(UNITS.values()))})"
    r"(?!\w))?",
    re.IGNORECASE,
)
_NAMES = tuple(UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in a text, with its unit where one of the known ones stands beside it."""

    said: str
    value: float
    unit: str


def quantities_in(text: str) -> Iterator[Quantity]:
    """The numbers of ``text`` in order, each with its unit; empty: none that is known."""
    for match in _QUANTITY.finditer(text):
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        named = next((name for n, name in enumerate(_NAMES) if match[f"u{n}"]), "")
        if match["digits"].lower() == "one":  # "one day" is seldom an amount
            named = ""
        yield Quantity(
            said=" ".join(match.group().split()),
            value=_number(match["digits"]) * scale,
            unit=named or _SIGNS.get(match["sign"] or "", ""),
        )


def _number(digits: str) -> float:
    return float(NUMBER_WORDS.get(digits.lower(), digits).replace(",", ""))
