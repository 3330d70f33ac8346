"""Converts an answer to the format of video archives, or adds how its material was found.

The format of a video archive has readable citation markers whatever ``citations.style`` is:
``[Title @ MM:SS]`` for recordings, otherwise ``[Title, p. 5]``, ``[Source: id]`` or ``[Title]``.
Every ``[Title @ MM:SS]`` in the text is listed in ``citations`` and ``sources``; other text that
looks like such a marker gets round brackets. ``serve/views.py`` explains the lines of field names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.deliver.cite import flatten_label, styled_marker
from wellread.ask.deliver.reply import notes_of
from wellread.ask.retrieve.ranking import Found
from wellread.kb import KnowledgeBase
from wellread.serve.features.answering import AskResponse
from wellread.serve.views import FACES, PlainShape, Shape
from wellread.store.catalogue.documents.relation_network import Path
from wellread.types import Hit
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
    subject=(str, lambda analysis: analysis.subject or analysis.question),
    entities=(
        Facts,
        lambda analysis: [
            {
                "words": entity.span.of(analysis.question),
                "title": entity.title,
                "entityId": entity.entity_id,
                "collection": entity.collection,
                "type": entity.type,
            }
            for entity in analysis.entities
        ],
    ),
    constraints=(
        Facts,
        lambda analysis: [
            {"kind": limit.kind, "words": limit.span.of(analysis.question), "value": limit.value}
            for limit in analysis.constraints
        ],
    ),
)


class Explanation(
    Shape,
    line="analysis strategy=found.strategy method used=found.hits paths notes",
    # How a catalogue result was computed; empty for other answers.
    method=(str, lambda body: body.found.method if isinstance(body.found, AggregateResult) else ""),
    paths=(tuple[str, ...], lambda body: list(map(describe_path, body.found.paths))),
    notes=(tuple[str, ...], lambda body: notes_of(body.analysis, body.found)),
):
    """How the material of an answer was found."""

    analysis: Analysis
    found: Found


class ExplainedResponse(Shape, line="*reply explanation"):
    """An answer with its explanation."""

    reply: AskResponse
    explanation: Explanation


def describe_path(path: Path) -> str:
    """Format as ``Seed library —requires→ Cool room``; reversed edges have the inverse name."""
    steps = (f" —{step.relation}→ {step.name}" for step in path.steps)
    return path.start.title + "".join(steps)


# --- the format of a video archive -----------------------------------------------------------

LIMITED_INFORMATION = "based on limited information"
# The markers at the end of a line or table row, as in the tables of a report.
MARKERS_AT_LINE_END = re.compile(r"(?: \[[^\[\]\n]*\])+(?=(?: \|)?$)", re.MULTILINE)
MARKER = re.compile(r"\[[^\[\]\n]*\]")
# The marker of a place in a recording; titles contain no square brackets.
PLACE_MARKER = re.compile(r"\[(?P<title>[^\[\]\n]+) @ (?P<time>(?:\d+:)?\d\d:\d\d)\]")


class QuerySource(PlainShape):
    """A cited place. Only recordings have a time, and only spoken passages a speaker.

    Attributes:
        video_id: the document's id, as in `GET /api/videos`
        video_title: as in the text, with round instead of square brackets
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
    """A cited place as in the marker `[video @ timestamp]` of the text."""

    video: str
    timestamp: str | None


class QueryResponse(PlainShape, line="* ?iterations ?warning ?notes"):
    """The answer in the format of a video archive; ``POST /api/ask`` also returns the evidence.

    ``iterations``, ``warning`` and ``notes`` are omitted when empty.

    Attributes:
        iterations: rounds of deep research
        warning: limitations of the answer
        notes: how the question was understood
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
    kb: KnowledgeBase, answer: Answer, *, report: Report | None = None, requested_id: str = ""
) -> QueryResponse:
    """Convert an answer to the format of ``POST /api/query``.

    Args:
        report: the report of deep research whose text is ``answer``.
        requested_id: the session that the request named.
    """
    sources = tuple(map(_source, answer.citations))
    return QueryResponse(
        answer=_archive_text(kb, answer),
        session_id=answer.session_id,
        sources=sources,
        citations=tuple(
            QueryCitation(video=source.video_title, timestamp=source.timestamp_formatted)
            for source in sources
        ),
        mode="deep" if report is not None else "quick",
        iterations=report.rounds if report is not None else None,
        warning="; ".join(_warnings(answer, report, requested_id)) or None,
        notes=answer.notes or None,
    )


def _warnings(answer: Answer, report: Report | None, requested_id: str) -> list[str]:
    """Describe the limitations of the answer."""
    warnings = []
    if answer.confidence.band == "low":
        warnings.append(LIMITED_INFORMATION)
    if answer.fallback:
        warnings.append(f"answered by {answer.answered_by}: {answer.fallback}")
    if report is not None and report.warning:
        warnings.append(report.warning)
    if requested_id and requested_id != answer.session_id:
        warnings.append(f"“{requested_id}” is not a usable session id; a new session was started")
    return warnings


def _source(citation: Citation) -> QuerySource:
    begin = citation.locator.begin
    return QuerySource(
        video_id=citation.document_id,
        video_title=flatten_label(citation.title),
        timestamp=None if begin is None else round(begin, 3),
        timestamp_formatted=None if begin is None else format_time(begin),
        excerpt=citation.quote,
        speaker=citation.locator.speaker,
    )


def _marker(kb: KnowledgeBase, citation: Citation) -> str:
    return styled_marker(kb, citation, "auto" if citation.locator.begin is None else "time")


def _archive_text(kb: KnowledgeBase, answer: Answer) -> str:
    """Return the text with its markers in archive format, including those of a report's tables."""
    ends = (markers_after(answer.text, sentence).end for sentence in answer.sentences)
    # The text after the last sentence is the tables of a report.
    end = max(ends, default=len(answer.text))
    without_tables = replace(answer, text=answer.text[:end])
    text = with_markers(without_tables, lambda cited: _marker(kb, cited), convert=_escape_places)
    return text + _archive_tables(kb, answer, answer.text[end:])


def _archive_tables(kb: KnowledgeBase, answer: Answer, text: str) -> str:
    """Convert the end of a report: timeline, table and disagreements."""
    style = kb.settings.citations.style
    # Reversed, so that the first of the citations with the same marker wins.
    citations = reversed(answer.citations)
    archive_markers = {styled_marker(kb, cited, style): _marker(kb, cited) for cited in citations}

    def convert(marker: re.Match[str]) -> str:
        return archive_markers.get(marker[0], _escape_places(marker[0]))

    converted: list[str] = []
    end = 0
    for markers in MARKERS_AT_LINE_END.finditer(text):
        converted += [_escape_places(text[end : markers.start()]), MARKER.sub(convert, markers[0])]
        end = markers.end()
    return "".join([*converted, _escape_places(text[end:])])


def _escape_places(text: str) -> str:
    """Return ``text`` with round brackets in everything that looks like a place marker."""
    return PLACE_MARKER.sub(lambda marker: f"({marker.group()[1:-1]})", text)
