"""Parts of a question: the words that limit it, the sentences that ask, the sides it compares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from wellread.text.english import POINTED_AT
from wellread.text.english_common import (
    ASKS_FOR,
    ASKS_WHAT,
    ASPECT,
    COMPARING,
    GIVEN_NAME,
    HOW_MANY,
    INSIDE_A_NAME,
    OPENING_A_SENTENCE,
    SAYS_WHAT,
    SIDE_LEADING,
    SIDE_TRAILING,
    SIDES,
    UNITS_ASKED,
)
from wellread.text.english_questions import (
    ANOTHER_QUESTION,
    ASKING_ON,
    OPENS_A_QUESTION,
    PRESENTED,
    PRONOUNS,
    STANDS_FOR,
)
from wellread.text.names import is_acronym
from wellread.text.parsed import parse
from wellread.types import Filters, Kind, Span
from wellread.values.question import Constraint, ConstraintKind, NamedEntity

_DANGLING = re.compile(r"\s+([,;:?.!])")
_REPEATED = re.compile(r"([,;:])\s*(?=[,;:?.!])")
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'”’)]*(?=\s+[\"“(]?[A-Z])|$)", re.DOTALL)
_PARTS = re.compile(
    rf"(?:[,;]?\s+and\s+(?=(?:also\s+)?(?:{'|'.join(ASKING_ON)})\b)|\?\s+)", re.IGNORECASE
)
_ELLIPTIC = 1  # topic words of a question that leaves out what it is about: "how much dearer?"
MOST_QUESTIONS = 3  # that are answered one by one
_EDGE = re.compile(r"^[\s,;:.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A constraint; ``cut`` are the words that do not belong to what is searched for."""

    constraint: Constraint
    cut: Span | None


def limit(
    kind: ConstraintKind, span: Span, value: str, filters: Filters, cut: Span | None = None
) -> Limit:
    """A limit whose own words are cut, unless ``cut`` says which are."""
    constraint = Constraint(kind=kind, span=span, value=value, filters=filters)
    return Limit(constraint=constraint, cut=cut if cut is not None else span)


def asked_part(text: str) -> tuple[Span, ...]:
    """The sentences that ask, where others tell ("I moved here in 2019. What ...?"); else all."""
    spans = [
        Span(start=match.start(), end=match.end())
        for match in _SENTENCE.finditer(text)
        if match.group().strip()
    ]
    asking = tuple(span for span in spans if span.of(text).rstrip(" \"'”’)").endswith("?"))
    return asking or (Span(start=0, end=len(text)),)


def parts_of(question: str) -> list[str]:
    """The questions that are asked in one."""
    parts = [part.strip(" ?.,;") for part in _PARTS.split(question)]
    return [part for part in parts if parse(part).stems]


def questions_in(text: str) -> tuple[str, ...]:
    """The questions that ``text`` consists of; the whole of it where a part could not stand alone.

    "How and why" is one question, and so is "and why?" behind another one.
    """
    parts = [part.strip(" ,;?") for part in ANOTHER_QUESTION.split(text)]
    own = [parse(part).topic_stems if parse(part).terms else () for part in parts]
    several = 1 < len(parts) <= MOST_QUESTIONS and all(own)
    if several and all(map(OPENS_A_QUESTION.match, parts)):
        return tuple(f"{part[:1].upper()}{part[1:]}?" for part in parts)
    return (text,)


def goes_on(part: str, before: str) -> bool:
    """Whether ``part`` speaks of the things of the question ``before`` it and of no own ones.

    "And how much slower do letters travel?" behind a question about letters, not "who owns the
    ferry?".
    """
    read = parse(part)
    own = any(phrase.definite for phrase in read.phrases)
    points = any(PRONOUNS.get(token.plain) in ("it", "they") for token in read.tokens)
    points = points or re.search(POINTED_AT, part, re.IGNORECASE) is not None
    points = points or not (read.phrases or read.names or len(read.topic_stems) > _ELLIPTIC)
    return not own and (points or not read.stem_set.isdisjoint(parse(before).stem_set))


def without(text: str, cuts: Sequence[Span]) -> str:
    """``text`` without the cut words and what they leave behind."""
    kept, place = [], 0
    for cut in sorted(cuts, key=lambda span: span.start):
        if cut.end > place:
            kept.append(text[place : max(place, cut.start)])
            place = cut.end
    rest = " ".join(" ".join([*kept, text[place:]]).split())
    return _EDGE.sub("", _REPEATED.sub("", _DANGLING.sub(r"\1", rest)))


LONGEST = 1_000  # characters of a question that are looked at
_MOST = 8  # words of a side
_ENDING = re.compile(r"[\s?.!,;:]+$")


def sides_of(text: str, entities: Sequence[NamedEntity] = ()) -> tuple[str, ...]:
    """What each of the two sides is called; empty when they cannot be told apart."""
    for pattern in SIDES:
        match = pattern.search(text[:LONGEST])
        if match is None:
            continue
        sides = (_without_aspect(_trimmed(match["one"]), match), _trimmed(match["other"]))
        if all(sides) and sides[0].casefold() != sides[1].casefold():
            return sides
    spans = list(dict.fromkeys((one.span.start, one.span.end) for one in entities))
    if len(spans) == 2:
        return tuple(text[start:end] for start, end in spans)
    return ()


def _without_aspect(side: str, match: re.Match[str]) -> str:
    """The first side, where only it is led by what is asked of both ("the size of A and B")."""
    aspect = ASPECT.match(side)
    alone = aspect is not None and " of " not in match["other"]
    return aspect["side"] if aspect and alone and match.re.pattern.startswith(COMPARING) else side


def _trimmed(side: str) -> str:
    """A side without articles before it and without what is asked about it behind."""
    side = _ENDING.sub("", side)
    shorter = SIDE_TRAILING.sub("", side)
    side = shorter if shorter.strip() else side
    while SIDE_LEADING.match(side):
        side = SIDE_LEADING.sub("", side, count=1)
    return side.strip() if len(side.split()) <= _MOST else ""


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
