"""The values that travel through Wellread. All are frozen; nothing here does I/O.

A document has one ``text``, stored once, and ``marks`` on it. Everything else that points into
the text is a :class:`Span`; page, time, speaker, heading and line are looked up from the marks
(see ``values/locators.py``) by the same code whatever the source was.
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
        """The span ``by`` characters further on."""
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
    """The range stands on page ``page`` (counted from 1), in ``box`` when that is known."""

    start: int
    end: int
    page: int
    box: Box | None = None


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
    """The range stands under these headings, outermost first."""

    start: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMark:
    """The range begins on line ``line`` (counted from 1) of the source file."""

    start: int
    end: int
    line: int


Mark = PageMark | TimeMark | SpeakerMark | HeadingMark | LineMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """What a span looks like to a person, and how to open it.

    Attributes:
        label: ``p. 5``, ``12:14 · John``, ``§ Setup › Windows``, ``line 12``; may be empty.
        page, begin, speaker, heading, line: the facts behind the label, where known.
        box: where on the page, where known.
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
    """A question that was asked before and what was answered, as whoever asks kept it.

    Attributes:
        answer_id: of the stored answer; where it is still known, it counts instead of ``answer``.
    """

    question: str
    answer: str = ""
    answer_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one person says without a break by another."""

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
    """What makes a document a node of the knowledge graph."""

    entity_id: str
    entity_type: str = ""
    aliases: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFeedback:
    """An expert's judgement of one sentence of a past answer (``score`` 0-100)."""

    score: int | None = None
    explanation: str = ""
    harmful: bool = False
    content_issue: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuestion:
    """A past question with its answer and, where there is one, an expert's feedback.

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
    """One source item: its text, the marks on it, and the facts that filters and links need.

    Attributes:
        collection: the set of documents that a question is scoped to.
        uri: names the document inside its collection (a ``file:`` or ``https:`` URI).
        url: where a reader opens it; the ``uri`` when empty.
        source_type: finer than ``kind``, as the source says it (``rss``, ``pdf``, ``notice``).
        taxonomy: dimension to values, for example ``{"sectors": ("energy",)}``.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A span of one version of a document that is indexed and retrieved.

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
    """What a search is limited to. An empty field does not limit; values of one field are
    alternatives, fields add up. ``collections`` is a hard border.

    Attributes:
        published_from, published_to: inclusive; a document without a date matches neither.
        taxonomy: pairs of dimension and value; a document must match at least one pair of each
            dimension that is named.
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
    """A limit that the answer was looked for within.

    Attributes:
        kind: of what ("time", "speaker", "kind", "source_type", "language", "collection", ...).
        value: in words ("2025-10-01 to 2025-12-31").
        origin: whether the asker set it, or the question's own words did.
        relaxed: it matched nothing and was left out.
    """

    kind: str
    value: str
    origin: Literal["asker", "question"]
    relaxed: bool = False


# --- finding ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One row of one ranked list that an index returned (score: larger is better)."""

    passage_id: str
    document_id: str
    version: str
    span: Span
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRank:
    """Where a hit stood in one ranked list (``rank`` counted from 1)."""

    name: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found, with the reasons why (``ranks``, one entry per list)."""

    passage: Passage
    document: DocumentFacts
    score: float
    ranks: tuple[ListRank, ...] = ()
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFacts:
    """A document without its text and marks: what lists, filters and citations show."""

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
