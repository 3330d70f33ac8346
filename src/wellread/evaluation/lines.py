"""One line of a case file as it is written, checked field by field."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from wellread.evaluation.values import Expected, WantedDocument, WantedSpan
from wellread.questions import QuestionType
from wellread.types import Filters, Kind, Mode

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
