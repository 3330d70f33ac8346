"""What is asked often, as JSON and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from rich.console import Console
from rich.text import Text

from wellread.kb import KnowledgeBase
from wellread.learning.question_patterns import question_patterns
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import fold, right, table


class PatternCountBody(Body):
    """How often something was asked about, and how often that had no answer."""

    name: str
    asked: int
    unanswered: int


class OftenAskedBody(Body):
    """A question that was asked several times; ``answerId``: the newest answer."""

    question: str
    asked: int
    unanswered: int
    last_at: datetime
    answer_id: str


class QuestionPatternsBody(Body):
    """What questions have in common: the same ones, types, topics, words, periods."""

    asked: int
    unanswered: int
    often: tuple[OftenAskedBody, ...]
    types: tuple[PatternCountBody, ...]
    topics: tuple[PatternCountBody, ...]
    taxonomy: tuple[PatternCountBody, ...]
    terms: tuple[PatternCountBody, ...]
    unit: Literal["day", "month"]
    periods: tuple[PatternCountBody, ...]


def patterns_body(
    kb: KnowledgeBase, since: datetime | None, until: datetime | None
) -> QuestionPatternsBody:
    """The patterns of a time.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    return QuestionPatternsBody.of(question_patterns(kb, kb.asker.owner, since, until))


def print_patterns(console: Console, body: QuestionPatternsBody) -> None:
    """A table of each kind of pattern that there is."""
    if not body.asked:
        console.print(Text("Nothing was asked in this time.", style="dim"))
        return
    console.print(f"{body.asked:,} questions, {body.unanswered:,} of them without an answer")
    often = [
        (f"{one.asked:,}", f"{one.unanswered:,}" if one.unanswered else "", one.question)
        for one in body.often
    ]
    if often:
        console.print()
        console.print(table((right("asked"), right("no answer"), fold("question")), often))
    for title, counts in (
        ("type", body.types),
        ("topic", body.topics),
        ("taxonomy", body.taxonomy),
        ("word", body.terms),
        (body.unit, body.periods),
    ):
        _print_counts(console, title, counts)


def _print_counts(console: Console, title: str, counts: Sequence[PatternCountBody]) -> None:
    rows = [
        (f"{one.asked:,}", f"{one.unanswered:,}" if one.unanswered else "", one.name)
        for one in counts
        if one.asked
    ]
    if rows:
        console.print()
        console.print(table((right("asked"), right("no answer"), fold(title)), rows))
