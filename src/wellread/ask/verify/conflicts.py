"""Finds where two documents answer one question differently.

Two sentences are at odds when

- they are the same but for a number or a name, or one of them is negated;
- both speak of what the question names, and give another date, person or amount for it.

They have to speak of one thing and one time: what is numbered ("Article 9", "Room 1.12", "version
3.1"), what is of another month, quarter or year, and what is told of two bearers of one name does
not differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import SequenceMatcher

from wellread.ask.understand.question_parts import Expected, expected_of, units_asked
from wellread.ask.write.extract_score import tells, told_in
from wellread.text.english import (
    AUXILIARIES,
    BE,
    MONTHS,
    PREPOSITIONS,
    STOP_WORDS,
    WEEKDAYS,
)
from wellread.text.english_common import TIMES
from wellread.text.english_questions import ORDINALS
from wellread.text.parsed import parse
from wellread.text.words import stem
from wellread.types import Span
from wellread.values.answers import Conflict, Evidence, Sentence, View
from wellread.values.question import Analysis

MOST_VIEWS = 5
ON_TOPIC = 0.3  # of the question's words, that a sentence has which repeats another but for a value
DIRECT = 0.6  # of what is asked about the names, that a sentence has whose value counts
AMOUNTS = 2.0  # times: accounts of one amount in other words differ by less
PARALLEL = 0.72  # share of words in common and in order, from which two sentences say one thing
LONGEST_SWAP = 5  # words that stand in one of them in place of others
NEXT_TO = 2  # words after a number, among which what it counts stands
LONG = 18  # words of a sentence that tells of other dates and people, too
OPENING = 160  # characters of a passage within which it says what it is about
TOGETHER = timedelta(days=14)  # between two reports of what is counted in other words

_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_LASTING = re.compile(r"\bhow long\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|much) (?P<noun>[^\W\d_]+)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?P<what>[^\W\d_]+\.?|#)\s*(?P<code>[A-Z]?\d+(?:[.,]\d+)*[A-Z]?|[A-HJ-Z])(?![\w%'’])(?P<after>\W*\w*)"
)
_DAY = re.compile(rf"\b\d{{1,2}}\s+(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_OPEN = frozenset(STOP_WORDS) | PREPOSITIONS | BE | AUXILIARIES
_MONTHS, _WEEKDAYS = frozenset(MONTHS), frozenset(WEEKDAYS)
_TIMES = _MONTHS | _WEEKDAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence: the number of its piece of evidence, its span of the document, its text."""

    evidence: int
    span: Span
    text: str

    @property
    def stems(self) -> frozenset[str]:
        """Its words as stems."""
        return parse(self.text).stem_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Documents that answer differently: sentences that agree stand together, best first."""

    about: str
    views: tuple[tuple[Statement, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """A sentence, and what it says of the question.

    Attributes:
        focus: share of what is asked about the names that it has.
        values: dates, names or amounts of the kind that is asked for.
        numbered: the numbered things and places in an order that it speaks of.
        rest: its numbers that are none of ``values``.
        times: the months and weekdays that it names.
    """

    statement: Statement
    piece: Evidence
    focus: float
    topic: float
    values: frozenset[str]
    numbered: frozenset[str]
    rest: frozenset[str]
    bearer: str
    times: frozenset[str]

    @property
    def document(self) -> str:
        return self.piece.hit.document.id


def disagreement(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    statements: Sequence[Statement],
) -> Disagreement | None:
    """What the evidence disagrees on; None when it speaks with one voice or none can tell."""
    kind = expected_of(analysis.question)
    sides = list(_sides(analysis, evidence, statements, kind))
    sides.sort(key=lambda one: (-one.focus, one.statement.evidence, one.statement.span.start))
    for number, first in enumerate(sides):
        views, seen = [[first]], {first.document}
        for other in sides[number + 1 :]:
            if other.document in seen:
                continue
            if all(_at_odds(view[0], other, kind, analysis.question) for view in views):
                views.append([other])
                seen.add(other.document)
            elif fitting := [view for view in views if view[0].values & other.values]:
                fitting[0].append(other)
                seen.add(other.document)
        if len(views) > 1:
            told = tuple(tuple(one.statement for one in view[:2]) for view in views[:MOST_VIEWS])
            return Disagreement(about=analysis.question, views=told)
    return None


def _sides(
    analysis: Analysis,
    evidence: Sequence[Evidence],
    statements: Sequence[Statement],
    kind: Expected,
) -> Iterator[_Side]:
    question = analysis.question
    asked = parse(question).stem_set or frozenset([""])
    named = [name for name in analysis.names if not name[:1].isdigit()]
    names = frozenset(each for name in named for each in parse(name).stems)
    matter = (asked - names) or asked
    for statement in statements:
        piece = evidence[statement.evidence]
        above = f"{piece.hit.document.title}\n{piece.text[:OPENING]}"
        stems = statement.stems
        held = stems | parse(above).stem_set
        focus, topic = len(matter & stems) / len(matter), len(asked & held) / len(asked)
        if not names <= held or (topic < ON_TOPIC and not focus):
            continue  # nothing that it says could be at odds with another
        values = values_of(kind, statement.text, question)
        said = {value.partition(" ")[0] for value in values} | parse(question).numbers
        for amount in parse(statement.text).quantities:
            if f"{amount.value:g} {amount.unit}" in values:
                said |= parse(amount.said).numbers
        yield _Side(
            statement=statement,
            piece=piece,
            focus=focus,
            topic=topic,
            values=values,
            numbered=_numbered(statement.text),
            rest=parse(statement.text).numbers - said - {*_YEAR.findall(statement.text)},
            bearer=_bearer(max(named, key=len, default=""), above),
            times=frozenset(map(str.lower, _TOKEN.findall(statement.text))) & _TIMES,
        )


def _bearer(name: str, above: str) -> str:
    """Which bearer of ``name`` a text is about: "Merrow County" of "X, Merrow County is ..."."""
    if not name:
        return ""
    told = re.search(
        rf"\b{re.escape(name)}(?:,\s+([A-Z][^\n,.;]*?)\s+(?:is|was)\b|\s+\((.+?)\))", above
    )
    return next((part for part in told.groups() if part), "") if told else ""


# --- one thing, one time ---------------------------------------------------------------------


def _same_thing(one: _Side, other: _Side, kind: Expected, question: str) -> bool:
    """Whether the two may speak of one thing at one time."""
    if one.numbered != other.numbered or (one.rest and other.rest and one.rest != other.rest):
        return False
    if one.bearer and other.bearer and one.bearer != other.bearer:
        return False
    if _at_other(one, other, _WEEKDAYS):
        return False
    if kind == "date":
        return True
    years = [_years(side, question) for side in (one, other)]
    return years[0] == years[1] and not _at_other(one, other, _MONTHS)


def _at_other(one: _Side, other: _Side, times: frozenset[str]) -> bool:
    """Whether both name some of ``times``, and none in common."""
    mine, theirs = one.times & times, other.times & times
    return bool(mine and theirs) and not mine & theirs


def _years(side: _Side, question: str) -> frozenset[str]:
    """The years that a sentence names, but for its document's own and those of the question."""
    published = side.piece.hit.document.published_at
    own = {str(published.year)} if published else set()
    return frozenset({*_YEAR.findall(side.statement.text)} - {*_YEAR.findall(question)} - own)


