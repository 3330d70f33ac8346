"""What kind of thing a question asks for, and whether a sentence, or a guide, holds one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, get_args

from wellread.text.english_common import GIVEN_NAME
from wellread.text.english_questions import PRESENTED, STANDS_FOR
from wellread.text.english_types import (
    A_COUNT,
    A_DATE,
    A_DEFINITION,
    A_MONTH,
    A_PLACE,
    A_REASON,
    A_WAY,
    AN_AMOUNT,
    ASKS_FOR,
    ASKS_HOW,
    ASKS_WHAT,
    BEFORE_A_PLACE,
    CITED,
    GIVING,
    HOW_MANY,
    HOW_MUCH_OF,
    IDENTIFIER,
    INSIDE_A_NAME,
    MONEY,
    OPENING_A_SENTENCE,
    SAYS_WHAT,
    UNITS_ASKED,
)
from wellread.text.names import is_acronym, singular
from wellread.text.parsed import parse
from wellread.types import Kind

Expected = Literal["person", "date", "number", "place", "reason", "way", "definition", "other"]
Fits = Callable[[str], int]

WRITTEN: tuple[Kind, ...] = ("article", "page", "paper", "entity")  # nobody speaks in these
_LETTERS = re.compile(r"[^\W\d_]+")
_SPOKEN = {"2": "t", "4": "f"}
_THE = re.compile(r"\bthe\s+$", re.IGNORECASE)
_CLAUSE = re.compile(r"[.;:]")
_BEFORE = 3  # words before a number among which it may stand
_BEHIND = 4  # words after a number among which the thing that is counted stands
_TOLD_BY = {"place": A_PLACE, "reason": A_REASON, "way": A_WAY, "definition": A_DEFINITION}


def expected_of(question: str) -> Expected:
    """The kind of thing that answers ``question``: the first that its words ask for.

    "Why must nobody say whom they prefer?" asks for a reason.
    """
    kinds: tuple[Expected, ...] = get_args(Expected)
    asked = {kind: ASKS_FOR[kind].search(question) for kind in kinds[:-1]}
    places = {kind: one.start() for kind, one in asked.items() if one and kind != "definition"}
    if places:
        return min(places, key=lambda kind: places[kind])
    return "definition" if asked["definition"] else "other"


def subject_of(question: str) -> str:
    """The thing that ``question`` asks to be told what it is; empty where it asks for no such."""
    asked = ASKS_WHAT.search(question)
    return asked["what"].strip() if asked else ""


def asks_what(question: str) -> bool:
    """Whether ``question`` asks what something is."""
    return bool(subject_of(question))


def defines(question: str, sentence: str) -> bool:
    """Whether ``sentence`` says of what ``question`` asks to have defined what it is.

    Of a short form: whether it gives the words that the letters stand for.
    """
    short = STANDS_FOR.search(question)
    if short is not None and is_acronym(short["short"]):
        return spells(short["short"], sentence)
    subject = subject_of(question)
    return bool(subject) and says_what(subject, sentence)


def says_what(subject: str, sentence: str) -> bool:
    """Whether ``sentence`` says what ``subject`` is."""
    name = r"\W+".join(re.escape(word) for word in parse(subject).words).removesuffix("s")
    if not name:
        return False
    letters = subject.strip("\"'“”‘’?!. ")
    if is_acronym(letters) and f"({letters})" in sentence and spells(letters, sentence):
        return True
    called = rf"(?:{name}s?(?:\s*\([^)]*\))?|[^.,;:()]{{1,60}}\({name}s?\))"
    said = rf"^\W*{OPENING_A_SENTENCE}(?:(?:the|an?)\s+)?{called}(?:,[^,]{{1,60}},)?\s+{SAYS_WHAT}"
    beside = rf"{PRESENTED}{called},\s+an?\s"
    given = rf"\b(?:an?|the)\s+[^.,;:()]{{3,80}}?\s{GIVEN_NAME}\s+[\"“'‘]?(?:the\s+)?{name}\b"
    return re.search(rf"{said}|{beside}|{given}", sentence, re.IGNORECASE) is not None


def spells(short: str, text: str) -> bool:
    """Whether words that follow each other in ``text`` begin with the letters of ``short``.

    Small words among them ("of the") need not count. 2 and 4 are read as words ("P2P").
    """
    letters = "".join(_SPOKEN.get(sign, sign) for sign in short.casefold() if sign.isalnum())
    words = [word.casefold() for word in _LETTERS.findall(text)]
    telling = [word for word in words if word not in INSIDE_A_NAME]
    initials = ("".join(word[0] for word in some) for some in (words, telling))
    return len(letters) > 1 and any(letters in each for each in initials)


def holds(kind: Expected, sentence: str, question: str) -> bool:
    """Whether ``sentence`` holds a thing of ``kind`` that the question does not name itself."""
    if kind == "person":
        return any(_may_be_person(name, sentence, question) for name in parse(sentence).names)
    if kind == "date":
        return A_DATE.search(CITED.sub("", sentence)) is not None
    if kind == "number":
        known = parse(question).numbers
        return any(
            not parse(found.group()).numbers <= known for found in AN_AMOUNT.finditer(sentence)
        )
    return kind in _TOLD_BY and _TOLD_BY[kind].search(sentence) is not None


def _may_be_person(name: str, sentence: str, question: str) -> bool:
    """Whether a name could be somebody's: no date or place, nothing of the question."""
    if name[:1].isdigit() or A_DATE.search(name) or A_MONTH.fullmatch(name):
        return False
    if " " not in name and _THE.search(sentence, 0, sentence.find(name)):
        return False  # "the Sound" is nobody
    asked = not parse(question).stem_set.isdisjoint(parse(name).stems)
    return not asked and BEFORE_A_PLACE.search(sentence, 0, sentence.find(name)) is None


