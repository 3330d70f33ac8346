"""What was asked and answered so far, and how a question is changed by it: edits, limits kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from wellread.ask.understand.mentions import entities_of, people_in, people_of
from wellread.ask.understand.question_parts import Limit, without
from wellread.ask.understand.source_limits import sources_of, taxonomy_of
from wellread.ask.understand.time_windows import windows_of
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.questions import ConstraintKind
from wellread.text.english_followups import ALL_TIMES, EVERYWHERE, TIME_LED
from wellread.text.parsed import parse
from wellread.text.periods import Expression, expressions_of
from wellread.text.tokens import tokens_of
from wellread.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its answer.

    Attributes:
        question: as it was understood: the rewritten one, where it was rewritten.
        answer: the delivered text without citation markers.
        names: entities and titles that the answer cites, the most important first.
        items: what was shown as a list, in the order shown.
    """

    question: str
    answer: str = ""
    names: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A question that stands alone.

    Attributes:
        changed: whether ``text`` differs from what was asked.
        reasons: what was put in for what, in words; empty when nothing was.
    """

    text: str
    changed: bool = False
    reasons: tuple[str, ...] = ()


FEW_TERMS = 3


def context_of(rewritten: Rewritten, earlier: Sequence[Turn]) -> str:
    """The last question, where the new one may be about the same; else nothing.

    That is when nothing was put into the question and it has no name and few words of its own.
    The text is for retrieval alone; the question as it is understood and shown stays the same.
    """
    text = rewritten.text
    if rewritten.changed or parse(text).names or len(parse(text).terms) > FEW_TERMS:
        return ""
    return next((turn.question for turn in reversed(earlier) if turn.question), "")


def with_context(rewritten: Rewritten, earlier: Sequence[Turn]) -> str:
    """The text to search for: the question, with its context on a line of its own."""
    context = context_of(rewritten, earlier)
    return f"{rewritten.text}\n{context}" if context else rewritten.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """``text`` goes where ``span`` was."""

    span: Span
    text: str
    reason: str


def applied(question: str, edits: Sequence[Edit]) -> str:
    """``question`` with the edits; of two that overlap, the earlier one counts."""
    kept, place = [], 0
    for edit in sorted(edits, key=lambda one: one.span.start):
        if edit.span.start < place:
            continue
        kept += [question[place : edit.span.start], edit.text]
        place = edit.span.end
    return " ".join("".join([*kept, question[place:]]).split())


def means(said: str, meant: str) -> str:
    """The reason of a replacement, in words."""
    return f"“{said}” is “{meant}”"


def before_end(question: str, words: str) -> str:
    """``question`` with ``words`` before its closing mark."""
    bare = question.rstrip(" ?.!")
    return f"{bare} {words}{question[len(bare) :].strip() or ''}"


def possessive(name: str) -> str:
    """ "Rosa's", "the Cardigans'"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


_PHRASED: dict[ConstraintKind, str] = {
    "speaker": "according to {value}",
    "author": "according to {value}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The question with the limits it keeps, and what they are."""

    text: str
    limits: tuple[str, ...] = ()


def limits_of(text: str, vocabulary: Vocabulary, today: date) -> list[Limit]:
    """All limits that the words of ``text`` set."""
    tokens = tokens_of(text)
    people = people_in(text, tokens, vocabulary)
    entities = entities_of(text, tokens, vocabulary, [one.span for one in people])
    sources = list(sources_of(text, vocabulary))
    return [
        *windows_of(text, tokens, entities, vocabulary, today, of_sources=bool(sources)),
        *sources,
        *taxonomy_of(text, tokens, vocabulary),
        *people_of(text, people),
    ]


def with_limits(asked: str, text: str, before: str, vocabulary: Vocabulary, today: date) -> Kept:
    """``text`` with those limits of the question ``before`` that ``asked`` does not set anew.

    Args:
        asked: the question as it was asked, whose words replace a limit or let go of it.
        text: the question as it is rewritten so far.
    """
    there = limits_of(before, vocabulary, today)
    if not there:
        return Kept(text=text)
    mine = {one.constraint.kind for one in limits_of(text, vocabulary, today)}
    if expressions_of(asked, today) or ALL_TIMES.search(asked):
        mine.add("time")
    kept: list[str] = []
    for one in there:
        kind = one.constraint.kind
        if kind in mine or one.cut is None or (kind != "time" and EVERYWHERE.search(asked)):
            continue
        mine.add(kind)
        words = one.cut.of(before).strip(" ,;:")
        if kind in _PHRASED:
            words = _PHRASED[kind].format(value=one.constraint.value)
        if words.lower() not in text.lower():
            text = before_end(text, words)
            kept.append(words)
    return Kept(text=text, limits=tuple(kept))


def without_time(text: str, vocabulary: Vocabulary, today: date) -> str:
    """``text`` without the time that it is limited to."""
    cuts = [
        one.cut
        for one in limits_of(text, vocabulary, today)
        if one.constraint.kind == "time" and one.cut is not None
    ]
    return without(text, cuts or [_with_lead(text, one) for one in expressions_of(text, today)])


def _with_lead(text: str, time: Expression) -> Span:
    lead = TIME_LED.search(text, 0, time.start)
    return Span(start=lead.start() if lead else time.start, end=time.end)


def lets_go(text: str) -> re.Match[str] | None:
    """The words with which all times are asked for ("overall")."""
    return ALL_TIMES.search(text)