def _numbered(text: str) -> frozenset[str]:
    """The numbered things of a text ("article 9", "room b3"), and its words for an order."""
    found = {word for word in map(str.lower, _TOKEN.findall(text)) if word in ORDINALS}
    for match in _NUMBERED.finditer(text):
        what, code, after = match["what"].lower(), match["code"], match["after"]
        follows = after.strip().lower()
        ends = not follows or not after[:1].isspace() or follows in _OPEN
        counts = what in _OPEN | _MONTHS and not what.endswith(".") and what != "no"
        if not counts and not _YEAR.fullmatch(code) and (ends or not code.isdigit()):
            found.add(f"{what} {code.lower()}")
    return frozenset(found)


# --- values ----------------------------------------------------------------------------------


def values_of(kind: Expected, sentence: str, question: str) -> frozenset[str]:
    """The dates, names or amounts ("310 home") of ``sentence`` that could answer ``question``."""
    if kind == "date":
        years = frozenset(_YEAR.findall(sentence)) - frozenset(_YEAR.findall(question))
        words = {word.lower() for word in _TOKEN.findall(sentence)}
        return years or frozenset(words & (_MONTHS | _WEEKDAYS))
    if kind == "number":
        return frozenset(_amounts(sentence, question))
    if kind == "person":
        asked = question.lower()
        return frozenset(one.lower() for one in parse(sentence).names if one.lower() not in asked)
    return frozenset()


def _amounts(sentence: str, question: str) -> Iterator[str]:
    """The amounts in the unit, or of the noun, that is asked for; else of whatever follows them."""
    counted, units = _COUNTED.search(question), units_asked(question)
    noun = stem(counted["noun"]) if counted and counted["noun"].lower() not in _OPEN else ""
    wanted = frozenset(map(stem, TIMES)) if _LASTING.search(question) else frozenset({noun} - {""})
    if not wanted and (known := [one for one in parse(sentence).quantities if one.unit in units]):
        yield from (f"{one.value:g} {one.unit}" for one in known)
        return
    for match in re.finditer(r"(?<![\w.,])(\w[\w.,]*)\s+(?=\w)", sentence):
        numbers = parse(match[1]).numbers
        after = [stem(word) for word in _TOKEN.findall(sentence[match.end() :])[: NEXT_TO + 1]]
        scale = f"{after.pop(0)} " if after and parse(after[0]).numbers else ""
        near = after[:NEXT_TO] if wanted else after[:1]
        unit = next((one for one in near if not wanted or one in wanted), "")
        if len(numbers) == 1 and unit and not _YEAR.fullmatch(match[1]):
            yield f"{next(iter(numbers))} {scale}{unit}"


