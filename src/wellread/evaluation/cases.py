"""Reads evaluation cases: JSON lines, each a question and what is expected of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from wellread.errors import RequestError
from wellread.identity import tagged_hash
from wellread.questions import QuestionType
from wellread.types import Filters, Kind, Mode

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


def _many(given: object) -> object:
    """Several; one may stand for a list of one."""
    if isinstance(given, list | tuple):
        return tuple(given)
    if isinstance(given, str | dict):
        return (given,)
    raise ValueError("write a list")


_Many = BeforeValidator(_many)
_Texts = Annotated[tuple[str, ...], _Many]


def _moment(of_day: time) -> BeforeValidator:
    """A day (its first or last instant) or a time, UTC where it has no zone."""

    def read(given: object) -> datetime:
        if not isinstance(given, str):
            raise ValueError("write a day as 2025-10-14")
        try:
            if len(given.strip()) == len("2025-10-14"):
                return datetime.combine(date.fromisoformat(given.strip()), of_day, UTC)
            moment = datetime.fromisoformat(given.strip())
        except ValueError as error:
            raise ValueError(f"{given!r} is not a day (2025-10-14) or a time") from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    return BeforeValidator(read)


class _Scope(_Part):
    collections: _Texts = ()
    kinds: Annotated[tuple[Kind, ...], _Many] = ()
    since: Annotated[datetime | None, _moment(time.min)] = Field(default=None, alias="from")
    until: Annotated[datetime | None, _moment(time.max)] = Field(default=None, alias="to")
    speaker: _Texts = ()
    taxonomy: dict[str, _Texts] = {}

    @model_validator(mode="after")
    def _in_order(self) -> _Scope:
        if self.since and self.until and self.since > self.until:
            raise ValueError("'from' is after 'to'")
        return self

    def filters(self) -> Filters:
        return Filters(
            collections=self.collections,
            kinds=self.kinds,
            speakers=self.speaker,
            published_from=self.since,
            published_to=self.until,
            taxonomy=tuple((name, value) for name, each in self.taxonomy.items() for value in each),
        )


class WantedDocument(_Part):
    """A document that a good ranking holds, by its id, address, end of one, or title."""

    document: str = Field(min_length=1)
    grade: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class WantedSpan(WantedDocument):
    """A place in a document that a good ranking or citation meets; one sort of place is set.

    Attributes:
        start, end: characters of the stored text.
        page: the whole page.
        seconds: from (inclusive) to (exclusive) in the recording; equal for a moment. In a file a
            number is that whole minute from 0, and ``12:14`` is that moment.
        quote: wherever the text has these words, white space and case aside.
    """

    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=1)
    page: int | None = Field(default=None, ge=1)
    seconds: tuple[float, float] | None = Field(default=None, alias="minute")
    quote: str = ""

    @field_validator("seconds", mode="before")
    @classmethod
    def _seconds(cls, given: object) -> object:
        if isinstance(given, tuple):
            return given
        if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            return 60.0 * given, 60.0 * given + 60
        clock = _CLOCK.fullmatch(given) if isinstance(given, str) else None
        if clock is None:
            raise ValueError('a minute is a whole number (12) or a moment ("12:14", "1:02:14")')
        hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        moment = hours * 3600 + minutes * 60 + seconds
        return moment, moment

    @model_validator(mode="after")
    def _one_place(self) -> WantedSpan:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end belong together")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("end is not after start")
        sorts = (self.start is not None, self.page is not None, self.seconds is not None)
        if sum((*sorts, bool(self.quote.split()))) != 1:
            raise ValueError("give one of: start and end, page, minute, quote")
        return self


class Expected(_Part):
    """What is expected; empty fields are not measured.

    Attributes:
        answer: strings of which the answer should contain one.
        answerable: whether the material answers; in a case True when anything else is expected.
    """

    documents: Annotated[tuple[WantedDocument, ...], _Many] = ()
    spans: Annotated[tuple[WantedSpan, ...], _Many] = ()
    answer: _Texts = ()
    answerable: bool | None = None

    @field_validator("documents", mode="before")
    @classmethod
    def _named(cls, given: object) -> object:
        many = _many(given)
        if not isinstance(many, tuple):
            return many
        return tuple({"document": each} if isinstance(each, str) else each for each in many)

    @model_validator(mode="after")
    def _fits(self) -> Expected:
        if any(not each.strip() for each in self.answer):
            raise ValueError("an accepted answer is empty")
        if self.answerable is False and (self.documents or self.spans or self.answer):
            raise ValueError("a case that is not answerable expects no documents, spans or answer")
        return self


class CaseLine(_Part):
    """A question, where it is asked, and what is expected, as a file has it."""

    question: _Texts = Field(min_length=1)
    scope: _Scope = _Scope()
    mode: Mode = "auto"
    expected: Expected = Expected()
    type: QuestionType | None = None
    id: str = ""
    tags: _Texts = ()

    @field_validator("id", mode="before")
    @classmethod
    def _written(cls, given: object) -> object:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given

    @model_validator(mode="after")
    def _measurable(self) -> CaseLine:
        if any(not turn.strip() for turn in self.question):
            raise ValueError("a question is empty")
        if self.expected == Expected() and self.type is None:
            raise ValueError("nothing is expected, so nothing can be measured")
        return self


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


FORMAT = "docs/measuring.md describes the format"


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
    filters, expected = line.scope.filters(), line.expected
    if expected.answerable is None and expected != Expected():
        expected = expected.model_copy(update={"answerable": True})
    return Case(
        id=line.id or tagged_hash("case", *line.question, repr(filters)),
        line=number,
        turns=line.question,
        expected=expected,
        filters=filters,
        mode=line.mode,
        type=line.type,
        tags=line.tags,
    )


def _first(error: ValidationError) -> str:
    """The first thing wrong, with the field where it is."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"unknown field {place}"
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
