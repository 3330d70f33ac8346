"""Reads evaluation cases (JSON Lines of questions with expectations) and finds their targets."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
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

from wellread.errors import RequestError, invalid_value
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.text.periods import first_moment, last_moment
from wellread.types import Document, DocumentFacts, Filters, Kind, Mode, PageMark, Span, TimeMark
from wellread.values.question import QuestionType

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})")


class _CaseModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


def _as_tuple(value: object) -> object:
    """The value as a tuple; a single string or object becomes a tuple of one."""
    if isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, str | dict):
        return (value,)
    raise ValueError("write a list")


_TupleInput = BeforeValidator(_as_tuple)
_Texts = Annotated[tuple[str, ...], _TupleInput]


def _time_input(parse: Callable[[str], datetime]) -> BeforeValidator:
    """A validator for a year, month, day or time, in UTC if it has no zone."""

    def read(value: object) -> datetime:
        if not isinstance(value, str):
            raise ValueError("write a day as 2025-10-14")
        try:
            return parse(value.strip())
        except RequestError as error:
            raise ValueError(str(error)) from error

    return BeforeValidator(read)


class _Scope(_CaseModel):
    collections: _Texts = ()
    kinds: Annotated[tuple[Kind, ...], _TupleInput] = ()
    since: Annotated[datetime | None, _time_input(first_moment)] = Field(default=None, alias="from")
    until: Annotated[datetime | None, _time_input(last_moment)] = Field(default=None, alias="to")
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
            taxonomy=tuple((name, item) for name, items in self.taxonomy.items() for item in items),
        )


class WantedDocument(_CaseModel):
    """An expected document, named by id, address, end of an address, or title."""

    document: str = Field(min_length=1)
    grade: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class WantedSpan(WantedDocument):
    """An expected place in a document, given in exactly one way.

    Attributes:
        start, end: character offsets in the stored text.
        page: the whole page.
        seconds: start (inclusive) and end (exclusive) in the recording; equal for a moment. In a
            file, a number means that whole minute (from 0), and ``12:14`` means that moment.
        quote: every occurrence of these words, ignoring white space and case.
    """

    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=1)
    page: int | None = Field(default=None, ge=1)
    seconds: tuple[float, float] | None = Field(default=None, alias="minute")
    quote: str = ""

    @field_validator("seconds", mode="before")
    @classmethod
    def _seconds(cls, value: object) -> object:
        if isinstance(value, tuple):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return 60.0 * value, 60.0 * value + 60
        clock = _CLOCK.fullmatch(value) if isinstance(value, str) else None
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
        ways = (self.start is not None, self.page is not None, self.seconds is not None)
        if sum((*ways, bool(self.quote.split()))) != 1:
            raise ValueError("give one of: start and end, page, minute, quote")
        return self


class Expected(_CaseModel):
    """The expectations of a case; empty fields are not measured.

    Attributes:
        answer: accepted strings; the answer should contain one of them.
        answerable: whether the material answers; True by default when anything is expected.
    """

    documents: Annotated[tuple[WantedDocument, ...], _TupleInput] = ()
    spans: Annotated[tuple[WantedSpan, ...], _TupleInput] = ()
    answer: _Texts = ()
    answerable: bool | None = None

    @field_validator("documents", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        documents = _as_tuple(value)
        if not isinstance(documents, tuple):
            return documents
        return tuple({"document": name} if isinstance(name, str) else name for name in documents)

    @model_validator(mode="after")
    def _fits(self) -> Expected:
        if any(not text.strip() for text in self.answer):
            raise ValueError("an accepted answer is empty")
        if self.answerable is False and (self.documents or self.spans or self.answer):
            raise ValueError("a case that is not answerable expects no documents, spans or answer")
        return self


class CaseLine(_CaseModel):
    """One line of a case file: a question with its scope and expectations."""

    question: _Texts = Field(min_length=1)
    scope: _Scope = _Scope()
    mode: Mode = "auto"
    expected: Expected = Expected()
    type: QuestionType | None = None
    id: str = ""
    tags: _Texts = ()

    @field_validator("id", mode="before")
    @classmethod
    def _written(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _measurable(self) -> CaseLine:
        if any(not turn.strip() for turn in self.question):
            raise ValueError("a question is empty")
        if self.expected == Expected() and self.type is None:
            raise ValueError("nothing is expected, so nothing can be measured")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An evaluation case: a question with its filters and expectations.

    Attributes:
        line: the line number in the file, from 1.
        turns: the user's messages, oldest first; the last is the question.
        type: the expected question type, if the case states it.
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
    """The cases of a JSON Lines file, in order."""
    seen: dict[str, int] = {}
    cases = []
    for number, text in _numbered_lines(path):
        case = _parse_case(path, number, text)
        if case.id in seen:
            raise RequestError(
                f"{path}, line {number}: the same id as line {seen[case.id]} ({case.id})",
                hint="give each case an id of its own, or drop one of them",
            )
        seen[case.id] = number
        cases.append(case)
    if not cases:
        raise RequestError(f"{path} contains no cases", hint=FORMAT)
    return cases


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text", hint=FORMAT) from error
    # Not splitlines(): it also breaks at characters that JSON strings may hold.
    for number, text in enumerate(content.split("\n"), 1):
        if text.strip():
            yield number, text


def _parse_case(path: Path, number: int, text: str) -> Case:
    try:
        line = CaseLine.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise RequestError(
            f"{path}, line {number}: not JSON: {error.msg} at character {error.pos + 1}",
            hint="every line is one JSON object",
        ) from error
    except ValidationError as error:
        problem = error.errors()[0]  # the first one, with the name of its field
        reason = invalid_value(problem, ".".join(map(str, problem["loc"])) or "the line")
        raise RequestError(f"{path}, line {number}: {reason}", hint=FORMAT) from error
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


Place = tuple[str, Span]  # (document id, span of its stored text)

_SEPARATOR = re.compile(r"[/#?]")
MAX_CACHED_TEXTS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The expected documents and places of a case, by name, found in a knowledge base.

    Attributes:
        grades: the grade of each target document.
        documents: the ids that meet each target document.
        span_grades, spans: the same for target places.
        missing: expected things that the knowledge base does not contain, in words.
    """

    grades: Mapping[str, float] = field(default_factory=dict)
    documents: Mapping[str, frozenset[str]] = field(default_factory=dict)
    span_grades: Mapping[str, float] = field(default_factory=dict)
    spans: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def met_by(self, document_id: str) -> frozenset[str]:
        """The names of the target documents that a document meets."""
        return frozenset(name for name, ids in self.documents.items() if document_id in ids)

    def spans_met_by(self, document_id: str, span: Span) -> frozenset[str]:
        """The names of the target places that a span overlaps."""
        return frozenset(
            name
            for name, places in self.spans.items()
            if any(other_id == document_id and span.overlaps(other) for other_id, other in places)
        )

    def ranking(self, document_ids: Iterable[str]) -> list[frozenset[str]]:
        """The targets met by each document; repeated documents count once."""
        return [self.met_by(document_id) for document_id in dict.fromkeys(document_ids)]


