"""Finds documents that answer a question differently.

Two sentences conflict when

- they are the same except for a number, a name or a negation; or
- both are about the subject of the question, and give different dates, people or amounts for it.

They must be about the same thing at the same time: differently numbered things ("Article 9", "Room
1.12", "version 3.1"), different months, quarters or years, and two people or places with the same
name do not conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import SequenceMatcher

from wellread.ask.understand.question_parts import AnswerKind, expected_answer, units_asked
from wellread.ask.write.extract_score import is_prose, readable_sentences
from wellread.text.english import (
    AUXILIARIES,
    BE,
    MONTHS,
    ORDINALS,
    PREPOSITIONS,
    STOP_WORDS,
    TIMES,
    WEEKDAYS,
)
from wellread.text.languages import in_english
from wellread.text.parsed import parse, stem
from wellread.types import DocumentFacts, Span
from wellread.values.answers import Conflict, Evidence, Sentence, View
from wellread.values.question import Analysis

MAX_VIEWS = 5
MIN_TOPIC_SHARE = 0.3  # of the question's words in sentences that differ in one value
MIN_FOCUS_SHARE = 0.6  # of the question's words except names, in a sentence whose value counts
MAX_AMOUNT_RATIO = 2.0  # amounts closer than this may describe the same thing in other words
MIN_PARALLEL = 0.72  # share of common words in order in two parallel sentences
MAX_SWAPPED_WORDS = 5  # words that may be replaced by others
MAX_NOUN_DISTANCE = 2  # words after a number that may name the things it counts
MAX_SHORT_SENTENCE = 18  # words; longer ones are likely to mention other dates and people too
OPENING = 160  # characters at the start of a passage that show its subject
MAX_REPORT_GAP = timedelta(days=14)  # between two reports of the same event

_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_DURATION = re.compile(r"\bhow long\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|much) (?P<noun>[^\W\d_]+)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?P<what>[^\W\d_]+\.?|#)\s*(?P<code>[A-Z]?\d+(?:[.,]\d+)*[A-Z]?|[A-HJ-Z])(?![\w%'’])(?P<after>\W*\w*)"
)
_DAY = re.compile(rf"\b\d{{1,2}}\s+(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_FUNCTION_WORDS = frozenset(STOP_WORDS) | PREPOSITIONS | BE | AUXILIARIES
_MONTHS, _WEEKDAYS = frozenset(MONTHS), frozenset(WEEKDAYS)
_TIMES = _MONTHS | _WEEKDAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence of the evidence, with what it says about the question.

    Attributes:
        evidence: the index of its piece; ``span``: its place in the document.
        focus: the share of the question's words, except names, that it contains.
        topic: the share of all words of the question that it, its title or opening contains.
        values: its dates, names or amounts that could answer the question.
        numbered: its numbered things and ordinals.
        rest: its numbers that are not in ``values``.
        bearer: words that tell it from others of the same name.
        times: its months and weekdays.
    """

    evidence: int
    span: Span
    text: str
    piece: Evidence
    focus: float
    topic: float
    values: frozenset[str]
    numbered: frozenset[str]
    rest: frozenset[str]
    bearer: str
    times: frozenset[str]

    @property
    def document(self) -> DocumentFacts:
        """The document that contains it."""
        return self.piece.hit.document


def find_dispute(analysis: Analysis, evidence: Sequence[Evidence]) -> tuple[Statement, ...]:
    """One statement of each view if documents answer differently, the best first; else empty.

    Only questions that ask for a single fact have views.
    """
    if analysis.type not in ("factual", "temporal", "counting"):
        return ()
    question = analysis.question
    kind = expected_answer(in_english(question, analysis.language))
    statements = list(_statements(analysis, evidence, kind))
    statements.sort(key=lambda item: (-item.focus, item.evidence, item.span.start))
    for number, first in enumerate(statements):
        views, seen = [first], {first.document.id}
        for other in statements[number + 1 :]:
            if other.document.id in seen:
                continue
            if all(_do_conflict(view, other, kind, question) for view in views):
                views.append(other)
                seen.add(other.document.id)
            elif any(view.values & other.values for view in views):
                seen.add(other.document.id)
        if len(views) > 1:
            return _newest_first(views[:MAX_VIEWS])
    return ()


