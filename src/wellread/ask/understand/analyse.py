"""Analyses a question without a language model: names, limits, type, subject and mode.

All knowledge of the material comes from the vocabulary, so the same question over the same
vocabulary on the same day always gives the same analysis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from wellread.ask.understand.mentions import (
    Mention,
    entities_of,
    people_in,
    people_limits,
    publisher_limits,
)
from wellread.ask.understand.question_parts import Limit, asking_sentences, remove_spans, sides_of
from wellread.ask.understand.question_type import KnownSpans, classify_question, mask_question
from wellread.ask.understand.source_limits import TimeContext, sources_of, taxonomy_of, windows_of
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.errors import RequestError
from wellread.models.base import Embedder
from wellread.text.english_patterns import CAUSES, EVERYTHING
from wellread.text.parsed import parse
from wellread.types import Mode, Span
from wellread.values.answers import Question
from wellread.values.question import Analysis, NamedEntity, QuestionType

MAX_QUESTION_CHARS = 4_000
MAX_TYPE_CHARS = 1_000  # characters of the question that its type is predicted from
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
    """Analyse ``question``.

    Args:
        vocabulary: the names of the collections that the question is scoped to.
        today: the day from which "last week" is counted.
        embedder: breaks the tie when the words leave the type open.
        days: the days named in the question on which something was published.
    """
    text = _in_one_line(question.text)
    names = find_names(text, vocabulary, today, days)
    asking, entities = asking_sentences(text), names.entities
    limits = _asked_limits(names.limits, asking)
    spans = KnownSpans(
        entities=entities,
        people=[person.span for person in names.people],
        constraints=[limit.constraint for limit in limits],
    )
    words = mask_question(text[:MAX_TYPE_CHARS], vocabulary, spans, today)
    sort, cue = classify_question(words, _subject(text, [limit.cut for limit in limits]), embedder)
    people = _asked_limits(people_limits(text, names.people), asking)
    persona = _first_speaker(names.people) if sort == "persona" else None
    cuts = [person.cut for person in people] or [persona.span] if persona else []
    limits += people if sort != "persona" else ()  # others may report a person's views
    limits.sort(key=lambda limit: limit.constraint.span.start)
    subject = _subject(text, [*cuts, *(limit.cut for limit in limits)])
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
        constraints=tuple(limit.constraint for limit in limits),
        entities=entities,
        sides=sides_of(text, entities) if sort == "comparative" else (),
        reasons=(f"{sort}: “{cue}”" if cue else f"{sort}: no word suggests another type", why),
        persona=persona.speakers if persona else (),
    )


def _in_one_line(question: str) -> str:
    text = " ".join(question.split())
    if not text:
        raise RequestError("the question is empty", hint="write a question")
    if len(text) > MAX_QUESTION_CHARS:
        raise RequestError(
            f"the question has {len(text):,} characters, the limit is {MAX_QUESTION_CHARS:,}",
            hint="shorten it, or add the long text as a document",
        )
    return text


@dataclass(frozen=True, slots=True)
class FoundNames:
    """The people and entities that a text names, and its limits except those on people."""

    people: list[Mention]
    entities: tuple[NamedEntity, ...]
    limits: list[Limit]


def find_names(
    text: str, vocabulary: Vocabulary, today: date, days: Collection[date] = ()
) -> FoundNames:
    """Find the people, entities and limits in ``text``."""
    people = people_in(text, vocabulary)
    entities = entities_of(text, vocabulary, [person.span for person in people])
    sources = list(sources_of(text, vocabulary))
    times = TimeContext(today=today, days=days, of_sources=bool(sources))
    windows = windows_of(text, entities, vocabulary, times)
    published = publisher_limits(text, vocabulary, [person.span for person in people])
    limits = [*windows, *sources, *taxonomy_of(text, vocabulary), *published]
    return FoundNames(people, entities, limits)


def _asked_limits(limits: Iterable[Limit], asking: Sequence[Span]) -> list[Limit]:
    return [
        limit for limit in limits if any(limit.constraint.span.overlaps(span) for span in asking)
    ]


def _first_speaker(people: Sequence[Mention]) -> Mention | None:
    return next((person for person in people if person.speakers), None)


def _subject(text: str, cuts: Sequence[Span | None]) -> str:
    """The search text: the question without its limits, or all of it when no topic word is left."""
    subject = remove_spans(text, [cut for cut in cuts if cut is not None])
    return subject if parse(subject).terms else text


def _mode_of(text: str, sort: QuestionType, requested_mode: Mode) -> tuple[Mode, str]:
    if requested_mode != "auto":
        return requested_mode, f"{requested_mode}: as asked"
    causes = CAUSES.search(text)
    if causes:
        return "deep", f"deep: it asks for causes (“{causes.group()}”)"
    if sort in _DEEP_TYPES:
        return "deep", f"deep: {_DEEP_TYPES[sort]}"
    if EVERYTHING.search(text):
        return "deep", "deep: it asks for everything"
    return "quick", "quick: one search will do"
