"""What a sentence gives as an answer - a value, a number of things, a cause - to be compared.

Two causes of one thing need not exclude each other (a storm felled a tree, a tree cut the line), so
reports that blame different things disagree only where one sets its account against another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import Expected
from wellread.ask.write.candidate_sentences import Option
from wellread.ask.write.source_subjects import (
    Report,
    about,
    date_stems,
    named_stems,
    reports_of,
    same_event,
)
from wellread.text.english import (
    ASKING_WHY,
    CAUSES,
    FAILURES,
    MONTHS,
    OTHER_ACCOUNTS,
    WEEKDAYS,
)
from wellread.text.english_types import TIMES
from wellread.text.parsed import parse
from wellread.text.words import stem

NEAR = 7  # words between a number and what is asked for
NEXT_TO = 2  # words after a number, among which what it counts stands
LASTING = re.compile(r"\bhow long\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_DATE_WORDS = re.compile(
    rf"\b(?:{'|'.join((*MONTHS, *WEEKDAYS))})\b|\b\d{{1,2}}[:.]\d{{2}}\b|\b\d{{1,2}}\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:['’-][^\W\d_]+)*")
PARALLEL = 0.72  # share of words in common and in order, from which two sentences say one thing
LONGEST_SWAP = 5  # words that stand in one of them in place of others
LEAST_CAUSE = 2  # of the weight of the words for causes in a sentence that gives a cause
MOST_SHARED = 0.4  # of the words of two sentences that give different causes

_BECAUSE = re.compile(rf"\b(?:{'|'.join(CAUSES)})\b", re.IGNORECASE)
_FAILING = re.compile(rf"\b(?:{'|'.join(FAILURES)})\b", re.IGNORECASE)
_ASIDE = re.compile(rf"\b(?:{'|'.join(OTHER_ACCOUNTS)})\b", re.IGNORECASE)
# Words with which a cause is asked for, and verbs that say nothing of what happened.
_ASKING = frozenset(map(stem, ASKING_WHY))


def values(kind: Expected, sentence: str, question: str) -> frozenset[str]:
    """The numbers, dates or names of ``sentence`` that could answer ``question``."""
    if kind == "date":
        years = frozenset(_YEAR.findall(sentence)) - frozenset(_YEAR.findall(question))
        if years:
            return years
        return frozenset(each.lower() for each in _DATE_WORDS.findall(sentence))
    if kind == "number":
        return _measured(sentence, question)
    asked = question.lower()
    return frozenset(name.lower() for name in parse(sentence).names if name.lower() not in asked)


def comparable(kind: Expected, one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of values could answer the same question differently.

    A year and "the second Saturday" do not, nor do two weekdays: things recur on those.
    """
    if not one or not other:
        return False
    if kind != "date":
        return True
    years = [all(_YEAR.fullmatch(value) for value in values) for values in (one, other)]
    if any(years):
        return all(years)
    return all(any(value in MONTHS for value in values) for values in (one, other))


def counts(sentence: str, question: str) -> frozenset[str]:
    """How many of what ``question`` asks to count ``sentence`` says there are ("240 homes")."""
    wanted = _counted(question)
    if not wanted:
        return frozenset()
    tokens = _TOKEN.findall(sentence)
    stems = [stem(token) for token in tokens]
    found: set[str] = set()
    for place, token in enumerate(tokens):
        numbers = parse(token).numbers
        unit = next((one for one in stems[place + 1 : place + 1 + NEXT_TO] if one in wanted), "")
        if numbers and unit:
            found |= {f"{number} {unit}" for number in numbers}
    return frozenset(found)


def counts_things(question: str) -> bool:
    """Whether the question asks how many of something there are, not how long a thing lasted."""
    return bool(_counted(question)) and LASTING.search(question) is None


def other_years(sentence: str, question: str, published: datetime | None) -> frozenset[str]:
    """The years that a sentence names, but for its document's own and those of the question."""
    own = {str(published.year)} if published else set()
    return frozenset({*_YEAR.findall(sentence)} - {*_YEAR.findall(question)} - own)


def _counted(question: str) -> frozenset[str]:
    """The stem of the noun that is counted; of all units of time for "how long"."""
    if LASTING.search(question):
        return frozenset(stem(unit) for unit in TIMES)
    asked = re.search(r"\bhow (?:many|much) ([^\W\d_]+)", question, re.IGNORECASE)
    return frozenset({stem(asked.group(1))}) if asked else frozenset()