def _newest_first(views: Sequence[Statement]) -> tuple[Statement, ...]:
    """Sort versions of one text by date, the newest first; other views stay as they are."""
    if not _are_versions(views):
        return tuple(views)
    return tuple(sorted(views, key=lambda view: str(view.document.published_at), reverse=True))


def _are_versions(views: Sequence[Statement]) -> bool:
    """Whether dated documents have titles that differ only in numbers and bracketed parts."""
    names = {_VERSION.sub("", view.document.title.lower()) for view in views}
    return len(names) == 1 and all(view.document.published_at for view in views)


def _statements(
    analysis: Analysis, evidence: Sequence[Evidence], kind: AnswerKind
) -> Iterator[Statement]:
    question = analysis.question
    question_stems = parse(question).stem_set or frozenset([""])
    names_written = [name for name in analysis.names if not name[:1].isdigit()]
    name_stems = frozenset(stem for name in names_written for stem in parse(name).stems)
    focus_stems = (question_stems - name_stems) or question_stems
    for number, piece in enumerate(evidence):
        above = f"{piece.hit.document.title}\n{piece.text[:OPENING]}"
        for _, span, text in readable_sentences(piece, analysis.voices):
            if not is_prose(piece, span, text) or text.endswith("?"):
                continue
            stems = parse(text).stem_set
            present = stems | parse(above).stem_set
            focus = len(focus_stems & stems) / len(focus_stems)
            topic = len(question_stems & present) / len(question_stems)
            if not name_stems <= present or (topic < MIN_TOPIC_SHARE and not focus):
                continue  # too far from the question to conflict with anything
            values = values_of(kind, text, question)
            value_numbers = {value.partition(" ")[0] for value in values} | parse(question).numbers
            for amount in parse(text).quantities:
                if f"{amount.value:g} {amount.unit}" in values:
                    value_numbers |= parse(amount.said).numbers
            yield Statement(
                evidence=number,
                span=span.moved(piece.span.start),
                text=text,
                piece=piece,
                focus=focus,
                topic=topic,
                values=values,
                numbered=_numbered(text),
                rest=parse(text).numbers - value_numbers - {*_YEAR.findall(text)},
                bearer=_bearer(max(names_written, key=len, default=""), above),
                times=frozenset(map(str.lower, _TOKEN.findall(text))) & _TIMES,
            )


def _bearer(name: str, above: str) -> str:
    """The words that tell namesakes apart: "Merrow County" in "``name``, Merrow County is"."""
    if not name:
        return ""
    match = re.search(
        rf"\b{re.escape(name)}(?:,\s+([A-Z][^\n,.;]*?)\s+(?:is|was)\b|\s+\((.+?)\))", above
    )
    return next((part for part in match.groups() if part), "") if match else ""


# --- same thing, same time -------------------------------------------------------------------


def _are_about_same_thing(
    one: Statement, other: Statement, kind: AnswerKind, question: str
) -> bool:
    if one.numbered != other.numbered or (one.rest and other.rest and one.rest != other.rest):
        return False
    if one.bearer and other.bearer and one.bearer != other.bearer:
        return False
    if _times_differ(one, other, _WEEKDAYS):
        return False
    if kind == "date":
        return True
    years = [_years(side, question) for side in (one, other)]
    return years[0] == years[1] and not _times_differ(one, other, _MONTHS)


def _times_differ(one: Statement, other: Statement, times: frozenset[str]) -> bool:
    """Whether both mention some of ``times``, but none in common."""
    own_times, other_times = one.times & times, other.times & times
    return bool(own_times and other_times) and not own_times & other_times


def _years(side: Statement, question: str) -> frozenset[str]:
    """The years in a sentence, except its document's own and the question's."""
    published = side.document.published_at
    own = {str(published.year)} if published else set()
    return frozenset({*_YEAR.findall(side.text)} - {*_YEAR.findall(question)} - own)


def _numbered(text: str) -> frozenset[str]:
    """The numbered things of a text ("article 9", "room b3"), and its ordinals."""
    numbered = {word for word in map(str.lower, _TOKEN.findall(text)) if word in ORDINALS}
    for match in _NUMBERED.finditer(text):
        what, code, after = match["what"].lower(), match["code"], match["after"]
        follows = after.strip().lower()
        ends = not follows or not after[:1].isspace() or follows in _FUNCTION_WORDS
        counts = what in _FUNCTION_WORDS | _MONTHS and not what.endswith(".") and what != "no"
        if not counts and not _YEAR.fullmatch(code) and (ends or not code.isdigit()):
            numbered.add(f"{what} {code.lower()}")
    return frozenset(numbered)