def fits_of(question: str) -> Fits:
    """What tells of a sentence whether it gives the amount that ``question`` asks for.

    1: it does; -1: it gives amounts of other kinds, or none; 0: the question asks for none whose
    kind is known.
    """
    name = IDENTIFIER.search(question)
    if name is not None:
        return lambda sentence: 1 if _numbered(sentence, name["what"]) else -1
    many = HOW_MANY.search(question)
    if many is not None:
        counted = _counted(many["what"])
        return lambda sentence: 1 if counted and _counts(sentence, counted) else -1
    units = units_asked(question)
    if units:
        return lambda sentence: 1 if _in_units(sentence, units) else -1
    if HOW_MUCH_OF.search(question):
        return lambda sentence: -_only_money(sentence)
    return lambda _: 0


def asks_amount(question: str) -> bool:
    """Whether ``question``, or a part of it, asks how much or how long something is."""
    found = ASKS_FOR["number"].search(question)
    return bool(found and found.group().lower().startswith("how")) and not HOW_MANY.search(question)


def units_asked(question: str) -> frozenset[str]:
    """The units of the amount that ``question`` asks for; none where they are not known."""
    return next((units for form, units in UNITS_ASKED if form.search(question)), frozenset())


def _only_money(sentence: str) -> bool:
    told = {quantity.unit for quantity in parse(sentence).quantities}
    return bool(told) and told <= MONEY


def _numbered(sentence: str, what: str) -> bool:
    """Whether a sentence says ``what`` and holds digits."""
    said = not parse(what).stem_set.isdisjoint(parse(sentence).stem_set)
    return said and any(char.isdigit() for char in sentence)


def _in_units(sentence: str, units: frozenset[str]) -> bool:
    return any(quantity.unit in units for quantity in parse(sentence).quantities)


def _counted(what: str) -> str:
    """The stem of the noun that is counted: the first plural, else the first word."""
    words = [word for word in parse(what).words if parse(word).stems]
    several = next((word for word in words if singular(word.lower())), "")
    return next(iter(parse(several or what).stems), "")


def _counts(sentence: str, counted: str) -> bool:
    """Whether the noun stands right behind a number, or before one that is said to be its."""
    for found in A_COUNT.finditer(sentence):
        behind = _CLAUSE.split(sentence[found.end() :], maxsplit=1)[0].split()[:_BEHIND]
        if counted in parse(" ".join(behind)).stems:
            return True
        before = sentence[: found.start()]
        if GIVING.search(before) and counted in parse(" ".join(before.split()[-_BEFORE:])).stems:
            return True
    return False


def asks_how(question: str) -> bool:
    """Whether ``question`` asks for what to do, step by step."""
    return ASKS_HOW.search(question) is not None
