"""Whether a sentence gives the amount that is asked for: minutes for "how long", and so on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from wellread.text.english import NUMBER_WORDS
from wellread.text.parsed import parse

TIMES = frozenset({"year", "month", "week", "day", "hour", "minute", "second"})
LENGTHS = frozenset(
    {"kilometre", "metre", "centimetre", "millimetre", "nautical mile", "mile", "foot"}
)
SPEEDS = frozenset({"kilometre per hour", "mile per hour", "knot"})
MONEY = frozenset({"dollar", "euro", "pound"})
MASSES = frozenset({"kilogram", "gram", "milligram", "tonne", "pound"})

_UNITS: tuple[tuple[str, frozenset[str]], ...] = (
    (r"\bhow long\b", TIMES | LENGTHS),
    (r"\bhow old\b", TIMES),
    (r"\bhow (?:far|tall|high|deep|wide)\b|\b(?:length|height|depth|distance)\b", LENGTHS),
    (r"\bhow fast\b|\bspeed\b", SPEEDS),
    (r"\bhow heavy\b|\bweigh(?:s|ed)?\b", MASSES),
    (r"\bhow (?:hot|cold|warm)\b|\btemperature\b", frozenset({"degree"})),
    (r"\b(?:percentage|per cent|percent|share of)\b", frozenset({"per cent"})),
    (r"\b(?:price|fee|budget)\b|\bhow much\b.*\b(?:costs?|pays?|paid|spen[dt])\b", MONEY),
)
_MANY = re.compile(r"\bhow many\s+(?P<what>(?:[\w'’-]+\s+){0,3}[\w'’-]+)", re.IGNORECASE)
_BEHIND = 4  # words after a number among which the thing that is counted stands
_NUMBER = re.compile(
    r"(?:\d[\d,.]*|\b(?:" + "|".join(NUMBER_WORDS) + r"))\b\s*(?P<behind>[^.;:]{0,60})",
    re.IGNORECASE,
)
_DATED = "".join(rf"(?<!\b{word} )" for word in "in since by of until from after before".split())
_YEAR = r"(?:19|20)\d\d\b"
_SEVERAL = (
    "none|nobody|no one|both|half|several|a dozen|a couple|dozens|hundreds|thousands|millions"
)
_FREE = re.compile(
    rf"(?<![\w#.:-])(?:(?!{_YEAR})[$€£]?\d[\d,.]*(?:\s*%|\b)|{_DATED}{_YEAR}"
    rf"|(?:{'|'.join(NUMBER_WORDS.keys() - {'one'})}|{_SEVERAL})\b)",
    re.IGNORECASE,
)

Fits = Callable[[str], int]


def gives_number(sentences: Iterable[str]) -> bool:
    """Whether one of ``sentences`` says a number: "#63" and "BIP118" are names, 2021 is a date, and
    "one" counts little.
    """
    return any(_FREE.search(sentence) for sentence in sentences)


def fits_of(question: str) -> Fits:
    """What tells of a sentence whether it gives the amount that ``question`` asks for.

    1: it does; -1: it gives amounts of other kinds, or none; 0: the question asks for none whose
    kind is known, or what it counts is not named beside a number.
    """
    many = _MANY.search(question)
    if many is not None:
        counted = parse(many["what"]).stems[:1]
        return lambda sentence: int(bool(counted) and _counts(sentence, counted[0]))
    for form, units in _UNITS:
        if re.search(form, question, re.IGNORECASE):
            return lambda sentence: 1 if _in_units(sentence, units) else -1
    return lambda _: 0


def _in_units(sentence: str, units: frozenset[str]) -> bool:
    return any(quantity.unit in units for quantity in parse(sentence).quantities)


def _counts(sentence: str, counted: str) -> bool:
    return any(
        counted in parse(" ".join(found["behind"].split()[:_BEHIND])).stems
        for found in _NUMBER.finditer(sentence)
    )
