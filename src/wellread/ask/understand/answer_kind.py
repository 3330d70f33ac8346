"""What kind of thing a question asks for, and whether a sentence, or a guide, holds one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

from wellread.text.english import MONTHS, MONTHS_SHORT, NUMBER_WORDS, WEEKDAYS
from wellread.text.parsed import parse
from wellread.types import DocumentFacts

Expected = Literal["person", "date", "number", "place", "reason", "way", "definition", "other"]

_MONTH = rf"(?:{'|'.join((*MONTHS, *MONTHS_SHORT, 'sept'))})"
_DAY = rf"(?:{'|'.join(WEEKDAYS)})"
DATE = re.compile(
    rf"\b(?:{_MONTH}\.?\s+\d{{1,4}}|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}|{_DAY}s?"
    r"|(?:1\d|20)\d\d(?:s|\b)|\d{1,2}[:.]\d{2}\b|\d{1,2}(?:st|nd|rd|th)\s+century"
    rf"|(?:in|since|until|by|of|from)\s+{_MONTH}|(?:spring|summer|autumn|winter)\s+of)",
    re.IGNORECASE,
)
_MONTHS = re.compile(rf"{_MONTH}|{_DAY}", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|at|on|near|from|to|into|between|around)\s+(?:the\s+)?[A-Z]")
_REASON = re.compile(
    r"\b(?:because|since|due to|so that|in order to|reasons?|caused?|causes|therefore|thanks to"
    r"|as a result|led to|result(?:ed|s)? (?:in|from)|owing to"
    r"|to (?:avoid|prevent|keep|protest))\b",
    re.IGNORECASE,
)
_WAY = re.compile(r"\b(?:by \w+ing|using|through|with the help of|by means of)\b", re.IGNORECASE)
_IS = re.compile(
    r"\b(?:is|are|was|were) (?:an?|the|one|any|some)\b|\b"
    r"(?:refers? to|means?|known as|called|defined as)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d|\b(?:" + "|".join(NUMBER_WORDS) + r")\b", re.IGNORECASE)

_ASKS: tuple[tuple[re.Pattern[str], Expected], ...] = (
    (re.compile(r"\b(?:who|whom|whose)\b", re.I), "person"),
    (
        re.compile(
            r"\bwhen\b|\b(?:what|which|in what|by what) "
            r"(?:year|day|date|month|time|century|decade)\b",
            re.I,
        ),
        "date",
    ),
    (
        re.compile(
            r"\bhow (?:many|much|long|far|often|old|large|big|high|fast|tall|deep|heavy|warm|hot"
            r"|cold|wide|late|early|close)\b"
            r"|\b(?:what|which)(?: is| was| are| were)?(?: the| its| their)?(?: \w+)? "
            r"(?:percentage|per cent|share|number|amount|price|cost|fee|population|budget|age"
            r"|length|height|size|speed|rate|temperature|distance|depth|area|capacity)\b",
            re.I,
        ),
        "number",
    ),
    (
        re.compile(
            r"\bwhere\b|\b(?:what|which) (?:place|country|city|town|state|village|island)\b", re.I
        ),
        "place",
    ),
    (
        re.compile(r"\bwhy\b|\breasons?\b|\bwhat (?:causes?|caused|led)\b|\bpurpose\b", re.I),
        "reason",
    ),
    (re.compile(r"\bhow (?:do|does|did|can|could|is|are|was|were|should|to)\b", re.I), "way"),
    (
        re.compile(r"^\W*(?:what|who) (?:is|are|was|were) (?:an? |the )?(?:\S+ ?){1,4}\W*$", re.I),
        "definition",
    ),
)


def expected_of(question: str) -> Expected:
    """The kind of thing that answers ``question``; the first that its words ask for."""
    return next((kind for pattern, kind in _ASKS if pattern.search(question)), "other")


_DEFINED = re.compile(
    r"^\W*(?:what|who) (?:is|are|was|were) (?:an? |the )?(?P<what>(?:\S+ ?){1,5}?)\W*$", re.I
)
_SAYS_WHAT = r"(?:(?:is|are|was|were) (?:an?|the|one|any|some)\b|refers? to|means?\b|describes?\b)"
_AFTER = re.compile(r"\b(?:in|at|on|near|from|to|into|between|around)\s+(?:the\s+)?$")


def people(sentence: str, question: str) -> tuple[str, ...]:
    """Names in ``sentence`` that could be somebody's: no date or place, nothing of the question."""
    asked = parse(question).stem_set
    found = []
    for name in parse(sentence).names:
        place = sentence.find(name)
        if name[:1].isdigit() or asked.intersection(parse(name).stems) or DATE.search(name):
            continue
        if _MONTHS.fullmatch(name) or _AFTER.search(sentence, 0, place):
            continue
        found.append(name)
    return tuple(found)


