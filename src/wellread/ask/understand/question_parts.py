"""Splits a question into parts: limits, asking sentences, compared sides, expected answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from wellread.text.english import (
    ANOTHER_QUESTION,
    ASKING_ON,
    ASKS_FOR,
    ASKS_WHAT,
    ASPECT,
    COMPARING,
    GIVEN_NAME,
    HOW_MANY,
    INSIDE_A_NAME,
    OPENING_A_SENTENCE,
    OPENS_A_QUESTION,
    POINTED_AT,
    PRESENTED,
    PRONOUNS,
    SAYS_WHAT,
    SIDE_LEADING,
    SIDE_TRAILING,
    SIDES,
    STANDS_FOR,
    UNITS_ASKED,
)
from wellread.text.languages import WORD
from wellread.text.parsed import parse
from wellread.text.tokens import is_acronym
from wellread.types import Filters, Kind, Span
from wellread.values.question import Constraint, ConstraintKind, NamedEntity

_DANGLING = re.compile(r"\s+([,;:?.!])")
_REPEATED = re.compile(r"([,;:])\s*(?=[,;:?.!])")
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"'”’)]*(?=\s+[\"“(]?[A-Z])|$)", re.DOTALL)
_PARTS = re.compile(
    rf"(?:[,;]?\s+and\s+(?=(?:also\s+)?(?:{'|'.join(ASKING_ON)})\b)|\?\s+)", re.IGNORECASE
)
_ELLIPTIC = 1  # topic words; a question with no more lacks its topic: "how much dearer?"
MAX_QUESTIONS = 3  # in one text; more are answered as one
_LEADING_PUNCTUATION = re.compile(r"^[\s,;:.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A constraint; ``cut`` is the span that is removed from the search text."""

    constraint: Constraint
    cut: Span | None


def limit(
    kind: ConstraintKind, span: Span, value: str, filters: Filters, cut: Span | None = None
) -> Limit:
    """Build a limit; ``cut`` defaults to ``span``."""
    constraint = Constraint(kind=kind, span=span, value=value, filters=filters)
    return Limit(constraint=constraint, cut=cut if cut is not None else span)


def asking_sentences(text: str) -> tuple[Span, ...]:
    """The sentences that end in "?" ("I moved here in 2019. What ...?"), else the whole text."""
    spans = [
        Span(start=match.start(), end=match.end())
        for match in _SENTENCE.finditer(text)
        if match.group().strip()
    ]
    asking = tuple(span for span in spans if span.of(text).rstrip(" \"'”’)").endswith("?"))
    return asking or (Span(start=0, end=len(text)),)


def parts_of(question: str) -> list[str]:
    """The parts of a question that "and" or "?" separates, even if they leave words out."""
    parts = [part.strip(" ?.,;") for part in _PARTS.split(question)]
    return [part for part in parts if parse(part).stems]


def split_questions(text: str) -> tuple[str, ...]:
    """Split ``text`` into questions; return it as one if a part would not be complete.

    "How and why" stays one question, and so does a question followed by "and why?".
    """
    parts = [part.strip(" ,;?") for part in ANOTHER_QUESTION.split(text)]
    topics = [parse(part).topic_stems if parse(part).terms else () for part in parts]
    splits = 1 < len(parts) <= MAX_QUESTIONS and all(topics)
    if splits and all(map(OPENS_A_QUESTION.match, parts)):
        return tuple(f"{part[:1].upper()}{part[1:]}?" for part in parts)
    return (text,)


def depends_on_previous(part: str, previous: str) -> bool:
    """Whether ``part`` depends on the preceding question ``previous`` for what it refers to.

    True for "And how much slower do letters travel?" after a question about letters; false for
    "who owns the ferry?".
    """
    parsed = parse(part)
    is_definite = any(phrase.definite for phrase in parsed.phrases)
    depends = any(PRONOUNS.get(token.plain) in ("it", "they") for token in parsed.tokens)
    depends = depends or re.search(POINTED_AT, part, re.IGNORECASE) is not None
    depends = depends or not (parsed.phrases or parsed.names or len(parsed.topic_stems) > _ELLIPTIC)
    return not is_definite and (depends or not parsed.stem_set.isdisjoint(parse(previous).stem_set))


def remove_spans(text: str, cuts: Sequence[Span]) -> str:
    """``text`` without the spans ``cuts``, with the punctuation around them tidied."""
    pieces, position = [], 0
    for cut in sorted(cuts, key=lambda span: span.start):
        if cut.end > position:
            pieces.append(text[position : max(position, cut.start)])
            position = cut.end
    joined = " ".join(" ".join([*pieces, text[position:]]).split())
    return _LEADING_PUNCTUATION.sub("", _REPEATED.sub("", _DANGLING.sub(r"\1", joined)))


MAX_COMPARED_CHARS = 1_000  # characters searched for compared sides
_MAX_SIDE_WORDS = 8
_TRAILING_PUNCTUATION = re.compile(r"[\s?.!,;:]+$")


