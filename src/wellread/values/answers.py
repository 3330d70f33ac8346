"""Value types of asking and answering: question, evidence, verdicts, citations, answer, events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from wellread.codec import storable
from wellread.text.parsed import Text, parse
from wellread.types import (
    AppliedLimit,
    EarlierTurn,
    Filters,
    Hit,
    Kind,
    Locator,
    Mode,
    Span,
    TableMark,
    Turn,
)

CATALOGUE, EXTRACTIVE, NOBODY, BEFORE = "catalogue", "extractive", "none", "past answer"
"""Values of ``answered_by``: a catalogue result, extracts, a refusal, a well-rated past answer."""
NOTHING = "nothing"  # the verdict's method for a sentence that states nothing
LIMITED_PREFIX = "Based on limited information: "  # prefix of an uncertain answer
RELAXED_CONFIDENCE = 0.6  # maximum confidence of an answer that ignores a limit of its question


class VerdictName(StrEnum):
    """How well its sources support a sentence, best first; JSON has the first string of each.

    ``quoted``: it is a verbatim quotation, which does not mean that the source is right;
    ``supported`` to ``unsupported`` were judged. ``label`` is the verdict as text; ``symbol`` and
    ``style`` are its form on a terminal.
    """

    label: str
    symbol: str
    style: str

    def __new__(cls, value: str, label: str = "", symbol: str = "", style: str = "") -> VerdictName:
        """Create a verdict with its label, symbol and style."""
        member = str.__new__(cls, value)
        member._value_, member.label, member.symbol, member.style = value, label, symbol, style
        return member

    QUOTED = "quoted", "quoted", "❞", "cyan"
    SUPPORTED = "supported", "supported", "✓", "green"
    PARTIAL = "partial", "partly supported", "~", "yellow"
    NOT_CHECKED = "not_checked", "not checked", "·", "dim"
    UNCITED = "uncited", "uncited", "?", "magenta"
    UNSUPPORTED = "unsupported", "unsupported", "✗", "bold red"

    @property
    def rank(self) -> int:
        """The position in the order, 0 for the best."""
        return list(VerdictName).index(self)

    @property
    def supports(self) -> bool:
        """Whether the source supports the sentence at least partly."""
        return self.rank <= VerdictName.PARTIAL.rank

    @property
    def whole(self) -> bool:
        """Whether the source supports the whole sentence: quoted or supported."""
        return self.rank <= VerdictName.SUPPORTED.rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A passage given to the answerer under a short key (``e1``), with its speaker turns.

    ``tables``: the tables whose rows it has, with the names of their columns.
    """

    key: str
    hit: Hit
    text: str
    span: Span
    locator: Locator
    turns: tuple[Turn, ...] = ()
    tables: tuple[TableMark, ...] = ()

    @property
    def parsed(self) -> Text:
        """The parsed text of the passage."""
        return parse(self.text)

    @property
    def heading(self) -> Text:
        """The parsed title and headings above the passage."""
        return parse(f"{self.hit.document.title} {' '.join(self.locator.heading)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence of a draft with the evidence keys that it cites.

    ``text`` has no markers. ``source``: the document span quoted verbatim. ``lead``: context needed
    to understand it, such as the header of its table or the line before its list.
    """

    text: str
    keys: tuple[str, ...]
    source: Span | None = None
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the cited evidence supports a claim.

    Attributes:
        method: how it was decided: ``verbatim``, ``judge``, ``number``, ``nearest`` (undecided;
            the most similar sentence is shown), ``nothing`` (it states nothing), ...
        key: the evidence that supports it or is most similar; empty if there is none.
        source: the span in that evidence's document.
        score: degree of support, 0-1.
        reason: explanation for readers ("the number 310 is not in the passage").
    """

    name: VerdictName
    method: str
    score: float
    key: str = ""
    source: Span | None = None
    reason: str = ""

    @property
    def states_nothing(self) -> bool:
        """Whether the sentence has nothing to check, such as a greeting or a lead-in."""
        return self.method == NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A claim of a draft with its verdict.

    ``repaired``: whether its citations were changed.
    """

    claim: Claim
    verdict: Verdict
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Links a span of the answer to a span of a source, with quote, place, link and verdict.

    ``why``: the model's sentence on why the source matters; may be empty.
    """

    id: int
    document_id: str
    version: str
    title: str
    url: str
    link: str
    kind: Kind
    source_type: str
    published_at: datetime | None
    relevance: float
    locator: Locator
    quote: str
    answer_span: Span
    source_span: Span
    verdict: VerdictName
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the delivered answer, at ``span`` of its text, with its verdict.

    Attributes:
        marked: the part of a quoted extract that answers the question.
        within: the extract continues in the next sentence; citations follow its last sentence.
    """

    text: str
    span: Span
    verdict: Verdict
    citations: tuple[int, ...]
    marked: bool = False
    within: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """Confidence of an answer: ``score`` 0-1, band, and the reason."""

    score: float
    band: Literal["high", "medium", "low", "none"]
    reasoning: str
    model_claim: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The cost of an answer."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    clusters: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum of both."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=self.cost + other.cost,
            clusters=self.clusters + other.clusters,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of answering, with its duration and the number of things found."""

    name: str
    seconds: float
    found: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """An exhaustive result with every row, even if the text names only some.

    Attributes:
        documents: for each row, the ids of the documents it is derived from.
        method: how it was computed, so that it can be checked.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    documents: tuple[tuple[str, ...], ...] = ()
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One side of a disagreement: its statement and the ids of the citations that support it."""

    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A disagreement between sources.

    Attributes:
        about: the subject of the disagreement.
        views: each side with its sources; empty if only a model claims that they disagree.
        reason: why they may differ (date, scope); may be empty.
    """

    about: str
    views: tuple[View, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A document, entity or story to explore next.

    Attributes:
        id: the id of the document, entity or story.
        reason: why it is suggested ("linked: extends", "also about taproot").
    """

    kind: Literal["document", "entity", "story"]
    title: str
    id: str = ""
    collection: str = ""
    url: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A delivered answer: text with rendered citation markers, and the proof of each sentence.

    Attributes:
        answered_by: the model's name, or ``extractive``, ``catalogue``, ``past answer``, ``none``.
        type: the detected question type (``question.QuestionType``).
        standalone: the question as understood, if a follow-up was rewritten.
        fallback: why the configured answerer did not write it; empty if it did.
        suggestions: questions found in the material or asked before.
        relaxed: ignored limits of the question; ``limits`` has all, including the user's filters.
        failures: steps that failed and were skipped, as text.
        rewritten: whether the question was resolved with earlier turns.
        cached: whether a stored answer was returned again.
        hallucinated_citations: number of unknown evidence keys removed from the draft.
        repaired_citations: number of sentences with a better citation or a wrong one removed.
        dropped_sentences: number of sentences removed by ``strict`` or as not part of an answer.
    """

    id: str
    question: str
    text: str
    citations: tuple[Citation, ...]
    sentences: tuple[Sentence, ...]
    confidence: Confidence
    answered_by: str
    mode: Mode = "quick"
    session_id: str = ""
    fallback: str = ""
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    related: tuple[Related, ...] = ()
    suggestions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    table: Table | None = None
    type: str = ""
    standalone: str = ""
    owner: str = ""
    relaxed: tuple[str, ...] = ()
    limits: tuple[AppliedLimit, ...] = ()
    failures: tuple[str, ...] = ()
    rewritten: bool = False
    cached: bool = False
    hallucinated_citations: int = 0
    repaired_citations: int = 0
    dropped_sentences: int = 0
    usage: Usage = Usage()
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        """The text and the confidence."""
        return f"{self.text}\n({self.confidence.band} confidence, {len(self.citations)} citations)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the part of the material to answer it from, and how.

    Attributes:
        filters: limits set by the user; limits found in the question's words are added.
        strict: drop unsupported sentences; None uses the setting.
        max_clusters: maximum number of news stories used; None uses the setting.
        owner: the user; sessions and their answers are private to their owner.
        fresh: ignore stored answers. ``recorded``: store this answer.
        models: whether language models may write. ``history``: replaces the session's turns.
    """

    text: str
    filters: Filters = field(default_factory=Filters)
    mode: Mode = "auto"
    session_id: str = ""
    strict: bool | None = None
    max_clusters: int | None = None
    owner: str = ""
    fresh: bool = False
    recorded: bool = True
    models: bool = True
    history: tuple[EarlierTurn, ...] = ()

    def __post_init__(self) -> None:
        for name in ("text", "filters", "session_id", "owner", "history"):
            object.__setattr__(self, name, storable(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent:
    """A step of answering was completed."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEvent:
    """The next piece of the draft while it is written; only the final answer is authoritative."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceEvent:
    """A sentence of the delivered answer with its verdict."""

    sentence: Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEvent:
    """The delivered and stored answer; always the last event."""

    answer: Answer


Event = StepEvent | TokenEvent | SentenceEvent | FinalEvent
