"""Value types of deep research: limits, plan, facets, events and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wellread.types import Filters, Span
from wellread.values.answers import Answer, Question

FacetKind = Literal["question", "side", "entity", "period", "speaker", "section", "bridge", "model"]
StopReason = Literal[
    "complete", "no_new_evidence", "round_limit", "time_limit", "budget", "source_removed"
]
# ``interrupted``: its process has ended, and it can be resumed.
RunState = Literal["planned", "running", "interrupted", "done", "failed", "cancelled"]
MAX_FACETS = 24  # facets of a plan; those added during the run are not counted
WARNINGS: dict[StopReason, str] = {
    "round_limit": "stopped after the last round allowed; there may be more to find",
    "time_limit": "stopped at the time limit; this is what was found until then",
    "budget": "stopped when the budget was used up; this is what was found until then",
    "source_removed": "stopped because a document that it had read was removed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a run; each is checked before the next search or model call.

    Attributes:
        rounds: search rounds, at most 10.
        seconds: working time of the whole run, including before it was resumed.
        searches: searches in all rounds together.
        dollars: cost of language models; None: limited only by the budget in the settings.
    """

    rounds: int = 4
    seconds: float = 60.0
    searches: int = 60
    dollars: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A part of the question that is searched separately and becomes a section.

    Attributes:
        id: ``f1``, ``f2``, … in order of creation.
        query: the search query.
        filters: the limits of its search, including the question's.
        why: why it was created ("11 of the documents found are from 2023").
        round: the round in which it was created; 1 for facets of the plan.
        passages: ids of passages to read instead of a search (a section of a document).
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
    """The planned searches of a run, with an estimate of its maximum cost.

    Attributes:
        question: the question as understood, with follow-ups resolved.
        documents: number of documents found by the first search.
        model: the model that writes; empty if sentences are extracted.
        tokens, cost: the model's maximum; 0 without a model. ``priced``: whether a price is known.
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
    """A question to research, and the limits of the run."""

    question: Question
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """The section of a report on one facet.

    Attributes:
        span: in the report's text, including the heading.
        found: whether it has any sentence; otherwise its text is "Nothing was found."
    """

    facet: str
    title: str
    span: Span
    found: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document that a run read.

    Attributes:
        passages: number of its passages that were read.
        cited: whether the report cites it.
    """

    id: str
    title: str
    passages: int
    cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a run.

    Attributes:
        id: the id of the run.
        answer: the report as Markdown, with sentences, verdicts and one bibliography; it is stored
            like any other answer.
        summary: the span of the summary in the answer's text.
        documents: all documents read, best first.
        stopped: why the run ended; ``warning`` is the message if it was cut short.
        seconds, searches, calls: resources used.
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
    """The plan of the run."""

    plan: ResearchPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """Progress of a run: something was searched, found or written.

    Attributes:
        stage: ``look``, ``search``, ``bridge``, ``model``, ``write``, ``verify``.
        text: description for readers.
        facet: the facet concerned; empty for all.
        found: number of passages, sentences or facets, depending on the stage.
    """

    round: int
    stage: str
    text: str
    facet: str = ""
    found: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEvent:
    """The report; always the last event."""

    report: Report


ResearchEvent = PlanEvent | ProgressEvent | ReportEvent
