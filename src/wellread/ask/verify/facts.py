"""The facts of a sentence that a passage must hold: numbers, dates, names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose
from typing import Literal

from wellread.text.english import SCALES
from wellread.text.parsed import parse
from wellread.text.quantities import LETTERS

ROUNDED = 0.1  # how far a number said to be rough may be from the passage's, of its value
ENDING = 3  # letters in which a name and its adjective differ: Canada, Canadian
LEAST_STEM = 4

_LETTERS = LETTERS | {"m": 1e6}
_SCALED = re.compile(
    rf"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?:[\s-]?({'|'.join(SCALES)})|({'|'.join(_LETTERS)}))\b",
    re.IGNORECASE,
)
_ROUGH = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|over|more\s+than|less\s+than|"
    r"under|circa|up\s+to|at\s+least)\s+[$€£~]?(\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
# "2018–19": the second year, in short.
_YEARS = re.compile(r"\b((?:1[6-9]|20)\d\d)[–/-](\d\d)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact of a claim that the passage does not hold."""

    kind: Literal["number", "name"]
    words: str


def missing_fact(claim: str, passage: str, about: str = "") -> Missing | None:
    """Which fact of the claim neither the passage nor what is known about it holds.

    None when none is missing. "2.5 million" and "2,500,000" are one number; one that the claim
    calls rough ("about 300") may be a little off. A number counts with its unit, where both
    sides give one.
    """
    around = f"{passage} {about}"
    missing = _missing_numbers(claim, around)
    if missing:
        listed = ", ".join(sorted(missing))
        return Missing(kind="number", words=f"number {listed} is not in the cited passage")
    other = _other_unit(claim, around)
    if other:
        words = f"number stands there with another unit: {other[1]}, not {other[0]}"
        return Missing(kind="number", words=words)
    lower = around.lower()
    absent = [name for name in parse(claim).names if not _named(name, lower)]
    if not absent:
        return None
    return Missing(kind="name", words=f"{', '.join(absent)} is not named in the cited passage")


def _missing_numbers(claim: str, around: str) -> frozenset[str]:
    claim, around = _YEARS.sub(r"\1", claim), _YEARS.sub(r"\1", around)
    held = parse(around).numbers
    values = [*map(float, held), *_scaled(around).values()]
    missing = set(parse(claim).numbers - held)
    mantissas = {said.group(1).replace(",", "") for said in _SCALED.finditer(around)}
    for said, value in _scaled(claim).items():
        parts = parse(said).numbers
        if any(isclose(value, other) for other in values):
            # Digits and scale were read as two numbers; together they are in the passage.
            missing -= parts
        elif parts & mantissas:
            missing.add(said)  # 2.6 billion, where the passage has 2.6 million
    rough = {number for found in _ROUGH.finditer(claim) for number in parse(found.group(1)).numbers}
    return frozenset(
        number for number in missing if not _near(number, values, loose=number in rough)
    )


def _near(number: str, values: Iterable[float], *, loose: bool) -> bool:
    try:
        value = float(number)
    except ValueError:  # said with a scale
        return False
    return any(isclose(value, other, rel_tol=ROUNDED if loose else 1e-9) for other in values)


def _scaled(text: str) -> dict[str, float]:
    """The numbers of ``text`` that are said with a scale, in full, by how they are said."""
    found = {}
    for match in _SCALED.finditer(text):
        digits, word, letter = match.groups()
        scale = SCALES[word.lower()] if word else _LETTERS[letter.lower()]
        found[match.group()] = float(digits.replace(",", "")) * scale
    return found


def _named(name: str, lower: str) -> bool:
    """Whether a part of ``name`` is in ``lower``, be it as an adjective or a plural; initials and
    digits are not looked for.
    """
    parts = [re.sub(r"['’]s?$", "", part.lower()) for part in name.split()]
    long = [part for part in parts if len(part) > 2 and not part.isdigit()]
    return not long or any(_stem(part) in lower for part in long)


def _stem(part: str) -> str:
    return part[: max(LEAST_STEM, len(part) - ENDING)] if part.isalpha() else part


def _other_unit(claim: str, passage: str) -> tuple[str, str] | None:
    """A quantity of ``claim`` whose number the passage has of other units only, and how it has it.

    A number without a known unit, on either side, decides nothing.
    """
    held = parse(passage).quantities
    for mine in parse(claim).quantities:
        same = [other for other in held if other.value == mine.value]
        if mine.unit and same and all(other.unit not in ("", mine.unit) for other in same):
            return mine.said, same[0].said
    return None
