"""Reads evaluation cases: JSON lines, each a question and what is expected of its answer."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

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
from wellread.kb import KnowledgeBase
from wellread.types import (
    Document,
    DocumentFacts,
    Filters,
    Hit,
    Kind,
    Mode,
    PageMark,
    Span,
    TimeMark,
)
from wellread.values.question import QuestionType

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
    """The cases of a JSON lines file, in order."""
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


Place = tuple[str, Span]  # (document id, span of its stored text)

_SEPARATOR = re.compile(r"[/#?]")
TEXTS_HELD = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What one case expects to be met, by name.

    Attributes:
        grades: target document to its worth.
        documents: target document to the ids that meet it.
        span_grades, spans: the same for places.
        missing: expected things that the base does not hold, in words; they cannot be met.
    """

    grades: Mapping[str, float] = field(default_factory=dict)
    documents: Mapping[str, frozenset[str]] = field(default_factory=dict)
    span_grades: Mapping[str, float] = field(default_factory=dict)
    spans: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def met_by(self, document_id: str) -> frozenset[str]:
        """The target documents that a document meets."""
        return frozenset(name for name, ids in self.documents.items() if document_id in ids)

    def spans_met_by(self, document_id: str, span: Span) -> frozenset[str]:
        """The target places that a span overlaps."""
        return frozenset(
            name
            for name, places in self.spans.items()
            if any(known == document_id and span.overlaps(place) for known, place in places)
        )

    def ranking(self, document_ids: Iterable[str]) -> list[frozenset[str]]:
        """What each document meets; of several entries of one document the first counts."""
        return [self.met_by(known) for known in dict.fromkeys(document_ids)]

    def span_ranking(self, hits: Sequence[Hit]) -> list[frozenset[str]]:
        """What each passage meets."""
        return [self.spans_met_by(hit.document.id, hit.passage.span) for hit in hits]


class Resolver:
    """Looks up what cases expect in one knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._directory = lru_cache(maxsize=None)(self._read_directory)
        self._text = lru_cache(maxsize=TEXTS_HELD)(kb.catalogue.document)

    def targets(self, case: Case) -> Targets:
        """What ``case`` expects, in the collections it is asked of."""
        # A span's document is expected too, unless the case names documents itself.
        named = {
            span.document: WantedDocument(document=span.document, grade=span.grade)
            for span in case.expected.spans
        }
        wanted = case.expected.documents or tuple(named.values())
        names = case.filters.collections or tuple(self._kb.catalogue.collection_names())
        known = self._directory(names)
        documents = {each.document: known.named(each.document) for each in wanted}
        missing = [f"document {name}" for name, ids in documents.items() if not ids]
        spans: dict[str, list[Place]] = {}
        grades: dict[str, float] = {}
        for number, span in enumerate(case.expected.spans):
            name = f"{number}:{span.document}"
            spans[name] = self._places(known.named(span.document), span)
            grades[name] = span.grade
            if not spans[name] and f"document {span.document}" not in missing:
                missing.append(f"{_in_words(span)} of {span.document}")
        return Targets(
            grades={each.document: each.grade for each in wanted},
            documents={name: frozenset(ids) for name, ids in documents.items()},
            span_grades=grades,
            spans=spans,
            missing=tuple(missing),
        )

    def _read_directory(self, collections: tuple[str, ...]) -> _Directory:
        return _Directory(
            [facts for name in collections for facts in self._kb.catalogue.documents(name)]
        )

    def _places(self, document_ids: Iterable[str], wanted: WantedSpan) -> list[Place]:
        places = []
        for known in document_ids:
            document = self._text(known)
            if document is not None:
                places += [(known, span) for span in _spans(document, wanted)]
        return places


class _Directory:
    """Documents by everything that a case may call them."""

    def __init__(self, documents: Sequence[DocumentFacts]) -> None:
        self._ids = {facts.id for facts in documents}
        self._addresses: defaultdict[str, list[str]] = defaultdict(list)
        self._titles: defaultdict[str, list[str]] = defaultdict(list)
        self._ends: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for facts in documents:
            self._titles[_plain(facts.title)].append(facts.id)
            for address in {_address(facts.uri), _address(facts.url)} - {""}:
                self._addresses[address].append(facts.id)
                self._ends[_last_part(address)].append((address, facts.id))

    def named(self, name: str) -> list[str]:
        """The ids of the documents called ``name``: an id, an address, the end of one, a title.

        The end of an address begins after a slash, a number sign or a question mark, so that
        ``a.md`` is not ``data.md``.
        """
        if name in self._ids:
            return [name]
        address = _address(name)
        return (
            self._addresses.get(address)
            or self._ending(address)
            or self._titles.get(_plain(name))
            or []
        )

    def _ending(self, end: str) -> list[str]:
        found: list[str] = []
        if not end:
            return found
        for address, known in self._ends.get(_last_part(end), ()):
            before = address[: -len(end)]
            whole = not before or _SEPARATOR.match(before[-1]) or _SEPARATOR.match(end[0])
            if address.endswith(end) and whole:
                found.append(known)
        return list(dict.fromkeys(found))


def _spans(document: Document, wanted: WantedSpan) -> list[Span]:
    if wanted.quote:
        pattern = r"\s+".join(re.escape(word) for word in wanted.quote.split())
        return [
            Span(start=found.start(), end=found.end())
            for found in re.finditer(pattern, document.text, re.IGNORECASE)
        ]
    if wanted.page is not None:
        marks = [m for m in document.marks if isinstance(m, PageMark) and m.page == wanted.page]
        return _over([(mark.start, mark.end) for mark in marks])
    if wanted.seconds is not None:
        return _over(_said(document, *wanted.seconds))
    if wanted.start is not None and wanted.end is not None and wanted.end <= len(document.text):
        return [Span(start=wanted.start, end=wanted.end)]
    return []


def _said(document: Document, begin: float, finish: float) -> list[tuple[int, int]]:
    """The characters said from ``begin`` to ``finish``; for a moment, those being said then."""
    turns = sorted(
        (mark for mark in document.marks if isinstance(mark, TimeMark)), key=lambda m: m.begin
    )
    found = []
    for turn, later in zip(turns, [*turns[1:], None], strict=True):
        end = later.begin if later else turn.finish
        starts_inside = begin <= turn.begin < finish or turn.begin == begin
        goes_on = turn.begin <= begin and (end is None or begin < end)
        if starts_inside or goes_on:
            found.append((turn.start, turn.end))
    return found


def _over(pieces: Sequence[tuple[int, int]]) -> list[Span]:
    """One span from the first to the last of the pieces, or none."""
    if not pieces:
        return []
    return [Span(start=min(start for start, _ in pieces), end=max(end for _, end in pieces))]


def _in_words(span: WantedSpan) -> str:
    if span.quote:
        return f"quote “{span.quote}”"
    if span.page is not None:
        return f"page {span.page}"
    if span.seconds is not None:
        return f"second {span.seconds[0]:.0f}"
    return f"characters {span.start} to {span.end}"


def _plain(title: str) -> str:
    return " ".join(title.casefold().split())


def _address(text: str) -> str:
    return unquote(text).rstrip("/")


def _last_part(address: str) -> str:
    return _SEPARATOR.split(address)[-1]