def asks_what(question: str) -> bool:
    """Whether ``question`` asks what something is."""
    return _DEFINED.search(question) is not None


def defines(question: str, sentence: str) -> bool:
    """Whether ``sentence`` says of what ``question`` asks to have defined what it is."""
    asked = _DEFINED.search(question)
    if asked is None:
        return False
    name = r"\W+".join(re.escape(word) for word in parse(asked["what"]).words).removesuffix("s")
    said = rf"^\W*(?:(?:the|an?)\s+)?{name}s?(?:\s*\([^)]*\))?(?:,[^,]{{1,60}},)?\s+{_SAYS_WHAT}"
    return re.search(said, sentence, re.IGNORECASE) is not None


def holds(kind: Expected, sentence: str, question: str) -> bool:
    """Whether ``sentence`` holds a thing of ``kind`` that the question does not name itself."""
    if kind == "person":
        return bool(people(sentence, question))
    if kind == "date":
        return DATE.search(sentence) is not None
    if kind == "number":
        return bool(parse(sentence).numbers - parse(question).numbers)
    pattern = {"place": _PLACE, "reason": _REASON, "way": _WAY, "definition": _IS}.get(kind)
    return pattern is not None and pattern.search(sentence) is not None


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
_COUNTED = re.compile(
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
        for found in _COUNTED.finditer(sentence)
    )


WRITTEN = ("article", "page", "paper", "entity")  # no talk and no past answer is a guide
LEAST = 0.6  # of the question's words that a guide's title holds
# Openings of a question that say what to do with a thing, not which thing.
_HOW_TO = re.compile(
    r"^\W*(?:(?:please\s+)?(?:explain|tell\s+me|show\s+me)\s+)?"
    r"(?:how\s+(?:do|does|can|could|should|would)\s+(?:i|we|you|one|someone|somebody|people)\b"
    r"|how\s+to\b|what\s+(?:are\s+the\s+)?steps\b|what\s+do\s+(?:i|we|you)\s+need\b)",
    re.IGNORECASE,
)
_DOING = frozenset(
    parse("start begin run make set up do create build organise organize host hold open get").stems
)


def asks_how(question: str) -> bool:
    """Whether ``question`` asks for what to do, step by step."""
    return _HOW_TO.search(question) is not None


def guide_of(question: str, terms: str, found: Iterable[DocumentFacts]) -> DocumentFacts | None:
    """The first of ``found`` that is a guide to what ``question`` wants to do, if it asks for that.

    Args:
        terms: the question's content words.
    """
    if not asks_how(question):
        return None
    asked = parse(terms).stems
    return next((one for one in found if one.kind in WRITTEN and is_guide(one.title, asked)), None)


def is_guide(title: str, asked: Iterable[str]) -> bool:
    """Whether a document of this title is a guide to what the stems ``asked`` name.

    What is to be done with it ("start", "run") need not be the same word.
    """
    things = frozenset(asked) - _DOING
    held = things.intersection(parse(title).stems)
    return bool(things) and len(held) >= LEAST * len(things)
