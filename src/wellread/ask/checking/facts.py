"""The facts of a sentence that a passage must hold: numbers, dates, names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isclose

from wellread.ask import words

ROUNDED = 0.1  # how far a number said to be rough may be from the passage's, of its value

_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALED = re.compile(
    rf"(\d[\d,]*(?:\.\d+)?)[\s-]*({'|'.join(_SCALES)}|[kmb]n?(?![a-z]))", re.IGNORECASE
)
_LETTERS = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
_ROUGH = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|over|more\s+than|less\s+than|"
    r"under|circa|up\s+to|at\s+least)\s+[$€£~]?(\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)


def disagreement(claim: str, passage: str, about: str = "") -> str:
    """Which fact of the claim neither the passage nor what is known about it holds, in words.

    Empty when none is missing. "2.5 million" and "2,500,000" are one number; one that the claim
    calls rough ("about 300") may be a little off.
    """
    around = f"{passage} {about}"
    missing = _missing_numbers(claim, around)
    if missing:
        return f"number {', '.join(sorted(missing))} is not in the cited passage"
    lower = around.lower()
    absent = [name for name in words.names(claim) if not _named(name, lower)]
    return f"{', '.join(absent)} is not named in the cited passage" if absent else ""


def _missing_numbers(claim: str, around: str) -> frozenset[str]:
    missing = words.numbers(claim) - words.numbers(around)
    if not missing:
        return missing
    held = [*_values(words.numbers(around)), *_scaled(around)]
    scaled = _scaled(claim)
    if scaled and all(any(isclose(value, other) for other in held) for value in scaled):
        # The digits and the scale were read as two numbers; together they are in the passage.
        parts = {part for found in _SCALED.finditer(claim) for part in words.numbers(found.group())}
        missing -= parts
    rough = {number for found in _ROUGH.finditer(claim) for number in words.numbers(found.group(1))}
    return frozenset(
        number
        for number in missing
        if not any(
            isclose(float(number), other, rel_tol=ROUNDED if number in rough else 1e-9)
            for other in held
        )
    )


def _values(numbers: Iterable[str]) -> list[float]:
    return [float(number) for number in numbers]


def _scaled(text: str) -> list[float]:
    """The numbers of ``text`` that are said with a scale, in full."""
    found = []
    for match in _SCALED.finditer(text):
        scale = match.group(2).lower()
        value = float(match.group(1).replace(",", ""))
        found.append(value * (_SCALES.get(scale) or _LETTERS[scale]))
    return found


def _named(name: str, lower: str) -> bool:
    return any(part.lower() in lower for part in name.split() if len(part) > 2) or not any(
        len(part) > 2 for part in name.split()
    )
