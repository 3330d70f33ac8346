"""What a question asks for: a person, a date, an amount, what something is, items of a list."""

from __future__ import annotations

import re
from typing import Literal, get_args

from wellread.text.english import NUMBER_WORDS
from wellread.text.english_common import GIVEN_NAME
from wellread.text.english_questions import (
    ASKS_LIST,
    ASKS_LIST_OF,
    LISTING_VERBS,
    NO_PLURALS,
    PLURALS,
    PRESENTED,
    STANDS_FOR,
    STEPS,
)
from wellread.text.english_types import (
    ASKS_FOR,
    ASKS_HOW,
    ASKS_WHAT,
    HOW_MANY,
    INSIDE_A_NAME,
    OPENING_A_SENTENCE,
    SAYS_WHAT,
    UNITS_ASKED,
)
from wellread.text.names import is_acronym, singular
from wellread.text.parsed import parse
from wellread.text.words import stem
from wellread.types import Kind

Expected = Literal["person", "date", "number", "place", "reason", "way", "definition", "other"]

WRITTEN: tuple[Kind, ...] = ("article", "page", "paper", "entity")  # nobody speaks in these
_LETTERS = re.compile(r"[^\W\d_]+")
_SPOKEN = {"2": "t", "4": "f"}


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


def asks_amount(question: str) -> bool:
    """Whether ``question``, or a part of it, asks how much or how long something is."""
    found = ASKS_FOR["number"].search(question)
    return bool(found and found.group().lower().startswith("how")) and not HOW_MANY.search(question)


def units_asked(question: str) -> frozenset[str]:
    """The units of the amount that ``question`` asks for; none where they are not known."""
    return next((units for form, units in UNITS_ASKED if form.search(question)), frozenset())


def asks_how(question: str) -> bool:
    """Whether ``question`` asks for what to do, step by step."""
    return ASKS_HOW.search(question) is not None


# --- the items of a list -------------------------------------------------------------------------


def asked_items(question: str) -> frozenset[str] | None:
    """The words that say which items ``question`` asks for, as stems.

    None when it asks for none, or for what to do, one step after the other.
    """
    match = ASKS_LIST.search(question)
    named = match["what"].split() if match else []
    noun = named[-1].lower() if named else ""
    plural = noun in PLURALS or singular(noun) != ""
    several = len(noun) > 3 and noun not in NO_PLURALS and plural
    if asks_how(question) or (several and stem(noun) in _STEPS):
        return None
    if not (several or ASKS_LIST_OF.search(question)):
        return None
    return frozenset(parse(question).topic_stems) - _LISTING - _NUMBERS or None


_LISTING = parse(" ".join(LISTING_VERBS)).stem_set
_NUMBERS = parse(" ".join(NUMBER_WORDS)).stem_set
_STEPS = parse(" ".join(STEPS)).stem_set