class Resolver:
    """Finds the expected documents and places of cases in a knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._directory = lru_cache(maxsize=None)(self._read_directory)
        self._text = lru_cache(maxsize=MAX_CACHED_TEXTS)(kb.catalogue.document)

    def targets(self, case: Case) -> Targets:
        """The targets of ``case`` in the collections it asks."""
        # A span's document is expected too, unless the case names documents itself.
        span_documents = {
            span.document: WantedDocument(document=span.document, grade=span.grade)
            for span in case.expected.spans
        }
        expected = case.expected.documents or tuple(span_documents.values())
        names = case.filters.collections or tuple(self._kb.catalogue.collection_names())
        directory = self._directory(names)
        documents = {item.document: directory.named(item.document) for item in expected}
        missing = [f"document {name}" for name, ids in documents.items() if not ids]
        spans: dict[str, list[Place]] = {}
        grades: dict[str, float] = {}
        for number, span in enumerate(case.expected.spans):
            name = f"{number}:{span.document}"
            spans[name] = self._places(directory.named(span.document), span)
            grades[name] = span.grade
            if not spans[name] and f"document {span.document}" not in missing:
                missing.append(f"{_describe(span)} of {span.document}")
        return Targets(
            grades={item.document: item.grade for item in expected},
            documents={name: frozenset(ids) for name, ids in documents.items()},
            span_grades=grades,
            spans=spans,
            missing=tuple(missing),
        )

    def _read_directory(self, collections: tuple[str, ...]) -> _Directory:
        return _Directory(
            [facts for name in collections for facts in self._kb.catalogue.documents(name)]
        )

    def _places(self, document_ids: Iterable[str], expected: WantedSpan) -> list[Place]:
        places = []
        for document_id in document_ids:
            document = self._text(document_id)
            if document is not None:
                places += [(document_id, span) for span in _find_spans(document, expected)]
        return places


class _Directory:
    """Finds documents by the names that a case may use for them."""

    def __init__(self, documents: Sequence[DocumentFacts]) -> None:
        self._ids = {facts.id for facts in documents}
        self._addresses: defaultdict[str, list[str]] = defaultdict(list)
        self._titles: defaultdict[str, list[str]] = defaultdict(list)
        self._ends: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for facts in documents:
            self._titles[_fold_title(facts.title)].append(facts.id)
            for address in {_plain_address(facts.uri), _plain_address(facts.url)} - {""}:
                self._addresses[address].append(facts.id)
                self._ends[_last_part(address)].append((address, facts.id))

    def named(self, name: str) -> list[str]:
        """The ids of the documents with this id, address, end of an address, or title.

        The end of an address starts after a slash, number sign or question mark, so that ``a.md``
        does not match ``data.md``.
        """
        if name in self._ids:
            return [name]
        address = _plain_address(name)
        return (
            self._addresses.get(address)
            or self._by_address_end(address)
            or self._titles.get(_fold_title(name))
            or []
        )

    def _by_address_end(self, end: str) -> list[str]:
        document_ids: list[str] = []
        if not end:
            return document_ids
        for address, document_id in self._ends.get(_last_part(end), ()):
            before = address[: -len(end)]
            at_boundary = not before or _SEPARATOR.match(before[-1]) or _SEPARATOR.match(end[0])
            if address.endswith(end) and at_boundary:
                document_ids.append(document_id)
        return list(dict.fromkeys(document_ids))


def _find_spans(document: Document, target: WantedSpan) -> list[Span]:
    if target.quote:
        pattern = r"\s+".join(re.escape(word) for word in target.quote.split())
        return [
            Span(start=match.start(), end=match.end())
            for match in re.finditer(pattern, document.text, re.IGNORECASE)
        ]
    if target.page is not None:
        marks = (mark for mark in document.marks if isinstance(mark, PageMark))
        return _covering_span(
            [(mark.start, mark.end) for mark in marks if mark.page == target.page]
        )
    if target.seconds is not None:
        return _covering_span(_spoken_ranges(document, *target.seconds))
    if target.start is not None and target.end is not None and target.end <= len(document.text):
        return [Span(start=target.start, end=target.end)]
    return []


def _spoken_ranges(document: Document, begin: float, finish: float) -> list[tuple[int, int]]:
    """The text ranges spoken from ``begin`` to ``finish`` (seconds), or at that moment."""
    turns = sorted(
        (mark for mark in document.marks if isinstance(mark, TimeMark)), key=lambda mark: mark.begin
    )
    ranges = []
    for turn, later in zip(turns, [*turns[1:], None], strict=True):
        end = later.begin if later else turn.finish
        starts_inside = begin <= turn.begin < finish or turn.begin == begin
        lasts = turn.begin <= begin and (end is None or begin < end)
        if starts_inside or lasts:
            ranges.append((turn.start, turn.end))
    return ranges


def _covering_span(pieces: Sequence[tuple[int, int]]) -> list[Span]:
    """A list with the span from the first to the last piece; empty without pieces."""
    if not pieces:
        return []
    return [Span(start=min(start for start, _ in pieces), end=max(end for _, end in pieces))]


def _describe(span: WantedSpan) -> str:
    if span.quote:
        return f"quote “{span.quote}”"
    if span.page is not None:
        return f"page {span.page}"
    if span.seconds is not None:
        return f"second {span.seconds[0]:.0f}"
    return f"characters {span.start} to {span.end}"


def _fold_title(title: str) -> str:
    return " ".join(title.casefold().split())


def _plain_address(text: str) -> str:
    return unquote(text).rstrip("/")


def _last_part(address: str) -> str:
    return _SEPARATOR.split(address)[-1]