# --- values ----------------------------------------------------------------------------------


def values_of(kind: AnswerKind, sentence: str, question: str) -> frozenset[str]:
    """The dates, names or amounts ("310 home") of ``sentence`` that could answer ``question``."""
    if kind == "date":
        years = frozenset(_YEAR.findall(sentence)) - frozenset(_YEAR.findall(question))
        words = {word.lower() for word in _TOKEN.findall(sentence)}
        return years or frozenset(words & (_MONTHS | _WEEKDAYS))
    if kind == "number":
        return frozenset(_amounts(sentence, question))
    if kind == "person":
        text = question.lower()
        return frozenset(name.lower() for name in parse(sentence).names if name.lower() not in text)
    return frozenset()


def _amounts(sentence: str, question: str) -> Iterator[str]:
    """The amounts with the unit or noun that is asked for, else with the noun after them."""
    counted_noun, units = _COUNTED.search(question), units_asked(question)
    noun = (
        stem(counted_noun["noun"])
        if counted_noun and counted_noun["noun"].lower() not in _FUNCTION_WORDS
        else ""
    )
    nouns = frozenset(map(stem, TIMES)) if _DURATION.search(question) else frozenset({noun} - {""})
    amounts = [amount for amount in parse(sentence).quantities if amount.unit in units]
    if amounts and not nouns:
        yield from (f"{amount.value:g} {amount.unit}" for amount in amounts)
        return
    for match in re.finditer(r"(?<![\w.,])(\w[\w.,]*)\s+(?=\w)", sentence):
        numbers = parse(match[1]).numbers
        after = [
            stem(word) for word in _TOKEN.findall(sentence[match.end() :])[: MAX_NOUN_DISTANCE + 1]
        ]
        scale = f"{after.pop(0)} " if after and parse(after[0]).numbers else ""
        candidates = after[:MAX_NOUN_DISTANCE] if nouns else after[:1]
        unit = next((word for word in candidates if not nouns or word in nouns), "")
        if len(numbers) == 1 and unit and not _YEAR.fullmatch(match[1]):
            yield f"{next(iter(numbers))} {scale}{unit}"


# --- conflicts -------------------------------------------------------------------------------


def _do_conflict(one: Statement, other: Statement, kind: AnswerKind, question: str) -> bool:
    if not _are_about_same_thing(one, other, kind, question):
        return False
    first, second = one.text, other.text
    if min(one.topic, other.topic) >= MIN_TOPIC_SHARE:
        # A different number or name does not make a different reason or way.
        differs = kind not in ("reason", "way") and swapped_words(first, second) is not None
        if differs or is_negation_of(first, second):
            return True
    single = len(one.values) == len(other.values) == 1 and one.values != other.values
    direct = min(one.focus, other.focus) >= MIN_FOCUS_SHARE
    if not single or kind not in ("date", "number", "person"):
        return False
    if kind != "number":
        is_short = max(len(text.split()) for text in (first, second)) <= MAX_SHORT_SENTENCE
        return direct and is_short and _comparable(one.values, other.values)
    units = {value.partition(" ")[2] for value in one.values | other.values}
    touched = min(one.focus, other.focus) > 0
    return len(units) == 1 and (direct or (touched and _may_be_same_event(one, other)))


def _may_be_same_event(one: Statement, other: Statement) -> bool:
    """Whether two differently worded amounts may describe one thing: close in size and time.

    Texts usually name the day of the event in their opening.
    """
    dates = [side.document.published_at for side in (one, other)]
    days = [{*map(str.lower, _DAY.findall(side.piece.text[:OPENING]))} for side in (one, other)]
    if bool(dates[0]) != bool(dates[1]) or (all(days) and not days[0] & days[1]):
        return False
    too_far = dates[0] and dates[1] and abs(dates[0] - dates[1]) > MAX_REPORT_GAP
    amounts = (value.partition(" ")[0].replace(",", "") for value in (*one.values, *other.values))
    try:
        small, large = sorted(map(float, amounts))
    except ValueError:
        return False
    return large < MAX_AMOUNT_RATIO * small and not too_far


