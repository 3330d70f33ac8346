"""Other forms of an answer: how it was found, and the form of a video archive.

In the form of a video archive the text names its sources itself whatever ``citations.style`` says,
so that a program can read them: ``[Title @ MM:SS]`` for what is in a recording, ``[Title, p. 5]``,
``[Source: id]`` or ``[Title]`` else. Nothing else in the text looks like the first: every one that
stands there is among ``citations`` and ``sources``.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Literal

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.deliver.cite import flat, styled
from wellread.ask.deliver.reply import notes_of
from wellread.ask.retrieve.ranking import Found
from wellread.kb import KnowledgeBase
from wellread.serve.features.answering import AskResponse
from wellread.serve.views import FACES, PlainShape, Shape
from wellread.store.catalogue.documents.relation_network import Path
from wellread.types import Filters, Hit
from wellread.values.answer_text import markers_after, with_markers
from wellread.values.answers import Answer, Citation
from wellread.values.locators import format_time
from wellread.values.question import Analysis
from wellread.values.reports import Report

# --- how an answer was found -----------------------------------------------------------------

Facts = tuple[dict[str, str], ...]

FACES.show(
    Hit,
    "passage_id=passage.id title=document.title score ranks",
    score=(float, lambda hit: round(hit.score, 4)),
)
FACES.show(
    Analysis,
    "type mode reasons subject terms entities constraints sides",
    subject=(str, lambda read: read.subject or read.question),
    entities=(
        Facts,
        lambda read: [
            {
                "words": one.span.of(read.question),
                "title": one.title,
                "entityId": one.entity_id,
                "collection": one.collection,
                "type": one.type,
            }
            for one in read.entities
        ],
    ),
    constraints=(
        Facts,
        lambda read: [
            {"kind": one.kind, "words": one.span.of(read.question), "value": one.value}
            for one in read.constraints
        ],
    ),
)


def _searches(told: Any) -> list[dict[str, object]]:
    """Each search: what for, and within which filters."""
    return [
        {
            "purpose": look.purpose,
            "query": look.query,
            "filters": filters_in_words(look.filters),
        }
        for look in told.found.traces
    ]


class Explanation(
    Shape,
    line="analysis strategy=found.strategy method searches used=found.hits paths notes",
    searches=(tuple[dict[str, Any], ...], _searches),
):
    """How an answer came to what it rests on."""

    analysis: Analysis
    found: Found

    @property
    def method(self) -> str:
        """How a result of the catalogue was worked out."""
        return self.found.method if isinstance(self.found, AggregateResult) else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The ways through the graph, in words."""
        return tuple(map(path_in_words, self.found.paths))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of it."""
        return notes_of(self.analysis, self.found)


class ExplainedResponse(Shape, line="*reply explanation"):
    """The answer and its explanation, where the request asked for one."""

    reply: AskResponse
    explanation: Explanation


def path_in_words(path: Path) -> str:
    """``Seed library —requires→ Cool room``; an arrow the other way reads the inverse name."""
    line = path.start.title
    for step in path.steps:
        line += f" —{step.relation}→ {step.name}"
    return line


def filters_in_words(filters: Filters) -> dict[str, str]:
    """The filters that limit, by name."""
    told: dict[str, str] = {}
    for field in fields(Filters):
        value: Any = getattr(filters, field.name)
        if isinstance(value, datetime):
            told[field.name] = value.date().isoformat()
        elif field.name == "taxonomy" and value:
            told[field.name] = ", ".join(f"{dimension}={each}" for dimension, each in value)
        elif value:
            told[field.name] = ", ".join(value)
    return told


# --- the form of a video archive -------------------------------------------------------------

LIMITED = "based on limited information"
# The markers at the end of a line or of a row: those of a report outside its sentences.
CLOSING = re.compile(r"(?: \[[^\[\]\n]*\])+(?=(?: \|)?$)", re.MULTILINE)
ONE_MARKER = re.compile(r"\[[^\[\]\n]*\]")
# A place in a recording, as the text of an answer names it; titles hold no square brackets.
PLACE = re.compile(r"\[(?P<title>[^\[\]\n]+) @ (?P<time>(?:\d+:)?\d\d:\d\d)\]")


class QuerySource(PlainShape):
    """A cited place. What is no recording has no time, and what nobody says has no speaker.

    Attributes:
        video_id: the document's id, as in `GET /api/videos`
        video_title: as in the text: square brackets are round ones there
        timestamp: seconds from the beginning
        timestamp_formatted: `MM:SS`, or `H:MM:SS` from an hour on
        excerpt: the quotation, verbatim
    """

    video_id: str
    video_title: str
    timestamp: float | None
    timestamp_formatted: str | None
    excerpt: str
    speaker: str | None


class QueryCitation(PlainShape):
    """A cited place, in short, as the text names it: `[video @ timestamp]`."""

    video: str
    timestamp: str | None


class QueryResponse(PlainShape, line="* ?iterations ?warning ?notes"):
    """The answer in the form of the archive; ``POST /api/ask`` gives the proof of it.

    ``iterations``, ``warning`` and ``notes`` are left out where there is nothing to say.

    Attributes:
        iterations: rounds of deep research
        warning: what makes the answer less than asked
        notes: how the question was read
    """

    answer: str
    session_id: str
    sources: tuple[QuerySource, ...]
    citations: tuple[QueryCitation, ...]
    mode: Literal["quick", "deep"]
    iterations: int | None = None
    warning: str | None = None
    notes: tuple[str, ...] | None = None


def query_body(
    kb: KnowledgeBase, answer: Answer, *, report: Report | None = None, asked_in: str = ""
) -> QueryResponse:
    """The answer in the form of ``POST /api/query``.

    Args:
        report: of deep research, which ``answer`` is the text of.
        asked_in: the session that it was asked in.
    """
    return QueryResponse(
        answer=_text(kb, answer),
        session_id=answer.session_id,
        sources=tuple(map(_source, answer.citations)),
        citations=tuple(map(_citation, answer.citations)),
        mode="deep" if report is not None else "quick",
        iterations=report.rounds if report is not None else None,
        warning="; ".join(_warnings(answer, report, asked_in)) or None,
        notes=answer.notes or None,
    )


def _warnings(answer: Answer, report: Report | None, asked_in: str) -> list[str]:
    """What makes the answer less than what was asked for, in words."""
    told = []
    if answer.confidence.band == "low":
        told.append(LIMITED)
    if answer.fallback:
        told.append(f"answered by {answer.answered_by}: {answer.fallback}")
    if report is not None and report.warning:
        told.append(report.warning)
    if asked_in and asked_in != answer.session_id:
        told.append(f"“{asked_in}” cannot name a session; another one was begun")
    return told


def _source(citation: Citation) -> QuerySource:
    begin = citation.locator.begin
    return QuerySource(
        video_id=citation.document_id,
        video_title=flat(citation.title),
        timestamp=None if begin is None else round(begin, 3),
        timestamp_formatted=_time(begin),
        excerpt=citation.quote,
        speaker=citation.locator.speaker,
    )


def _citation(citation: Citation) -> QueryCitation:
    return QueryCitation(video=flat(citation.title), timestamp=_time(citation.locator.begin))


def _time(begin: float | None) -> str | None:
    return None if begin is None else format_time(begin)


def _marker(kb: KnowledgeBase, citation: Citation) -> str:
    return styled(kb, citation, "auto" if citation.locator.begin is None else "time")


def _text(kb: KnowledgeBase, answer: Answer) -> str:
    """The text with each marker in the form of the archive, those of a report's tables too."""
    ends = [markers_after(answer.text, one).end for one in answer.sentences]
    end = max(ends, default=len(answer.text))
    sentences = replace(answer, text=answer.text[:end])
    told = with_markers(sentences, lambda one: _marker(kb, one), said=_unmarked)
    return told + _tables(kb, answer, answer.text[end:])


def _tables(kb: KnowledgeBase, answer: Answer, text: str) -> str:
    """What follows the last sentence: timeline, table and disagreements of a report."""
    style = kb.settings.citations.style
    known = {styled(kb, one, style): _marker(kb, one) for one in reversed(answer.citations)}
    pieces: list[str] = []
    place = 0
    for run in CLOSING.finditer(text):
        pieces.append(_unmarked(text[place : run.start()]))
        pieces.append(ONE_MARKER.sub(lambda one: known.get(one[0], _unmarked(one[0])), run[0]))
        place = run.end()
    return "".join([*pieces, _unmarked(text[place:])])


def _unmarked(text: str) -> str:
    """``text`` without anything that looks like the marker of a place in a recording."""
    return PLACE.sub(lambda found: f"({found.group()[1:-1]})", text)