def _apart(one: _Side, other: _Side) -> float:
    """The larger amount in times of the smaller one; far where units or numbers are unclear."""
    (first,), (second,) = one.values, other.values
    (a, _, unit), (b, _, same) = first.partition(" "), second.partition(" ")
    try:
        small, large = sorted((float(a.replace(",", "")), float(b.replace(",", ""))))
    except ValueError:
        return AMOUNTS
    return large / small if unit == same and small > 0 else AMOUNTS


# --- at odds ---------------------------------------------------------------------------------


def _at_odds(one: _Side, other: _Side, kind: Expected, question: str) -> bool:
    if not _same_thing(one, other, kind, question):
        return False
    first, second = one.statement.text, other.statement.text
    if min(one.topic, other.topic) >= ON_TOPIC:
        # Another number or name in two sentences that are otherwise alike is no other reason.
        told = kind not in ("reason", "way") and swapped(first, second) is not None
        if told or opposed(first, second):
            return True
    single = len(one.values) == len(other.values) == 1 and one.values != other.values
    direct = min(one.focus, other.focus) >= DIRECT
    if not single or kind not in ("date", "number", "person"):
        return False
    if kind != "number":
        short = max(len(text.split()) for text in (first, second)) <= LONG
        return direct and short and _comparable(one.values, other.values)
    units = {value.partition(" ")[2] for value in one.values | other.values}
    near = min(one.focus, other.focus) > 0
    return len(units) == 1 and (direct or (near and _together(one, other)))


def _together(one: _Side, other: _Side) -> bool:
    """Whether two amounts told in other words may be of one thing: near in size and in time.

    Texts say at their beginning of which day they tell.
    """
    told = [side.piece.hit.document.published_at for side in (one, other)]
    days = [{*map(str.lower, _DAY.findall(side.piece.text[:OPENING]))} for side in (one, other)]
    if bool(told[0]) != bool(told[1]) or (all(days) and not days[0] & days[1]):
        return False
    apart = told[0] and told[1] and abs(told[0] - told[1]) > TOGETHER
    return _apart(one, other) < AMOUNTS and not apart


def _comparable(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two values answer one question: a year and a weekday do not, nor two weekdays."""
    sorts = [
        "year" if _YEAR.fullmatch(value) else "month" if value in _MONTHS else "name"
        for value in (*one, *other)
        if value not in _WEEKDAYS
    ]
    return len(sorts) == 2 and sorts[0] == sorts[1]


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


# --- told with their citations -------------------------------------------------------------------

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_RECENT_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def disputed(analysis: Analysis, evidence: Sequence[Evidence]) -> Disagreement | None:
    """What the evidence disagrees on, where the question asks for one thing."""
    if analysis.type not in ("factual", "temporal", "counting"):
        return None
    statements = [
        Statement(evidence=number, span=span.moved(piece.span.start), text=text)
        for number, piece in enumerate(evidence)
        for _, span, text in told_in(piece, analysis.voices)
        if tells(piece.text, span, text) and not text.endswith("?")
    ]
    return disagreement(analysis, evidence, statements)


def stated_of(found: Disagreement | None) -> list[tuple[int, Span]]:
    """The sentences that state the views: the number of the piece and the span of the document."""
    return [(view[0].evidence, view[0].span) for view in found.views] if found else []


def told(found: Disagreement, evidence: Sequence[Evidence]) -> str:
    """The line above the extracts that state the views."""
    why = reason(found, evidence)
    return f"The sources differ{f' ({why})' if why else ''}:\n\n"


def conflict_of(
    found: Disagreement, evidence: Sequence[Evidence], sentences: Sequence[Sentence]
) -> tuple[Conflict, ...]:
    """The views with the citations of the sentences that state them; none where one is left."""
    views = []
    for lead, *_ in found.views:
        key = evidence[lead.evidence].key
        for sentence in sentences:
            source = sentence.verdict.source
            if sentence.verdict.key == key and source and source.overlaps(lead.span):
                views.append(View(text=sentence.text, citations=sentence.citations))
                break
    if len(views) < 2:
        return ()
    return (Conflict(about=found.about, views=tuple(views), reason=reason(found, evidence)),)


def reason(found: Disagreement, evidence: Sequence[Evidence]) -> str:
    """In words; empty when nothing tells."""
    leads = [view[0] for view in found.views]
    return "; ".join(filter(None, (_dates(leads, evidence), _years_told(leads))))


def _dates(leads: Sequence[Statement], evidence: Sequence[Evidence]) -> str:
    dates = [evidence[statement.evidence].hit.document.published_at for statement in leads]
    days = [date.date() for date in dates if date is not None]
    if len(days) < len(leads) or len(set(days)) == 1:
        return ""
    return "the " + ", the ".join(
        f"{ordinal} is of {day:%-d %B %Y}".replace("%-d", str(day.day))
        for ordinal, day in zip(_ORDINALS, days, strict=False)
    )


def _years_told(leads: Sequence[Statement]) -> str:
    years = [sorted(set(_RECENT_YEAR.findall(statement.text))) for statement in leads]
    if not all(len(each) == 1 for each in years) or len({each[0] for each in years}) == 1:
        return ""
    return "they speak of different years: " + ", ".join(each[0] for each in years)
