"""What a question takes for granted and the sources that the answer cites say otherwise.

Rules, no model, and rather silent than wrong: a cited sentence must hold nearly everything else
that the question says, all its names among them, before it may contradict the question in one
point: a year, a month, a number of something, who holds an office, or whether it happened at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wellread.answers import Citation
from wellread.text.english import BOUNDS, MONTHS, NUMBER_WORDS, OFFICES, ROUGHLY, STOP_WORDS
from wellread.text.parsed import parse
from wellread.text.words import stem

ALIKE = 0.6  # of the question's other content words that the cited sentence must hold
ALIKE_DENIED = 0.75  # the same where the whole event is denied
AROUND = 7  # words on each side of a date; among them both must have one in common

_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b(?!\s*(?:[-–]|to\b|and\b|or\b))")
# A year that says when something happened, and is no part of a name ("Idol 2018").
_IN_YEAR = re.compile(rf"(?:\b(?:in|of|{'|'.join(MONTHS)}),?\s+){_YEAR.pattern}", re.IGNORECASE)
_MONTH = re.compile(rf"\b(?:in|on|of|each|every|\d{{1,2}})\s+({'|'.join(MONTHS)})\b", re.IGNORECASE)
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|how old|(?:what|which) (?:year|month|date|day)|since|until|between)\b",
    re.IGNORECASE,
)
_COUNT_WORDS = [word for word in NUMBER_WORDS if word not in ("zero", "one", "twice")]
_COUNT_WORDS = [word for word in _COUNT_WORDS if word not in ("first", "second", "third")]
_COUNT = re.compile(
    rf"(?<![\w.,$€£-])(\d[\d,]*(?:\.\d+)?|(?:{'|'.join(_COUNT_WORDS)})(?:-(?:{'|'.join(_COUNT_WORDS)}))?)"
    r"(?:\s+(hundred|thousand|million|billion))?[\s-]+(per cent|percent|[a-z]{3,})"
    r"(?:\s+([a-z]{3,}))?",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|far|old|large|big|high|fast|warm)\b", re.I)
_BOUNDED = re.compile(rf"(?:{'|'.join((*ROUGHLY, *BOUNDS))})\s*$", re.IGNORECASE)
_OFFICES = "|".join(OFFICES)
_PERSON = r"[A-Z][\w’'-]+(?:\s+[A-Z][\w’'-]+)+"
_OFFICE = (
    re.compile(rf"\b(?P<office>(?i:{_OFFICES}))\s+(?P<person>{_PERSON})"),
    re.compile(rf"(?P<person>{_PERSON}),?\s+(?:is|was|as)?\s*the\s+(?P<office>(?i:{_OFFICES}))\b"),
)
_NOT = re.compile(r"\b(?:not|never|no|none)\b(?!-)|n['’]t\b", re.IGNORECASE)
_HAPPENED = re.compile(
    r"^\s*(?:and\s+|so\s+|but\s+)?(?:why|how come|how)\s+(?:did|was|were)\b", re.I
)
_DENIED = re.compile(
    r"\b(?:not|never|n't|refused to|declined to|no longer)\s+(?:yet\s+|be\s+|been\s+|to\s+)?"
    r"([a-z]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contradiction:
    """What the question says and what the source says instead."""

    asked: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """A number of something: as written, its value, the two words after it, the text before."""

    number: str
    value: str
    nouns: tuple[str, ...]
    before: str

    @property
    def things(self) -> tuple[str, ...]:
        return tuple(stem(noun) for noun in self.nouns)

    def shown(self, *, whole: bool) -> str:
        return " ".join([self.number, *(self.nouns if whole else self.nouns[:1])])


def premises(question: str, citations: Sequence[Citation]) -> tuple[str, ...]:
    """What ``question`` takes for granted and a cited sentence contradicts, in words.

    Each ends with the number of the citation that says otherwise.
    """
    if _denies(question):
        return ()
    quotes = " ".join(citation.quote for citation in citations)
    found: dict[str, str] = {}
    for citation in citations:
        for rule in (_other_year, _other_month, _other_number, _other_holder):
            for one in rule(question, citation):
                if not _holds(quotes, one.asked):
                    text = f"The question says {one.asked}; the source says {one.told}"
                    found.setdefault(one.asked, f"{text} [{citation.id}].")
        if _did_not(question, citation):
            said = " ".join(citation.quote.split())
            text = f"The question takes for granted what the source denies: “{said}”"
            found.setdefault("", f"{text} [{citation.id}].")
    return tuple(found.values())


def _other_year(question: str, citation: Citation) -> Iterator[_Contradiction]:
    yield from _other_time(question, citation, (_IN_YEAR, _YEAR), str)


def _other_month(question: str, citation: Citation) -> Iterator[_Contradiction]:
    yield from _other_time(question, citation, (_MONTH, _MONTH), str.capitalize)


def _other_time(
    question: str,
    citation: Citation,
    patterns: tuple[re.Pattern[str], re.Pattern[str]],
    shown: Callable[[str], str],
) -> Iterator[_Contradiction]:
    in_question, in_source = patterns
    asked = list(in_question.finditer(question))
    told = list(in_source.finditer(citation.quote))
    if len(asked) != 1 or len(told) != 1 or _ASKS_WHEN.search(question):
        return
    one, other = shown(asked[0].group(1)), shown(told[0].group(1))
    before = _stems_around(question, asked[0])
    around = _stems_around(citation.quote, told[0])
    if one != other and before & around and _alike(question, citation, {one.lower()}, ALIKE):
        yield _Contradiction(asked=one, told=other)


def _other_number(question: str, citation: Citation) -> Iterator[_Contradiction]:
    told = list(_counts(citation.quote))
    if _ASKS_NUMBER.search(question):
        return
    for one in _counts(question):
        if _BOUNDED.search(one.before):
            continue
        same = [other for other in told if other.things[0] == one.things[0]] or [
            other for other in told if set(other.things) & set(one.things)
        ]
        if len(same) != 1 or same[0].value == one.value or _BOUNDED.search(same[0].before):
            continue
        number = set(parse(one.number).stems) - set(one.things)
        if _alike(question, citation, number, ALIKE):
            whole = one.things == same[0].things
            yield _Contradiction(asked=one.shown(whole=whole), told=same[0].shown(whole=whole))


def _counts(text: str) -> Iterator[_Count]:
    for found in _COUNT.finditer(text):
        number, scale, first, second = found.groups()
        if first.lower() in STOP_WORDS or first.lower() in MONTHS or parse(first).numbers:
            continue
        known = sorted(parse(number).numbers) or [number.lower()]
        second = "" if not second or second.lower() in STOP_WORDS else second
        yield _Count(
            number=f"{number} {scale}" if scale else number,
            value=" ".join([*known, (scale or "").lower()]),
            nouns=(first, second) if second else (first,),
            before=text[: found.start()],
        )


def _other_holder(question: str, citation: Citation) -> Iterator[_Contradiction]:
    told = [found for pattern in _OFFICE for found in pattern.finditer(citation.quote)]
    for found in (found for pattern in _OFFICE for found in pattern.finditer(question)):
        office, person = found["office"].lower(), found["person"]
        same = [one for one in told if one["office"].lower() == office]
        if len(same) != 1 or set(person.split()) & set(same[0]["person"].split()):
            continue
        if _alike(question, citation, set(parse(person).stems), ALIKE):
            yield _Contradiction(asked=f"{office} {person}", told=f"{office} {same[0]['person']}")


def _did_not(question: str, citation: Citation) -> bool:
    """Whether the sentence says that what the question asks the reason of did not happen."""
    if not _HAPPENED.search(question):
        return False
    asked = parse(question).stem_set
    denied = [stem(found.group(1)) for found in _DENIED.finditer(citation.quote)]
    return any(verb in asked for verb in denied) and _alike(question, citation, set(), ALIKE_DENIED)


def _denies(question: str) -> bool:
    return _NOT.search(question) is not None


def _alike(question: str, citation: Citation, but: set[str], share: float) -> bool:
    """Whether the cited sentence is about the same: most words, and every name of the question."""
    held = parse(f"{citation.title} {citation.quote}").stem_set
    asked = parse(question).stem_set - but
    named = {
        stem for name in parse(question).names for stem in parse(name).stems if stem not in but
    }
    return bool(asked) and named <= held and len(asked & held) >= share * len(asked)


def _stems_around(text: str, found: re.Match[str]) -> frozenset[str]:
    """The content stems of the words next to a date, other dates aside."""
    near = parse(text[: found.start()]).words[-AROUND:] + parse(text[found.end() :]).words[:AROUND]
    months = {stem(month) for month in MONTHS}
    stems = parse(" ".join(near)).stem_set
    return frozenset(stem for stem in stems - months if not stem.isdigit())


def _holds(text: str, asked: str) -> bool:
    return re.search(rf"\b{re.escape(asked)}\b", text, re.IGNORECASE) is not None
