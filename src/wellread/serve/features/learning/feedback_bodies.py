"""Feedback as JSON and as lines of a terminal."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console
from rich.text import Text

from wellread.learning.feedback_giving import Imported
from wellread.serve.features.asking.stored_answers import short_answer_id
from wellread.serve.features.bodies import Body, SpanBody, view_url
from wellread.serve.terminal import right, table, whole
from wellread.store.schema.feedback_values import BetterCitation, Feedback
from wellread.text.words import harmless


class BetterCitationBody(Body):
    """The place that an expert gives as the proof."""

    document_id: str
    version: str
    span: SpanBody
    content: str
    view_url: str


class SentenceRatingBody(Body):
    """What was said of one sentence, counted from 0; null: not said."""

    sentence: int
    content: str
    score: int | float | None
    explanation: str
    harmful: bool | None
    content_issue: bool | None
    source_fault: bool | None
    correction: str
    citation: BetterCitationBody | None


class FeedbackBody(Body):
    """What was said of an answer. ``score`` null: not rated, which is not 0."""

    id: str
    answer_id: str
    question: str
    created_at: datetime
    updated_at: datetime
    score: int | float | None
    comment: str
    correction: str
    citations: tuple[BetterCitationBody, ...]
    sentences: tuple[SentenceRatingBody, ...]
    by: str
    expired: str


class FeedbackListBody(Body):
    """Feedback, the oldest first, and how much there is."""

    feedback: tuple[FeedbackBody, ...]
    total: int


class RemovedFeedbackBody(Body):
    """Whose feedback was removed."""

    id: str
    answer_id: str


class RefusedRowBody(Body):
    """A line of a file that was not taken."""

    line: int
    reason: str


class ImportedBody(Body):
    """What became of a file of feedback."""

    answers: tuple[str, ...]
    refused: tuple[RefusedRowBody, ...]


def feedback_body(given: Feedback) -> FeedbackBody:
    """What was said of an answer."""
    sentences = [
        SentenceRatingBody.of(one, citation=_cited(one.citation) if one.citation else None)
        for one in given.sentences
    ]
    citations = [_cited(one) for one in given.citations]
    return FeedbackBody.of(given, sentences=sentences, citations=citations)


def _cited(one: BetterCitation) -> BetterCitationBody:
    return BetterCitationBody.of(one, view_url=view_url(one.document_id, one.version, one.span))


def print_feedback(console: Console, body: FeedbackBody) -> None:
    """What was said of the answer, then of its sentences."""
    rated = "not rated" if body.score is None else f"{body.score} of 100"
    console.print(Text(harmless(body.question), style="bold"))
    console.print(f"Answer {short_answer_id(body.answer_id)}: {rated}")
    for name, value in (
        ("By", body.by),
        ("Comment", body.comment),
        ("Should say", body.correction),
    ):
        if value:
            console.print(Text.assemble((f"{name}: ", "bold"), harmless(value)))
    for one in body.sentences:
        score = "not rated" if one.score is None else f"{one.score} of 100"
        flags = [
            name.replace("_", " ")
            for name in ("harmful", "content_issue", "source_fault")
            if getattr(one, name)
        ]
        line = ", ".join([score, *flags])
        console.print(Text.assemble((f"  Sentence {one.sentence + 1}: ", "bold"), line))
        for value in (one.explanation, one.correction and f"Should say: {one.correction}"):
            if value:
                console.print(Text(f"    {harmless(value)}"))
        if one.citation:
            console.print(
                Text(f"    Better: {one.citation.view_url}", style="cyan"), soft_wrap=True
            )
    if body.expired:
        console.print(Text(f"Expired: {harmless(body.expired)}", style="yellow"))


def print_feedback_list(console: Console, body: FeedbackListBody) -> None:
    """One line for each answer that has feedback."""
    if not body.feedback:
        console.print(Text("No feedback yet.", style="yellow"))
        return
    columns = (whole("Answer"), whole("Given"), right("Score"), right("Sentences"), "Question")
    rows = (
        (
            short_answer_id(one.answer_id),
            f"{one.updated_at.astimezone():%Y-%m-%d}",
            "–" if one.score is None else str(one.score),
            f"{len(one.sentences):,}",
            one.question,
        )
        for one in body.feedback
    )
    console.print(table(columns, rows))


def print_imported(console: Console, body: ImportedBody) -> None:
    """How much was taken, and why what was refused."""
    console.print(f"Answers whose feedback was taken: {len(body.answers):,}")
    for one in body.refused:
        console.print(Text(f"Line {one.line}: {harmless(one.reason)}", style="yellow"))


def imported_body(found: Imported) -> ImportedBody:
    """What became of a file."""
    return ImportedBody.of(found)
