"""What kind of thing a question asks for, and whether a sentence holds one."""

from __future__ import annotations

import re
from typing import Literal

from wellread.text.english import NUMBER_WORDS
from wellread.text.parsed import parse

Expected = Literal["person", "date", "number", "place", "reason", "way", "definition", "other"]

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
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
