"""A case: a question, where it is asked, and what is expected of the answer to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from wellread.questions import QuestionType
from wellread.types import Filters, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDocument:
    """A document that a good ranking holds; ``name`` is its id, address, end of one, or title."""

    name: str
    grade: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSpan:
    """A place in a document that a good ranking or citation meets; one sort of place is set.

    Attributes:
        start, end: characters of the stored text.
        page: the whole page.
        seconds: from (inclusive) to (exclusive) in the recording; equal for a moment.
        quote: wherever the text has these words, white space and case aside.
    """

    document: str
    grade: float = 1.0
    start: int | None = None
    end: int | None = None
    page: int | None = None
    seconds: tuple[float, float] | None = None
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What is expected; empty fields are not measured.

    Attributes:
        answers: strings of which the answer should contain one.
        answerable: whether the material answers; True when anything else is expected.
    """

    documents: tuple[WantedDocument, ...] = ()
    spans: tuple[WantedSpan, ...] = ()
    answers: tuple[str, ...] = ()
    answerable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to measure by.

    Attributes:
        line: where it stands in its file, from 1.
        turns: what the user said, oldest first; the last is the question.
        type: which question type it is of, when the case says so.
    """

    id: str
    line: int
    turns: tuple[str, ...]
    expected: Expected
    filters: Filters = field(default_factory=Filters)
    mode: Mode = "auto"
    type: QuestionType | None = None
    tags: tuple[str, ...] = ()
