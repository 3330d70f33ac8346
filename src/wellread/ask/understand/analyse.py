"""Analyses a question without a language model: names, limits, type, subject and mode.

All knowledge of the material comes from the vocabulary, so the same question over the same
vocabulary on the same day always gives the same analysis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date

from wellread.ask.understand.mentions import (
    entities_of,
    people_in,
    people_limits,
    publisher_limits,
)
from wellread.ask.understand.question_parts import Limit, asking_sentences, remove_spans, sides_of
from wellread.ask.understand.question_type import (
    ENTITY,
    PERSON,
    VALUE,
    classify_question,
    mask_question,
)
from wellread.ask.understand.source_limits import sources_of, taxonomy_of, windows_of
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.errors import RequestError
from wellread.models.base import Embedder
from wellread.text.english_patterns import CAUSES, EVERYTHING
from wellread.text.parsed import parse
from wellread.types import Mode, Span
from wellread.values.answers import Question
from wellread.values.question import Analysis, QuestionType

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
    asking, mentions = asking_sentences(text), people_in(text, vocabulary)
    people = [person.span for person in mentions]
    entities = entities_of(text, vocabulary, people)
    sources = list(sources_of(text, vocabulary))
    windows = windows_of(text, entities, vocabulary, today, days, of_sources=bool(sources))
    published = publisher_limits(text, vocabulary, people)
    limits = _within([*windows, *sources, *taxonomy_of(text, vocabulary), *published], asking)
    spans = [limit.constraint.span for limit in limits if limit.constraint.kind == "taxonomy"]
    named = {VALUE: spans, PERSON: people, ENTITY: [entity.span for entity in entities]}
    words = mask_question(text[:MAX_TYPE_CHARS], vocabulary, named, today)
    sort, cue = classify_question(words, _subject(text, [limit.cut for limit in limits]), embedder)
    persona = None
    if sort == "persona":  # others may report a person's views, so that these are no limit
        persona = next((person for person in mentions if person.speakers), None)
    of_people = _within(people_limits(text, mentions), asking)
    cuts = [person.cut for person in of_people] or [persona.span] if persona else []
    limits += of_people if sort != "persona" else ()
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


def _within(limits: Iterable[Limit], asking: Sequence[Span]) -> list[Limit]:
    """The limits that stand in the sentences that ask."""
    return [
        limit for limit in limits if any(limit.constraint.span.overlaps(span) for span in asking)
    ]


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
