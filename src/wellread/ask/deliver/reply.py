"""What is delivered: the cited text, the same with a warning in front, or the no-data reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.answers import (
    LIMITED,
    NOBODY,
    Citation,
    Confidence,
    Conflict,
    Evidence,
    Related,
    Sentence,
    Table,
)
from wellread.ask.deliver.cite import Cited
from wellread.ask.deliver.data_gaps import about, missing, unanswered, would_help
from wellread.ask.deliver.false_presuppositions import premises
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.verify.conflicts.dispute import settled
from wellread.ask.write.drafting import Written
from wellread.questions import Analysis, ConstraintKind
from wellread.types import Span

RELATED = 5
RELATED_SIMILARITY = 0.2
_LEFT_OUT: dict[ConstraintKind, str] = {
    "time": "nothing was found from {value}, so all dates were searched",
    "speaker": "nothing was found that {value} said, so all speakers were searched",
    "author": "nothing was found by {value}, so all authors were searched",
}
_LEFT_OUT_OTHERWISE = "nothing was found within {value}, so this limit was left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The text that goes out, with its proof and what is said beside it."""

    text: str
    by: str = NOBODY
    written: Written | None = None
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    data_gaps: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    premises: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    table: Table | None = None
    repaired_citations: int = 0
    dropped_sentences: int = 0


def notes_of(analysis: Analysis, found: Retrieval) -> tuple[str, ...]:
    """What a reader has to know of how the question was read and what was found, in words."""
    left_out = (
        _LEFT_OUT.get(one.kind, _LEFT_OUT_OTHERWISE).format(value=one.value)
        for one in found.relaxed
    )
    return tuple(dict.fromkeys((*analysis.respelt, *left_out, *found.failures, *found.notes)))


def deliver(
    cited: Cited,
    written: Written,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    sure: Confidence,
) -> Reply:
    """The cited text; one that is not sure opens by saying so, and names what is missing."""
    text, sentences, citations = cited.text, cited.sentences, cited.citations
    gaps = written.data_gaps
    if sure.band == "low":
        text = LIMITED + text
        sentences = tuple(
            replace(sentence, span=_moved(sentence.span, len(LIMITED))) for sentence in sentences
        )
        citations = tuple(
            replace(citation, answer_span=_moved(citation.answer_span, len(LIMITED)))
            for citation in citations
        )
        gaps = (*gaps, *missing(analysis, evidence))
    gaps = tuple(dict.fromkeys((*gaps, *unanswered(analysis, evidence))))
    return Reply(
        text=text,
        by=written.by,
        written=written,
        sentences=sentences,
        citations=citations,
        data_gaps=gaps,
        conflicts=(*written.conflicts, *settled(written.disputes, sentences)),
        premises=premises(analysis.question, citations),
    )


def no_data(analysis: Analysis, evidence: Sequence[Evidence]) -> Reply:
    """Says that the material does not answer, and what it has that is near."""
    near = [piece for piece in evidence if (piece.hit.similarity or 0.0) >= RELATED_SIMILARITY]
    nearest = {piece.hit.document.id: piece.hit.document for piece in near}
    related = tuple(
        Related(
            kind="document",
            title=document.title,
            id=document.id,
            collection=document.collection,
            url=document.url,
            reason="near the question",
        )
        for document in list(nearest.values())[:RELATED]
    )
    text = "The sources do not answer this question."
    if related:
        text += (
            " The nearest material is: "
            + "; ".join(dict.fromkeys(one.title for one in related))
            + "."
        )
    else:
        text += " Nothing in them is about it."
    text += f" What would help: {would_help(analysis)} about {about(analysis)}."
    gaps = (*missing(analysis, evidence), *unanswered(analysis, evidence))
    return Reply(
        text=text,
        data_gaps=gaps or (f"no source answers “{analysis.question.strip()}”",),
        related=related,
    )


def _moved(span: Span, by: int) -> Span:
    return Span(start=span.start + by, end=span.end + by)
