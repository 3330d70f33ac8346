"""What a case expects, looked up in a knowledge base: document ids and spans of stored texts.

Several documents may bear the name that a case gives (the same item in two collections), and a
quote may stand in several places: meeting one of them is enough.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote

from wellread.evaluation.cases import Case, WantedDocument, WantedSpan
from wellread.kb import KnowledgeBase
from wellread.types import Document, DocumentFacts, Hit, PageMark, Span, TimeMark

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
