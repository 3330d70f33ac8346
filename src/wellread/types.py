"""Core data types: documents, spans, marks, passages, filters and search hits. All are frozen.

A document has one ``text``, stored once, with ``marks`` on it. Everything else that points into
the text is a :class:`Span`; page, time, speaker, heading and line are looked up from the marks by
the same code for every kind of source (``values/locators.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Kind = Literal["article", "page", "paper", "transcript", "entity", "qa"]
KINDS: tuple[Kind, ...] = ("article", "page", "paper", "transcript", "entity", "qa")

Mode = Literal["quick", "deep", "auto"]


# --- places in a text ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Half-open character range ``[start, end)`` of one version of a document's text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: [{self.start}, {self.end})")

    def __len__(self) -> int:
        return self.end - self.start

    def of(self, text: str) -> str:
        """The characters of ``text`` that the span covers."""
        return text[self.start : self.end]

    def moved(self, by: int) -> Span:
        """Return the span shifted by ``by`` characters."""
        return Span(start=self.start + by, end=self.end + by)

    def overlaps(self, other: Span) -> bool:
        """Whether the two spans share at least one character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle on a page as shares of its width and height, origin at the top left."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMark:
    """The range is on page ``page`` (counted from 1), in ``box`` when that is known.

    ``label`` is the printed number ("iv") where it differs; marks with a box have none.
    """

    start: int
    end: int
    page: int
    box: Box | None = None
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMark:
    """The range was said from ``begin`` to ``finish`` (seconds from the recording's start)."""

    start: int
    end: int
    begin: float
    finish: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerMark:
    """The range was said by ``speaker``."""

    start: int
    end: int
    speaker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadingMark:
    """The range is under these headings, outermost first."""

    start: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMark:
    """The range begins on line ``line`` (counted from 1) of the source file."""

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMark:
    """The lines of the range are rows of a table with these column names, without its header."""

    start: int
    end: int
    columns: tuple[str, ...]


Mark = PageMark | TimeMark | SpeakerMark | HeadingMark | LineMark | TableMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """The location of a span for display and for opening it.

    Attributes:
        label: ``p. 5``, ``12:14 · John``, ``§ Setup › Windows``, ``line 12``; may be empty.
        page, begin, speaker, heading, line: the values in the label, if known.
        box: the rectangle on the page, if known.
    """

    label: str
    page: int | None = None
    box: Box | None = None
    begin: float | None = None
    speaker: str | None = None
    heading: tuple[str, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTurn:
    """An earlier question and its answer, as sent by the client.

    Attributes:
        answer_id: the stored answer's id; if it still exists, it replaces ``answer``.
    """

    question: str
    answer: str = ""
    answer_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A passage spoken by one person without interruption by another."""

    speaker: str
    span: Span


# --- documents -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A typed, directed edge from the document's entity to ``target`` (an entity id)."""

    type: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityFacts:
    """The fields that make a document a node of the knowledge graph."""

    entity_id: str
    entity_type: str = ""
    aliases: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFeedback:
    """An expert's rating of one sentence of a past answer (``score`` 0-100)."""

    score: int | None = None
    explanation: str = ""
    harmful: bool = False
    content_issue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuestion:
    """A past question with its answer and any feedback of an expert.

    Attributes:
        flow: the user's earlier turns, oldest first.
        score: the expert's rating of the whole answer, 0-100.
        expert_citation_url: the better citation that the expert gave.
    """

    question: str
    answer: str = ""
    flow: tuple[str, ...] = ()
    citation_url: str = ""
    score: int | None = None
    expert_citation_url: str = ""
    sentences: tuple[SentenceFeedback, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One source item: its text, the marks on it, and the metadata for filters and links.

    Attributes:
        collection: the set of documents that a question is scoped to.
        uri: identifies the document in its collection (a ``file:`` or ``https:`` URI).
        url: the address for readers; the ``uri`` when empty.
        source_type: more specific than ``kind``, set by the source (``rss``, ``pdf``, ``notice``).
        taxonomy: values by dimension, for example ``{"sectors": ("energy",)}``.
        transcript_url: where a feed says that the words of its episode stand; it is not stored.
    """

    collection: str
    uri: str
    kind: Kind
    title: str
    text: str
    marks: tuple[Mark, ...] = ()
    url: str = ""
    source_type: str = ""
    language: str = ""
    authors: tuple[str, ...] = ()
    published_at: datetime | None = None
    summary: str = ""
    media_url: str = ""
    taxonomy: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entity: EntityFacts | None = None
    past_question: PastQuestion | None = None
    transcript_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A span of one document version, indexed and retrieved as a unit.

    ``passage.text == document.text[span.start:span.end]`` always holds. ``context`` (title and
    heading path) is embedded and searched together with the text but is not part of it.
    """

    id: str
    document_id: str
    version: str
    span: Span
    text: str
    context: str = ""
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The limits of a search. Values of one field are alternatives, and all fields must match; an
    empty field matches everything. ``collections`` is never relaxed.

    Attributes:
        published_from, published_to: inclusive; a document without a date matches neither.
        taxonomy: pairs of dimension and value; a document must match at least one pair of every
            dimension named.
    """

    collections: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    document_ids: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    published_from: datetime | None = None
    published_to: datetime | None = None
    taxonomy: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedLimit:
    """A limit that was applied to the search for an answer.

    Attributes:
        kind: the field ("time", "speaker", "kind", "source_type", "language", "collection", ...).
        value: the limit in words ("2025-10-01 to 2025-12-31").
        origin: whether the asker set it, or it comes from the question's own words.
        relaxed: whether it was dropped because nothing matched it.
    """

    kind: str
    value: str
    origin: Literal["asker", "question"]
    relaxed: bool = False


# --- search ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row of a ranked list from an index (a larger score is better)."""

    passage_id: str
    document_id: str
    version: str
    span: Span
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRank:
    """The position of a hit in one ranked list (``rank`` counted from 1)."""

    name: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage found by a search, with its rank in each list (``ranks``)."""

    passage: Passage
    document: DocumentFacts
    score: float
    ranks: tuple[ListRank, ...] = ()
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFacts:
    """A document without its text and marks, for lists, filters and citations."""

    id: str
    version: str
    collection: str
    uri: str
    kind: Kind
    title: str
    url: str = ""
    source_type: str = ""
    language: str = ""
    authors: tuple[str, ...] = ()
    published_at: datetime | None = None
    media_url: str = ""
    characters: int = 0
