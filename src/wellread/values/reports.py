"""The values of deep research: its limits, plan and facets, its events, and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wellread.types import Filters, Span
from wellread.values.answers import Answer, Question

FacetKind = Literal[
    "question",
    "side",
    "entity",
    "period",
    "speaker",
    "term",
    "section",
    "bridge",
    "model",
]
StopReason = Literal[
    "complete", "no_new_evidence", "round_limit", "time_limit", "budget", "cancelled"
]
RunState = Literal["planned", "running", "done", "failed", "cancelled"]
MOST_FACETS = 24  # of one run, those that came up on the way aside
WARNINGS: dict[StopReason, str] = {
    "round_limit": "stopped after the last round allowed; more may be there to find",
    "time_limit": "stopped when its time was used up; this is what was found until then",
    "budget": "stopped when its budget was used up; this is what was found until then",
    "cancelled": "stopped when it was cancelled; this is what was found until then",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may take; each is checked before the next search or call of a model.

    Attributes:
        rounds: of searching, 10 at most.
        seconds: of the run as a whole, those before it was resumed included.
        searches: all rounds together.
        dollars: of language models; None: what the budget of the settings leaves.
    """

    rounds: int = 4
    seconds: float = 60.0
    searches: int = 60
    dollars: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """One part of the question that is looked for by itself, and becomes a section.

    Attributes:
        id: ``f1``, ``f2``, … in the order in which they were made.
        query: what is searched for.
        filters: the limits of its search, those of the question included.
        why: where it comes from, in words ("11 of the documents found are from 2023").
        round: in which it came up; 1 for those of the plan.
        passages: ids of passages that are read in place of a search (a section of a document).
    """

    id: str
    kind: FacetKind
    title: str
    query: str
    filters: Filters = field(default_factory=Filters)
    why: str = ""
    round: int = 1
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchPlan:
    """What a run means to look for, and what that takes at most.

    Attributes:
        question: as it was understood, a follow-up written out.
        documents: that a first look found.
        model: who writes; empty when sentences are extracted.
        tokens, cost: of the model, at most; 0 without one. ``priced``: whether a price is known.
    """

    question: str
    facets: tuple[Facet, ...]
    searches: int
    seconds: float
    documents: int = 0
    model: str = ""
    tokens: int = 0
    cost: float = 0.0
    priced: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchRequest:
    """A question to research.

    Attributes:
        limits: what it may take.
        facets: of a plan that was shown and edited; None takes those that a first look proposes.
    """

    question: Question
    limits: Limits = Limits()
    facets: tuple[Facet, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """A facet's part of the report.

    Attributes:
        span: of the report's text, its heading included.
        found: whether a sentence of it is delivered; its text says "not found" otherwise.
    """

    facet: str
    title: str
    span: Span
    found: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document that a run read.

    Attributes:
        passages: how many of its passages were read.
        cited: whether the report cites it.
    """

    id: str
    title: str
    passages: int
    cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a run.

    Attributes:
        id: of the run.
        answer: the report as Markdown, with sentences, verdicts and one bibliography; its ``id``
            is that of a stored answer like any other.
        summary: the span of the summary in the answer's text.
        documents: all that were read, the best first.
        stopped: why the run ended; ``warning`` says so in words where something is cut.
        seconds, searches, calls: what it took.
    """

    id: str
    answer: Answer
    plan: ResearchPlan
    summary: Span
    sections: tuple[ReportSection, ...]
    stopped: StopReason
    rounds: int
    searches: int
    seconds: float
    calls: int = 0
    documents: tuple[ReadDocument, ...] = ()
    warning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEvent:
    """What the run is going to look for."""

    plan: ResearchPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """Something was looked for, found, or written.

    Attributes:
        stage: ``look``, ``search``, ``bridge``, ``model``, ``write``, ``verify``.
        text: in words, for a person.
        facet: which one it is about; empty for all.
        found: passages, sentences or facets, by the stage.
    """

    round: int
    stage: str
    text: str
    facet: str = ""
    found: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEvent:
    """The report; always the last event, and there is one."""

    report: Report


ResearchEvent = PlanEvent | ProgressEvent | ReportEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedEvent:
    """An event of a run with its number, from 1, by which it can be read again."""

    number: int
    event: ResearchEvent
