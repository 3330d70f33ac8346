"""Reads evaluation cases: JSON lines, each a question and what is expected of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from wellread.errors import RequestError
from wellread.identity import tagged_hash
from wellread.questions import QuestionType
from wellread.types import Filters, Kind, Mode


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


_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Scope(_Part):
    collections: list[str] = []
    kinds: list[Kind] = []
    since: datetime | None = Field(default=None, alias="from")
    until: datetime | None = Field(default=None, alias="to")
    speaker: list[str] = []
    taxonomy: dict[str, list[str]] = {}

    @field_validator("collections", "kinds", "speaker", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        return _listed(given)

    @field_validator("taxonomy", mode="before")
    @classmethod
    def _values(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {dimension: _listed(values) for dimension, values in given.items()}

    @field_validator("since", mode="before")
    @classmethod
    def _first_moment(cls, given: object) -> datetime:
        return _moment(given, time.min)

    @field_validator("until", mode="before")
    @classmethod
    def _last_moment(cls, given: object) -> datetime:
        return _moment(given, time.max)

    @model_validator(mode="after")
    def _in_order(self) -> _Scope:
        if self.since and self.until and self.since > self.until:
            raise ValueError("'from' is after 'to'")
        return self

    def filters(self) -> Filters:
        return Filters(
            collections=tuple(self.collections),
            kinds=tuple(self.kinds),
            speakers=tuple(self.speaker),
            published_from=self.since,
            published_to=self.until,
            taxonomy=tuple((name, value) for name, each in self.taxonomy.items() for value in each),
        )


class _Document(_Part):
    document: str = Field(min_length=1)
    grade: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class _Span(_Document):
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=1)
    page: int | None = Field(default=None, ge=1)
    minute: tuple[float, float] | None = None
    quote: str = ""

    @field_validator("minute", mode="before")
    @classmethod
    def _seconds(cls, given: object) -> tuple[float, float]:
        """A number is that whole minute from 0; ``12:14`` is that moment."""
        if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            return 60.0 * given, 60.0 * given + 60
        clock = _CLOCK.fullmatch(given) if isinstance(given, str) else None
        if clock is None:
            raise ValueError('a minute is a whole number (12) or a moment ("12:14", "1:02:14")')
        hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        moment = hours * 3600 + minutes * 60 + seconds
        return moment, moment

    @model_validator(mode="after")
    def _one_place(self) -> _Span:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end belong together")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("end is not after start")
        sorts = (self.start is not None, self.page is not None, self.minute is not None)
        if sum((*sorts, bool(self.quote.split()))) != 1:
            raise ValueError("give one of: start and end, page, minute, quote")
        return self


class _Expected(_Part):
    documents: list[_Document] = []
    spans: list[_Span] = []
    answer: list[str] = []
    answerable: bool | None = None

    @field_validator("documents", mode="before")
    @classmethod
    def _named(cls, given: object) -> object:
        many = _listed(given)
        if not isinstance(many, list):
            return many
        return [{"document": each} if isinstance(each, str) else each for each in many]

    @field_validator("spans", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        return [given] if isinstance(given, dict) else given

    @field_validator("answer", mode="before")
    @classmethod
    def _answers(cls, given: object) -> object:
        return _listed(given)

    @model_validator(mode="after")
    def _fits(self) -> _Expected:
        if any(not each.strip() for each in self.answer):
            raise ValueError("an accepted answer is empty")
        if self.answerable is False and (self.documents or self.spans or self.answer):
            raise ValueError("a case that is not answerable expects no documents, spans or answer")
        return self

    def read(self) -> Expected:
        something = bool(self.documents or self.spans or self.answer)
        return Expected(
            documents=tuple(
                WantedDocument(name=each.document, grade=each.grade) for each in self.documents
            ),
            spans=tuple(
                WantedSpan(
                    document=each.document,
                    grade=each.grade,
                    start=each.start,
                    end=each.end,
                    page=each.page,
                    seconds=each.minute,
                    quote=each.quote,
                )
                for each in self.spans
            ),
            answers=tuple(self.answer),
            answerable=True if self.answerable is None and something else self.answerable,
        )


class CaseLine(_Part):
    """A question, where it is asked, and what is expected."""

    question: list[str] = Field(min_length=1)
    scope: _Scope = _Scope()
    mode: Mode = "auto"
    expected: _Expected = _Expected()
    type: QuestionType | None = None
    id: str = ""
    tags: list[str] = []

    @field_validator("question", "tags", mode="before")
    @classmethod
    def _one_or_many(cls, given: object) -> object:
        return _listed(given)

    @field_validator("id", mode="before")
    @classmethod
    def _written(cls, given: object) -> object:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given

    @model_validator(mode="after")
    def _measurable(self) -> CaseLine:
        if any(not turn.strip() for turn in self.question):
            raise ValueError("a question is empty")
        if self.expected.read() == Expected() and self.type is None:
            raise ValueError("nothing is expected, so nothing can be measured")
        return self


def _listed(given: object) -> Any:
    return [given] if isinstance(given, str) else given


def _moment(given: object, of_day: time) -> datetime:
    """A day (its first or last instant) or a time, UTC where it has no zone."""
    if not isinstance(given, str):
        raise ValueError("write a day as 2025-10-14")
    try:
        if len(given.strip()) == len("2025-10-14"):
            return datetime.combine(date.fromisoformat(given.strip()), of_day, UTC)
        moment = datetime.fromisoformat(given.strip())
    except ValueError as error:
        raise ValueError(f"{given!r} is not a day (2025-10-14) or a time") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


FORMAT = "docs/evaluation.md describes the format"


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSON lines file, in order.

    Raises:
        RequestError: the file cannot be read, or a line is not a case; names file and line.
    """
    seen: dict[str, int] = {}
    cases = []
    for number, text in _lines(path):
        case = _case(path, number, text)
        if case.id in seen:
            raise RequestError(
                f"{path}, line {number}: the same id as line {seen[case.id]} ({case.id})",
                hint="give each case an id of its own, or drop one of them",
            )
        seen[case.id] = number
        cases.append(case)
    if not cases:
        raise RequestError(f"{path} holds no case", hint=FORMAT)
    return cases


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        whole = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text", hint=FORMAT) from error
    # Not splitlines(): it also breaks at characters that JSON strings may hold.
    for number, text in enumerate(whole.split("\n"), 1):
        if text.strip():
            yield number, text


def _case(path: Path, number: int, text: str) -> Case:
    try:
        line = CaseLine.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise RequestError(
            f"{path}, line {number}: not JSON: {error.msg} at character {error.pos + 1}",
            hint="every line is one JSON object",
        ) from error
    except ValidationError as error:
        raise RequestError(f"{path}, line {number}: {_first(error)}", hint=FORMAT) from error
    filters = line.scope.filters()
    named = line.id or tagged_hash("case", *line.question, repr(filters))
    return Case(
        id=named,
        line=number,
        turns=tuple(line.question),
        expected=line.expected.read(),
        filters=filters,
        mode=line.mode,
        type=line.type,
        tags=tuple(line.tags),
    )


def _first(error: ValidationError) -> str:
    """The first thing wrong, with the field where it is."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"unknown field {place}"
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