def _comparable(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two values can be compared: not a year with a month, and never weekdays."""
    kinds = [
        "year" if _YEAR.fullmatch(value) else "month" if value in _MONTHS else "name"
        for value in (*one, *other)
        if value not in _WEEKDAYS
    ]
    return len(kinds) == 2 and kinds[0] == kinds[1]


def swapped_words(one: str, other: str) -> tuple[str, str] | None:
    """The differing words of two otherwise equal sentences, as written in each.

    None when they are equal, or differ in more than a value.
    """
    if other < one:  # the diff is not symmetric
        words = swapped_words(other, one)
        return (words[1], words[0]) if words else None
    first, second = _TOKEN.findall(one), _TOKEN.findall(other)
    if min(len(first), len(second)) < 5:
        return None
    matcher = SequenceMatcher(
        None, [word.lower() for word in first], [word.lower() for word in second], autojunk=False
    )
    if matcher.real_quick_ratio() < MIN_PARALLEL or matcher.ratio() < MIN_PARALLEL:
        return None
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "replace" or b - a > MAX_SWAPPED_WORDS or d - c > MAX_SWAPPED_WORDS:
            continue
        before, after = " ".join(first[a:b]), " ".join(second[c:d])
        if _is_value(before) and _is_value(after) and not _same_stems(before, after):
            return before, after
    return None


def _is_value(text: str) -> bool:
    """Whether ``text`` has a number or a name; only these make a difference of fact."""
    return any(part[0].isdigit() or part[0].isupper() for part in text.split()) or bool(
        parse(text).numbers
    )


def _same_stems(one: str, other: str) -> bool:
    a, b = set(parse(one).stems), set(parse(other).stems)
    return not a or not b or a <= b or b <= a


def is_negation_of(one: str, other: str) -> bool:
    """Whether two sentences have nearly the same words, but one of them is negated."""
    a, b = parse(one).stem_set, parse(other).stem_set
    if len(a) < 4 or len(b) < 4 or len(a & b) / len(a | b) < MIN_PARALLEL:
        return False
    return parse(one).negations % 2 != parse(other).negations % 2


# --- presentation with citations -----------------------------------------------------------------

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_VERSION = re.compile(r"\([^)]*\)|\[[^\]]*\]|(?![(\[])[\W\d_]")
_RECENT_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def leading_sentences(dispute: Sequence[Statement]) -> list[tuple[int, Span]]:
    """The sentence of each view: index of its piece and span in the document."""
    return [(view.evidence, view.span) for view in dispute]


def dispute_heading(dispute: Sequence[Statement]) -> str:
    """The heading above the extracts that state the views; empty without a dispute."""
    why = explain(dispute)
    order = ", the newest first" if dispute and _are_versions(dispute) else ""
    return f"The sources differ{order}{f' ({why})' if why else ''}:\n\n" if dispute else ""


def conflict_of(
    dispute: Sequence[Statement], question: str, sentences: Sequence[Sentence]
) -> tuple[Conflict, ...]:
    """The views as a conflict, with the citations of their sentences; needs two views."""
    views = []
    for view in dispute:
        for sentence in sentences:
            source = sentence.verdict.source
            if sentence.verdict.key == view.piece.key and source and source.overlaps(view.span):
                views.append(View(text=sentence.text, citations=sentence.citations))
                break
    if len(views) < 2:
        return ()
    return (Conflict(about=question, views=tuple(views), reason=explain(dispute)),)


def explain(dispute: Sequence[Statement]) -> str:
    """A possible explanation of the disagreement by dates or years; empty without one."""
    notes = []
    days = [view.document.published_at.date() for view in dispute if view.document.published_at]
    if len(days) == len(dispute) and len(set(days)) > 1:
        notes.append(
            "the "
            + ", the ".join(
                f"{ordinal} is from {day.day} {day:%B %Y}"
                for ordinal, day in zip(_ORDINALS, days, strict=False)
            )
        )
    years = [sorted(set(_RECENT_YEAR.findall(view.text))) for view in dispute]
    if all(len(group) == 1 for group in years) and len({group[0] for group in years}) > 1:
        notes.append("they are about different years: " + ", ".join(group[0] for group in years))
    return "; ".join(notes)