def _measured(sentence: str, question: str) -> frozenset[str]:
    """The numbers that stand near a term of the question; years count only by themselves."""
    asked = parse(question).stem_set
    known = parse(question).numbers
    tokens = _TOKEN.findall(sentence)
    near = [place for place, token in enumerate(tokens) if stem(token) in asked]
    found: set[str] = set()
    for place, token in enumerate(tokens):
        if not token[0].isdigit() or _YEAR.fullmatch(token):
            continue
        if any(abs(place - other) <= NEAR for other in near):
            found |= parse(token).numbers - known
    return frozenset(found)


def swapped(one: str, other: str) -> tuple[str, str] | None:
    """What differs between two sentences that are otherwise the same, as written in each.

    None when they are the same, or differ by more than a value.
    """
    if other < one:  # a diff depends on which side it starts from
        back = swapped(other, one)
        return (back[1], back[0]) if back else None
    first, second = _TOKEN.findall(one), _TOKEN.findall(other)
    if min(len(first), len(second)) < 5:
        return None
    matcher = SequenceMatcher(
        None, [word.lower() for word in first], [word.lower() for word in second], autojunk=False
    )
    if matcher.real_quick_ratio() < PARALLEL or matcher.ratio() < PARALLEL:
        return None
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "replace" or b - a > LONGEST_SWAP or d - c > LONGEST_SWAP:
            continue
        before, after = " ".join(first[a:b]), " ".join(second[c:d])
        if _telling(before) and _telling(after) and not _same_stems(before, after):
            return before, after
    return None


def _telling(text: str) -> bool:
    """A number or a name: what facts are swapped by, and paraphrases are not."""
    return any(part[0].isdigit() or part[0].isupper() for part in text.split()) or bool(
        parse(text).numbers
    )


def _same_stems(one: str, other: str) -> bool:
    a, b = set(parse(one).stems), set(parse(other).stems)
    return not a or not b or a <= b or b <= a


def opposed(one: str, other: str) -> bool:
    """Whether of two sentences with nearly the same words one is negated."""
    a, b = parse(one).stem_set, parse(other).stem_set
    if len(a) < 4 or len(b) < 4 or len(a & b) / len(a | b) < PARALLEL:
        return False
    return parse(one).negations % 2 != parse(other).negations % 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """The sentence by which a document gives the cause; ``aside``: against another account."""

    option: Option
    report: Report
    aside: bool


def causes(
    question: str, evidence: Sequence[Evidence], options: Sequence[Option]
) -> list[list[Option]]:
    """A sentence each of reports that give the event of ``question`` other causes; else none."""
    accounts = _accounts(evidence, options)
    for number, one in enumerate(accounts):
        for other in accounts[number + 1 :]:
            if (
                (one.aside or other.aside)
                and same_event(one.report, other.report)
                and about(question, one.report, other.report)
                and _asks_for_event(question, one.report, other.report)
                and _shared(one.option, other.option) <= MOST_SHARED
            ):
                return [[one.option], [other.option]]
    return []


def _accounts(evidence: Sequence[Evidence], options: Sequence[Option]) -> list[_Account]:
    """What each report gives as the cause, in the order of the evidence."""
    reports = reports_of(evidence)
    by_document: dict[str, list[Option]] = {}
    for option in options:
        by_document.setdefault(evidence[option.evidence].hit.document.id, []).append(option)
    found = []
    for held in by_document.values():
        report = reports[held[0].evidence]
        telling = [option for option in held if option.readable and _weight(option) >= LEAST_CAUSE]
        if report is None or not telling:
            continue
        best = max(telling, key=_weight)
        near = {(best.evidence, best.place + step) for step in (-1, 0, 1)}
        aside = any(
            _ASIDE.search(option.text) for option in held if (option.evidence, option.place) in near
        )
        found.append(_Account(option=best, report=report, aside=aside))
    return found


def _weight(option: Option) -> int:
    """How plainly a sentence gives a cause."""
    return 2 * len(_BECAUSE.findall(option.text)) + len(_FAILING.findall(option.text))


def _asks_for_event(question: str, one: Report, other: Report) -> bool:
    """Whether the question asks for the event itself, and not for something about it.

    What it says beside day and names has to be what a report begins with, or one word for it all
    ("the outage of 14 October").
    """
    known = named_stems(question) | date_stems(question) | _ASKING
    rest = parse(question).stem_set - known
    return len(rest) <= 1 or rest <= (one.lead | other.lead)


def _shared(one: Option, other: Option) -> float:
    return len(one.stems & other.stems) / (min(len(one.stems), len(other.stems)) or 1)
