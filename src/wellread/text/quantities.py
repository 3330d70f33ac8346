"""Numbers with what they count: 40 knots is not borne out by 40 per cent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wellread.text.words import NUMBER_WORDS

SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
LETTERS = {"k": 1e3, "mn": 1e6, "bn": 1e9}
_SCALES = SCALES | LETTERS
# Signs before a number; "m", "g" and the like are left out, they mean too many things.
_SIGNS = {"$": "dollar", "€": "euro", "£": "pound"}
_UNITS = {
    "per cent": r"%|per\s?cent(?:age\s+points?)?",
    "dollar": r"dollars?|usd",
    "euro": r"euros?|eur",
    "pound": r"pounds?|gbp|lbs?",
    "kilometre per hour": r"km/h|kph|kilomet(?:re|er)s?\s+(?:per|an)\s+hour",
    "mile per hour": r"mph|miles?\s+(?:per|an)\s+hour",
    "knot": r"knots?",
    "kilometre": r"km|kilomet(?:re|er)s?",
    "metre": r"met(?:re|er)s?",
    "centimetre": r"cm|centimet(?:re|er)s?",
    "millimetre": r"mm|millimet(?:re|er)s?",
    "nautical mile": r"nautical\s+miles?",
    "mile": r"miles?",
    "foot": r"feet|foot|ft",
    "hectare": r"hectares?|ha",
    "acre": r"acres?",
    "kilogram": r"kg|kilos?|kilogram(?:me)?s?",
    "gram": r"gram(?:me)?s?",
    "milligram": r"mg|milligram(?:me)?s?",
    "tonne": r"tonnes?|tons?",
    "litre": r"lit(?:re|er)s?",
    "millilitre": r"ml|millilit(?:re|er)s?",
    "degree": r"degrees?|°\s?[cf]?",
    "kilowatt hour": r"kwh|kilowatt[\s-]hours?",
    "megawatt hour": r"mwh|megawatt[\s-]hours?",
    "kilowatt": r"kw|kilowatts?",
    "megawatt": r"mw|megawatts?",
    "gigawatt": r"gw|gigawatts?",
    "year": r"years?(?!-olds?\b)",  # an age belongs to whom it tells of, not to the fact
    "month": r"months?",
    "week": r"weeks?",
    "day": r"days?",
    "hour": r"hours?",
    "minute": r"minutes?|mins?",
    "second": r"seconds?|secs?",
}
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?P<sign>[$€£])?(?P<digits>\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(NUMBER_WORDS)})\b)"
    rf"(?:[\s-]?(?P<scale>{'|'.join(_SCALES)})\b)?"
    rf"(?:[\s-]?(?:{'|'.join(f'(?P<u{n}>{form})' for n, form in enumerate(_UNITS.values()))})"
    r"(?!\w))?",
    re.IGNORECASE,
)
_NAMES = tuple(_UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in a text, with its unit where one of the known ones stands beside it."""

    said: str
    value: float
    unit: str


def quantities(text: str) -> Iterator[Quantity]:
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


def other_unit(claim: str, passage: str) -> tuple[str, str] | None:
    """A quantity of ``claim`` whose number the passage has of other units only, and how it has it.

    A number without a known unit, on either side, decides nothing.
    """
    held = list(quantities(passage))
    for mine in quantities(claim):
        same = [other for other in held if other.value == mine.value]
        if mine.unit and same and all(other.unit not in ("", mine.unit) for other in same):
            return mine.said, same[0].said
    return None
