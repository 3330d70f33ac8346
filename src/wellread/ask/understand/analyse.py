"""From a question to what it asks for: names, limits, type, subject, mode. No language model.

Everything that depends on the material comes in through the vocabulary, so the same question
over the same vocabulary on the same day is always understood the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from wellread.ask.understand.mentions import (
    Mention,
    entities_of,
    people_in,
    people_of,
    published_of,
)
from wellread.ask.understand.question_parts import Limit, asked_part, sides_of, without
from wellread.ask.understand.question_type import Named, masked_question, type_of
from wellread.ask.understand.source_limits import sources_of, taxonomy_of
from wellread.ask.understand.time_windows import Times, windows_of
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.errors import RequestError
from wellread.models.base import Embedder
from wellread.text.english_common import CAUSES, EVERYTHING
from wellread.text.parsed import parse
from wellread.types import Mode, Span
from wellread.values.answers import Question
from wellread.values.question import Analysis, NamedEntity, QuestionType

LONGEST_QUESTION = 4_000
TELLING = 1_000  # characters that its type is told by
_DEEP_TYPES: dict[QuestionType, str] = {
    "comparative": "it compares",
    "trend": "it asks how something changed",
    "synthesis": "it asks for the whole",
}


def analyse(
    question: Question,
    vocabulary: Vocabulary,
    today: date,
    embedder: Embedder | None = None,
    *,
    days: Collection[date] = (),
) -> Analysis:
    """What ``question`` asks for.

    Args:
        vocabulary: of the collections that the question is scoped to.
        today: what "last week" is counted from.
        embedder: its vector helps where the words leave the type open.
        days: those that the question names on which something was published.
    """
    text = _in_one_line(question.text)
    named = named_in(text, vocabulary, today, days)
    asking, entities = asked_part(text), named.entities
    limits = _inside(named.limits, asking)
    known = Named(
        entities=entities,
        people=[one.span for one in named.people],
        constraints=[one.constraint for one in limits],
    )
    words = masked_question(text[:TELLING], vocabulary, known, today)
    sort, told = type_of(words, _subject(text, [one.cut for one in limits]), embedder)
    people = _inside(people_of(text, named.people), asking)
    whose = _whose(named.people) if sort == "persona" else None
    cuts = [one.cut for one in people] or [whose.span] if whose else []
    limits += people if sort != "persona" else ()  # views need not be in their own words
    limits.sort(key=lambda one: one.constraint.span.start)
    subject = _subject(text, [*cuts, *(one.cut for one in limits)])
    mode, why = _mode_of(text, sort, question.mode)
    return Analysis(
        question=text,
        type=sort,
        terms=parse(subject).terms,
        names=parse(subject).names,
        filters=question.filters,
        mode=mode,
        subject=subject,
        max_clusters=question.max_clusters,
        constraints=tuple(one.constraint for one in limits),
        entities=entities,
        sides=sides_of(text, entities) if sort == "comparative" else (),
        reasons=(f"{sort}: “{told}”" if told else f"{sort}: no word tells another type", why),
        persona=whose.speakers if whose else (),
    )


def _in_one_line(question: str) -> str:
    text = " ".join(question.split())
    if not text:
        raise RequestError("the question is empty", hint="write a question")
    if len(text) > LONGEST_QUESTION:
        raise RequestError(
            f"the question has {len(text):,} characters, the limit is {LONGEST_QUESTION:,}",
            hint="shorten it, or add the long text as a document",
        )
    return text


@dataclass(frozen=True, slots=True)
class NamedIn:
    """Who and what a text names, and the limits that it sets but for those on people."""

    people: list[Mention]
    entities: tuple[NamedEntity, ...]
    limits: list[Limit]


def named_in(
    text: str, vocabulary: Vocabulary, today: date, days: Collection[date] = ()
) -> NamedIn:
    """What ``text`` names and is limited to."""
    people = people_in(text, vocabulary)
    entities = entities_of(text, vocabulary, [one.span for one in people])
    sources = list(sources_of(text, vocabulary))
    times = Times(today=today, days=days, of_sources=bool(sources))
    windows = windows_of(text, entities, vocabulary, times)
    published = published_of(text, vocabulary, [one.span for one in people])
    limits = [*windows, *sources, *taxonomy_of(text, vocabulary), *published]
    return NamedIn(people, entities, limits)


def _inside(limits: Iterable[Limit], asking: Sequence[Span]) -> list[Limit]:
    """The limits that stand in the sentences that ask."""
    return [one for one in limits if any(one.constraint.span.overlaps(span) for span in asking)]


def _whose(people: Sequence[Mention]) -> Mention | None:
    """The first of ``people`` who speaks in the material."""
    return next((one for one in people if one.speakers), None)


def _subject(text: str, cuts: Sequence[Span | None]) -> str:
    """What is searched for; the whole question when the limits leave no word of a topic."""
    subject = without(text, [cut for cut in cuts if cut is not None])
    return subject if parse(subject).terms else text


def _mode_of(text: str, sort: QuestionType, asked: Mode) -> tuple[Mode, str]:
    if asked != "auto":
        return asked, f"{asked}: as asked"
    causes = CAUSES.search(text)
    if causes:
        return "deep", f"deep: it asks for causes (“{causes.group()}”)"
    if sort in _DEEP_TYPES:
        return "deep", f"deep: {_DEEP_TYPES[sort]}"
    if EVERYTHING.search(text):
        return "deep", "deep: it asks for everything"
    return "quick", "quick: one search will do"
