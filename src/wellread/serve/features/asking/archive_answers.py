"""An answer in the form of a video archive: places as ``[Title @ MM:SS]``, sources by second.

Whatever ``citations.style`` says, the text names its sources itself, so that a program can read
them: ``[Title @ MM:SS]`` for what is in a recording, ``[Title, p. 5]``, ``[Source: id]`` or
``[Title]`` else. Nothing else in the text looks like the first: every one that stands there is
among ``citations`` and ``sources``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from wellread.ask.deliver.cite import flat, of_one_speaker, sources_of, styled
from wellread.ask.plan import find, reading
from wellread.ask.retrieve.ranking import pack
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import PlainBody
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span
from wellread.values.answer_text import markers_after, with_markers
from wellread.values.answers import Answer, Citation, Question, VerdictName
from wellread.values.locators import format_time
from wellread.values.reports import ProgressEvent, Report

LIMITED = "based on limited information"
MOST_PARTIAL = 5  # places that are named when the time is up
MOST_TOLD = 20  # steps of research that are told of then
# The markers at the end of a line or of a row: those of a report outside its sentences.
CLOSING = re.compile(r"(?: \[[^\[\]\n]*\])+(?=(?: \|)?$)", re.MULTILINE)
ONE_MARKER = re.compile(r"\[[^\[\]\n]*\]")
# A place in a recording, as the text of an answer names it; titles hold no square brackets.
PLACE = re.compile(r"\[(?P<title>[^\[\]\n]+) @ (?P<time>(?:\d+:)?\d\d:\d\d)\]")


class QuerySource(PlainBody):
    """A cited place. What is no recording has no time, and what nobody says has no speaker."""

    video_id: str = Field(description="the document's id, as in `GET /api/videos`")
    video_title: str = Field(description="as in the text: square brackets are round ones there")
    timestamp: float | None = Field(description="seconds from the beginning")
    timestamp_formatted: str | None = Field(description="`MM:SS`, or `H:MM:SS` from an hour on")
    excerpt: str = Field(description="the quotation, verbatim")
    speaker: str | None


class QueryCitation(PlainBody):
    """A cited place, in short, as the text names it: `[video @ timestamp]`."""

    video: str
    timestamp: str | None


class QueryResponse(PlainBody):
    """The answer in the form of the archive; ``POST /api/ask`` gives the proof of it.

    ``iterations``, ``warning`` and ``notes`` are left out where there is nothing to say.
    """

    answer: str
    session_id: str
    sources: tuple[QuerySource, ...]
    citations: tuple[QueryCitation, ...]
    mode: Literal["quick", "deep"]
    iterations: int | None = Field(default=None, description="rounds of deep research")
    warning: str | None = Field(default=None, description="what makes the answer less than asked")
    notes: tuple[str, ...] | None = Field(default=None, description="how the question was read")


class QueryTimeoutResponse(QueryResponse):
    """What was found until the time was up, and the error."""

    error: str
    detail: str
    hint: str


def query_body(
    kb: KnowledgeBase, answer: Answer, *, report: Report | None = None, asked_in: str = ""
) -> QueryResponse:
    """The answer in the form of ``POST /api/query``.

    Args:
        report: of deep research, which ``answer`` is the text of.
        asked_in: the session that it was asked in.
    """
    optional: dict[str, Any] = {}
    warnings = _warnings(answer, report, asked_in)
    if report is not None:
        optional["iterations"] = report.rounds
    if warnings:
        optional["warning"] = "; ".join(warnings)
    if answer.notes:
        optional["notes"] = answer.notes
    return QueryResponse(
        answer=_text(kb, answer),
        session_id=answer.session_id,
        sources=tuple(map(_source, answer.citations)),
        citations=tuple(map(_citation, answer.citations)),
        mode="deep" if report is not None else "quick",
        **optional,
    )


def timeout_body(body: QueryResponse, *, seconds: float, setting: str) -> QueryTimeoutResponse:
    """``body`` with the error that the time was up."""
    return QueryTimeoutResponse(
        **{name: getattr(body, name) for name in body.model_fields_set},
        error="timeout",
        detail=f"the answer took longer than {seconds:g} seconds; this was found until then",
        hint=f"ask a narrower question, or raise {setting}",
    )


def found_so_far(
    kb: KnowledgeBase,
    question: Question,
    mode: Literal["quick", "deep"],
    places: Sequence[Citation],
    progress: Sequence[ProgressEvent] = (),
) -> QueryResponse:
    """What can be told when the time is up and no sentence was checked: the places found."""
    lines = ["Not finished in time, so nothing was written and checked. What was found so far:", ""]
    lines += [f"- {_unmarked(one.quote)} {_marker(kb, one)}" for one in places]
    lines += ["- nothing yet"] if not places else []
    if progress:
        lines += ["", "What was done:", ""]
        lines += [f"- {_unmarked(one.text)}" for one in progress[-MOST_TOLD:]]
    known = kb.catalogue.sessions.known(question.session_id, question.owner)
    optional: dict[str, Any] = {"iterations": progress[-1].round} if progress else {}
    return QueryResponse(
        answer="\n".join(lines),
        session_id=question.session_id if known else "",
        sources=tuple(map(_source, places)),
        citations=tuple(map(_citation, places)),
        mode=mode,
        **optional,
    )


def places_for(kb: KnowledgeBase, question: Question) -> list[Citation]:
    """The best places for the question, each the sentence of a passage that is nearest to it.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as ``find``.
    """
    analysis = reading(kb, question)
    pieces = pack(kb, find(kb, analysis).hits)[:MOST_PARTIAL]
    sources = sources_of(kb.catalogue.marks_over, pieces)
    asked = frozenset(parse(analysis.wanted).topic_stems)
    found: list[Citation] = []
    for piece in pieces:
        shares = {
            span: len(asked & parse(span.of(piece.text)).stem_set)
            for span in sentence_spans(piece.text)
        }
        best = max(shares, key=lambda span: shares[span], default=None)
        if best is None or not shares[best]:
            continue
        start = piece.span.start
        span = Span(start=start + best.start, end=start + best.end)
        source = sources.of(piece, of_one_speaker(piece, span, question.text))
        cited = source.citation(len(found) + 1, Span(start=0, end=0), VerdictName.NOT_CHECKED)
        found.append(cited)
    return found


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
