"""The values of asking and answering: question, evidence, verdicts, citations, answer, events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from wellread.codec import storable
from wellread.text.parsed import Text, parse
from wellread.types import AppliedLimit, EarlierTurn, Filters, Hit, Kind, Locator, Mode, Span, Turn

CATALOGUE, EXTRACTIVE, NOBODY, BEFORE = "catalogue", "extractive", "none", "past answer"
"""By whom: an exhaustive result, chosen sentences, a refusal, one that an expert rated well."""
NOTHING = "nothing"  # the method of a verdict on a sentence that states nothing
LIMITED = "Based on limited information: "  # with what an answer begins that is not sure
_NO_LINK = re.compile(r"[<>\s]")  # what ends an address in Markdown
_MARKUP = re.compile(r"([\[\]\\`*_<])")
RELAXED = 0.6  # the most that an answer is sure that does not keep to a limit of its question


class VerdictName(StrEnum):
    """How a sentence stands to its sources, best first; JSON holds the first string of each.

    ``quoted``: it stands word for word in what it cites, which says nothing on whether that is
    right; ``supported`` to ``unsupported`` were judged. ``label`` is the verdict in words;
    ``symbol`` and ``style`` are how a terminal shows it.
    """

    label: str
    symbol: str
    style: str

    def __new__(cls, value: str, label: str = "", symbol: str = "", style: str = "") -> VerdictName:
        """A verdict with its words, its symbol and its colour."""
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
        """Its place in the order, 0 for the best."""
        return list(VerdictName).index(self)

    @property
    def supports(self) -> bool:
        """Whether the source bears out the sentence, be it in part."""
        return self.rank <= VerdictName.PARTIAL.rank

    @property
    def whole(self) -> bool:
        """Whether the source bears out all of the sentence: it is quoted, or supported."""
        return self.rank <= VerdictName.SUPPORTED.rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A passage given to the answerer under a short key (``e1``), and who says what of it."""

    key: str
    hit: Hit
    text: str
    span: Span
    locator: Locator
    turns: tuple[Turn, ...] = ()

    @property
    def parsed(self) -> Text:
        """The passage as it is read."""
        return parse(self.text)

    @property
    def heading(self) -> Text:
        """What stands above the passage: its document's title and the headings."""
        return parse(f"{self.hit.document.title} {' '.join(self.locator.heading)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of a draft with the evidence keys it cites.

    ``text`` is free of markers; ``source``: the span of its document that it is, word for word.
    ``lead``: what it is read with: the head of its table, the line that announces its list.
    """

    text: str
    keys: tuple[str, ...]
    source: Span | None = None
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether one claim is borne out by what it cites.

    Attributes:
        method: what decided: ``verbatim``, ``judge``, ``number``, ``nearest`` (nothing did, it is
            the nearest sentence that is shown), ``nothing`` (it states nothing), ...
        key: the evidence that bears it out, or comes nearest; empty when none does.
        source: the span of it in that evidence's document.
        score: support, 0-1.
        reason: in words, for a reader ("the number 310 is not in the passage").
    """

    name: VerdictName
    method: str
    score: float
    key: str = ""
    source: Span | None = None
    reason: str = ""

    @property
    def states_nothing(self) -> bool:
        """Whether the sentence says nothing that could be checked: a courtesy, a lead-in."""
        return self.method == NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A claim of a draft with its verdict.

    ``repaired``: whether its citations are others than those that it came with.
    """

    claim: Claim
    verdict: Verdict
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Answer span -> source span, with the quote, the place, a link and the verdict.

    ``why``: in a sentence of the model that wrote, why the source matters; empty where none said.
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
    """One sentence of the delivered answer (``span`` of the answer's text) and its verdict.

    Attributes:
        marked: of a quoted stretch, the part that answers.
        within: the stretch goes on in the next sentence; what it cites is told behind the last.
    """

    text: str
    span: Span
    verdict: Verdict
    citations: tuple[int, ...]
    marked: bool = False
    within: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure: ``score`` 0-1, band, and why."""

    score: float
    band: Literal["high", "medium", "low", "none"]
    reasoning: str
    model_claim: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    clusters: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The cost of both."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=self.cost + other.cost,
            clusters=self.clusters + other.clusters,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of answering: how long it took and how many things it found."""

    name: str
    seconds: float
    found: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """An exhaustive result: every row, however many the text names.

    Attributes:
        documents: for each row the ids of the documents that it rests on.
        method: how it was worked out, so that it can be checked.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    documents: tuple[tuple[str, ...], ...] = ()
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One side of a disagreement: what is said, and the ids of the citations that say it."""

    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Where sources disagree.

    Attributes:
        about: what on, in words.
        views: each side with its sources; empty when only a model says that they disagree.
        reason: why they may differ (date, scope), in words; may be empty.
    """

    about: str
    views: tuple[View, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Something to explore next.

    Attributes:
        id: the document's, entity's or story's id.
        reason: why it is named, in words ("linked: extends", "also about taproot").
    """

    kind: Literal["document", "entity", "story"]
    title: str
    id: str = ""
    collection: str = ""
    url: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A delivered answer: the text with rendered citation markers, and the proof of it.

    Attributes:
        answered_by: the model's name, or ``extractive``, ``catalogue``, ``past answer``, ``none``.
        type: what kind of question it was taken for (``questions.QuestionType``).
        standalone: the question as it was understood, where a follow-up was rewritten.
        fallback: why another answerer than the configured one wrote it; empty when none did.
        suggestions: questions that the material asks itself, or that were asked before.
        relaxed: the question's limits that were left out; ``limits`` has all, the asker's too.
        failures: steps that failed and were done without, in words.
        rewritten: whether the question was read with the turns before it.
        cached: whether an answer given before was given again.
        hallucinated_citations: how many unknown evidence keys were removed from the draft.
        repaired_citations: how many sentences got a better citation, or lost a wrong one.
        dropped_sentences: how many sentences ``strict`` took out, or are none of an answer.
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
        """The text, and how sure it is."""
        return f"{self.text}\n({self.confidence.band} confidence, {len(self.citations)} citations)"

    def _repr_markdown_(self) -> str:
        """The text with its sources, as a notebook shows it."""
        lines = [self.text, ""]
        for one in self.citations:
            title = _MARKUP.sub(r"\\\1", " ".join(one.title.split()))
            web = one.url.startswith(("https://", "http://"))
            named = f"[{title}](<{one.url}>)" if web and not _NO_LINK.search(one.url) else title
            place = f", {one.locator.label}" if one.locator.label else ""
            lines.append(f"- \\[{one.id}\\] {named}{place}")
        return "\n".join((*lines, "", f"*{self.confidence.band} confidence*"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of which part of the material, and how.

    Attributes:
        filters: limits that the asker set; those found in the question's words are added.
        strict: drop unsupported sentences; None takes the setting.
        max_clusters: most stories that news is told from; None takes the setting.
        owner: whose question it is; sessions and their answers are private to their owner.
        fresh: write anew, whatever answer is kept. ``recorded``: keep this one.
        models: whether language models may write. ``history``: turns in place of the session's.
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
    """A step of answering has ended."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEvent:
    """The next piece of the draft, as it is written. What counts is the final answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceEvent:
    """A sentence of the delivered answer has its verdict."""

    sentence: Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEvent:
    """The answer as it is delivered and recorded; always the last event, and there is one."""

    answer: Answer


Event = StepEvent | TokenEvent | SentenceEvent | FinalEvent
