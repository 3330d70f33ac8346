"""What was asked and answered so far, and how a question is changed by it: edits, limits kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from wellread.ask.understand.analyse import named_in
from wellread.ask.understand.mentions import people_of
from wellread.ask.understand.question_parts import Limit, without
from wellread.ask.understand.time_windows import days_in
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.english_followups import ALL_TIMES, EVERYWHERE, TIME_LED
from wellread.text.parsed import parse
from wellread.text.periods import Expression, expressions_of
from wellread.types import Span

FEW_TERMS = 3


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
    return "\n".join(filter(None, (rewritten.text, context_of(rewritten, earlier))))


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` goes where ``span`` was."""

    span: Span
    text: str
    reason: str


def put(question: str, start: int, end: int, text: str, meant: str = "") -> Edit:
    """The edit that writes ``text`` over these characters, which stand for ``meant``."""
    span = Span(start=start, end=end)
    return Edit(span, text, f"“{span.of(question)}” is “{meant or text}”")


def applied(question: str, edits: Sequence[Edit]) -> str:
    """``question`` with the edits; of two that overlap, the earlier one counts."""
    kept, place = [], 0
    for edit in sorted(edits, key=lambda one: one.span.start):
        if edit.span.start >= place:
            kept += [question[place : edit.span.start], edit.text]
            place = edit.span.end
    return " ".join("".join([*kept, question[place:]]).split())


def before_end(question: str, words: str) -> str:
    """``question`` with ``words`` before its closing mark."""
    bare = question.rstrip(" ?.!")
    return f"{bare} {words}{question[len(bare) :].strip()}"


def name_spans(text: str) -> list[Span]:
    """Where the names of ``text`` stand first."""
    places = ((text.find(name), len(name)) for name in parse(text).names)
    return [Span(start=start, end=start + length) for start, length in places if start >= 0]


def limits_of(text: str, vocabulary: Vocabulary, today: date) -> list[Limit]:
    """All limits that the words of ``text`` set."""
    named = named_in(text, vocabulary, today, days_in(text, vocabulary, today))
    return [*named.limits, *people_of(text, named.people)]


def with_limits(
    asked: str, text: str, before: str, vocabulary: Vocabulary, today: date
) -> tuple[str, list[str]]:
    """``text`` with those limits of the question ``before`` that ``asked`` does not set anew.

    Args:
        asked: the question as it was asked, whose words replace a limit or let go of it.
        text: the question as it is rewritten so far.

    Returns:
        The question with the limits that it keeps, and what these are.
    """
    there = limits_of(before, vocabulary, today)
    mine = {one.constraint.kind for one in limits_of(text, vocabulary, today)} if there else set()
    if expressions_of(asked, today) or ALL_TIMES.search(asked):
        mine.add("time")
    kept: list[str] = []
    for one in there:
        kind = one.constraint.kind
        if kind in mine or one.cut is None or (kind != "time" and EVERYWHERE.search(asked)):
            continue
        mine.add(kind)
        words = one.cut.of(before).strip(" ,;:")
        if kind in ("speaker", "author"):
            words = f"according to {one.constraint.value}"
        if words.lower() not in text.lower():
            text = before_end(text, words)
            kept.append(words)
    return text, kept


def without_time(text: str, vocabulary: Vocabulary, today: date) -> str:
    """``text`` without the time that it is limited to."""
    limits = [one for one in limits_of(text, vocabulary, today) if one.constraint.kind == "time"]
    cuts = [one.cut for one in limits if one.cut is not None]
    return without(text, cuts or [_with_lead(text, one) for one in expressions_of(text, today)])


def _with_lead(text: str, time: Expression) -> Span:
    lead = TIME_LED.search(text, 0, time.start)
    return Span(start=lead.start() if lead else time.start, end=time.end)
