"""What kind of thing a question asks for, and whether a sentence, or a guide, holds one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, get_args

from wellread.text.english_types import (
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
    COUNTED,
    DOING,
    HOW_MANY,
    SAYS_WHAT,
    UNITS_ASKED,
)
from wellread.text.parsed import parse
from wellread.types import DocumentFacts

Expected = Literal["person", "date", "number", "place", "reason", "way", "definition", "other"]
Fits = Callable[[str], int]

WRITTEN = ("article", "page", "paper", "entity")  # no talk and no past answer is a guide
LEAST = 0.6  # of the question's words that a guide's title holds
_BEHIND = 4  # words after a number among which the thing that is counted stands
_TOLD_BY = {"place": A_PLACE, "reason": A_REASON, "way": A_WAY, "definition": A_DEFINITION}


def expected_of(question: str) -> Expected:
    """The kind of thing that answers ``question``; the first that its words ask for."""
    kinds: tuple[Expected, ...] = get_args(Expected)
    return next((kind for kind in kinds[:-1] if ASKS_FOR[kind].search(question)), "other")


def asks_what(question: str) -> bool:
    """Whether ``question`` asks what something is."""
    return ASKS_WHAT.search(question) is not None


def defines(question: str, sentence: str) -> bool:
    """Whether ``sentence`` says of what ``question`` asks to have defined what it is."""
    asked = ASKS_WHAT.search(question)
    if asked is None:
        return False
    name = r"\W+".join(re.escape(word) for word in parse(asked["what"]).words).removesuffix("s")
    said = rf"^\W*(?:(?:the|an?)\s+)?{name}s?(?:\s*\([^)]*\))?(?:,[^,]{{1,60}},)?\s+{SAYS_WHAT}"
    return re.search(said, sentence, re.IGNORECASE) is not None


def holds(kind: Expected, sentence: str, question: str) -> bool:
    """Whether ``sentence`` holds a thing of ``kind`` that the question does not name itself."""
    if kind == "person":
        return any(_may_be_person(name, sentence, question) for name in parse(sentence).names)
    if kind == "date":
        return A_DATE.search(sentence) is not None
    if kind == "number":
        return bool(parse(sentence).numbers - parse(question).numbers)
    return kind in _TOLD_BY and _TOLD_BY[kind].search(sentence) is not None


def _may_be_person(name: str, sentence: str, question: str) -> bool:
    """Whether a name could be somebody's: no date or place, nothing of the question."""
    if name[:1].isdigit() or A_DATE.search(name) or A_MONTH.fullmatch(name):
        return False
    asked = not parse(question).stem_set.isdisjoint(parse(name).stems)
    return not asked and BEFORE_A_PLACE.search(sentence, 0, sentence.find(name)) is None


def gives_number(sentences: Iterable[str]) -> bool:
    """Whether one of ``sentences`` says a number, and not only a date or a number in a name."""
    return any(AN_AMOUNT.search(sentence) for sentence in sentences)


def fits_of(question: str) -> Fits:
    """What tells of a sentence whether it gives the amount that ``question`` asks for.

    1: it does; -1: it gives amounts of other kinds, or none; 0: the question asks for none whose
    kind is known, or what it counts is not named beside a number.
    """
    many = HOW_MANY.search(question)
    if many is not None:
        counted = parse(many["what"]).stems[:1]
        return lambda sentence: int(bool(counted) and _counts(sentence, counted[0]))
    for form, units in UNITS_ASKED:
        if form.search(question):
            return lambda sentence: 1 if _in_units(sentence, units) else -1
    return lambda _: 0


def _in_units(sentence: str, units: frozenset[str]) -> bool:
    return any(quantity.unit in units for quantity in parse(sentence).quantities)


def _counts(sentence: str, counted: str) -> bool:
    return any(
        counted in parse(" ".join(found["behind"].split()[:_BEHIND])).stems
        for found in COUNTED.finditer(sentence)
    )


def asks_how(question: str) -> bool:
    """Whether ``question`` asks for what to do, step by step."""
    return ASKS_HOW.search(question) is not None


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
    things = frozenset(asked) - parse(DOING).stem_set
    held = things.intersection(parse(title).stems)
    return bool(things) and len(held) >= LEAST * len(things)
