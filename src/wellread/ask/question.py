"""What a question asks for, read from its words alone (no model, well under 5 ms)."""

from __future__ import annotations

import re

from wellread.answers import Question
from wellread.ask import words
from wellread.errors import RequestError
from wellread.questions import Analysis, QuestionType
from wellread.types import Mode

LONGEST_QUESTION = 4_000

# ruff: noqa: E501 - one pattern a line reads better than broken ones
# The first pattern that fits decides, so the narrow ones stand first.
_TYPES: tuple[tuple[QuestionType, str], ...] = (
    ("counting", r"\b(how many|number of|count of|list (all|every)|list the)\b"),
    ("temporal", r"^\s*(when|since when|on (what|which) (day|date)|(what|which) (year|day|date|month))\b"),
    ("meta", r"\b(what (do|does) (you|we|the (knowledge base|collection)) (know|cover)|coverage)\b"),
    ("gap_finding", r"\b((is|are) there (any|anything)|do (we|you) have (any|anything)|any(thing)? (on|about))\b"),
    ("trend", r"\b(trend|over time|changed? since|evolv|development of|more and more)\b"),
    ("comparative", r"\b(compar|differ|versus|vs\.?|better than|rather than|more than|less than|contrast|disagree)"),
    ("persona", r"\b(would|might) \w+( \w+)? (say|think|argue|recommend|respond)\b"),
    ("relational", r"\b(related to|relates? to|connected|depends? on|part of|implements?|funded by|who uses|linked)\b"),
    ("synthesis", r"\b(summar|overview|everything about|main (points|arguments|findings)|in general)"),
    ("exploratory", r"\b(what kinds?|what sorts?|which (projects|entries|practices|organi[sz]ations)|examples of|explore)\b"),
)  # fmt: skip
_DEEP = re.compile(
    r"\b(why|cause[sd]?|compar|differ|evol|over time|everything about|history of|summar)", re.I
)


def analyse(question: Question) -> Analysis:
    """Read type, terms, names and mode of ``question``.

    Raises:
        RequestError: the question is empty or longer than 4,000 characters.
    """
    text = " ".join(question.text.split())
    if not text:
        raise RequestError("the question is empty", hint="write a question")
    if len(text) > LONGEST_QUESTION:
        raise RequestError(
            f"the question has {len(text):,} characters, the limit is {LONGEST_QUESTION:,}",
            hint="shorten it, or add the long text as a document",
        )
    return Analysis(
        question=text,
        type=_type_of(text),
        terms=words.terms(text),
        names=words.names(text),
        filters=question.filters,
        mode=_mode_of(text, question.mode),
    )


def _type_of(text: str) -> QuestionType:
    for name, pattern in _TYPES:
        if re.search(pattern, text, re.IGNORECASE):
            return name
    return "factual"


def _mode_of(text: str, asked: Mode) -> Mode:
    if asked != "auto":
        return asked
    return "deep" if _DEEP.search(text) else "quick"