def sides_of(text: str, entities: Sequence[NamedEntity] = ()) -> tuple[str, ...]:
    """The names of the two compared sides; empty when they cannot be separated."""
    for pattern in SIDES:
        match = pattern.search(text[:MAX_COMPARED_CHARS])
        if match is None:
            continue
        sides = (_drop_aspect(_trim_side(match["one"]), match), _trim_side(match["other"]))
        if all(sides) and sides[0].casefold() != sides[1].casefold():
            return sides
    spans = list(dict.fromkeys((entity.span.start, entity.span.end) for entity in entities))
    if len(spans) == 2:
        return tuple(text[start:end] for start, end in spans)
    return ()


def _drop_aspect(side: str, match: re.Match[str]) -> str:
    """Drop the shared aspect from the first side ("the size of A and B")."""
    aspect = ASPECT.match(side)
    shared = aspect is not None and " of " not in match["other"]
    return aspect["side"] if aspect and shared and match.re.pattern.startswith(COMPARING) else side


def _trim_side(side: str) -> str:
    """Remove leading articles from a side, and trailing words that say what is asked about it."""
    side = _TRAILING_PUNCTUATION.sub("", side)
    without_tail = SIDE_TRAILING.sub("", side)
    side = without_tail if without_tail.strip() else side
    while SIDE_LEADING.match(side):
        side = SIDE_LEADING.sub("", side, count=1)
    return side.strip() if len(side.split()) <= _MAX_SIDE_WORDS else ""


AnswerKind = Literal["person", "date", "number", "place", "reason", "way", "definition", "other"]

WRITTEN_KINDS: tuple[Kind, ...] = ("article", "page", "paper", "entity")  # kinds without speakers
_AS_LETTER = {"2": "t", "4": "f"}


def expected_answer(question: str) -> AnswerKind:
    """The kind of answer that ``question`` expects: the first that its words ask for.

    "Why must nobody say whom they prefer?" asks for a reason.
    """
    kinds: tuple[AnswerKind, ...] = get_args(AnswerKind)
    matches = {kind: ASKS_FOR[kind].search(question) for kind in kinds[:-1]}
    positions = {
        kind: match.start() for kind, match in matches.items() if match and kind != "definition"
    }
    if positions:
        return min(positions, key=lambda kind: positions[kind])
    return "definition" if matches["definition"] else "other"


def term_to_define(question: str) -> str:
    """The term that ``question`` asks to have defined; empty when it asks for no definition."""
    match = ASKS_WHAT.search(question)
    return match["what"].strip() if match else ""


def defines(question: str, sentence: str) -> bool:
    """Whether ``sentence`` defines the term that ``question`` asks about.

    For an acronym: whether it spells out the words that the letters stand for.
    """
    match = STANDS_FOR.search(question)
    if match is not None and is_acronym(match["short"]):
        return spells_out(match["short"], sentence)
    subject = term_to_define(question)
    return bool(subject) and is_definition_of(subject, sentence)


def is_definition_of(subject: str, sentence: str) -> bool:
    """Whether ``sentence`` defines ``subject``."""
    name = r"\W+".join(re.escape(word) for word in parse(subject).words).removesuffix("s")
    if not name:
        return False
    letters = subject.strip("\"'“”‘’?!. ")
    if is_acronym(letters) and f"({letters})" in sentence and spells_out(letters, sentence):
        return True
    form = rf"(?:{name}s?(?:\s*\([^)]*\))?|[^.,;:()]{{1,60}}\({name}s?\))"
    first = rf"^\W*{OPENING_A_SENTENCE}(?:(?:the|an?)\s+)?{form}(?:,[^,]{{1,60}},)?\s+{SAYS_WHAT}"
    apposition = rf"{PRESENTED}{form},\s+an?\s"
    naming = rf"\b(?:an?|the)\s+[^.,;:()]{{3,80}}?\s{GIVEN_NAME}\s+[\"“'‘]?(?:the\s+)?{name}\b"
    return re.search(rf"{first}|{apposition}|{naming}", sentence, re.IGNORECASE) is not None


def spells_out(acronym: str, text: str) -> bool:
    """Whether consecutive words in ``text`` begin with the letters of ``acronym``.

    Small words among them ("of the") may be skipped. 2 and 4 are read as words ("P2P").
    """
    letters = "".join(_AS_LETTER.get(char, char) for char in acronym.casefold() if char.isalnum())
    words = [word.casefold() for word in WORD.findall(text)]
    long_words = [word for word in words if word not in INSIDE_A_NAME]
    initials = ("".join(word[0] for word in candidates) for candidates in (words, long_words))
    return len(letters) > 1 and any(letters in first_letters for first_letters in initials)


def asks_amount(question: str) -> bool:
    """Whether ``question``, or a part of it, asks how much or how long something is."""
    match = ASKS_FOR["number"].search(question)
    return bool(match and match.group().lower().startswith("how")) and not HOW_MANY.search(question)


def units_asked(question: str) -> frozenset[str]:
    """The units of the amount that ``question`` asks for; empty when unknown."""
    return next((units for form, units in UNITS_ASKED if form.search(question)), frozenset())
