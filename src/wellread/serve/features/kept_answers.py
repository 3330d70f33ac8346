"""Routes for stored answers: conversations, re-verification, export and expert feedback."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import (
    ImportResult,
    RefusedRow,
    give_feedback,
    require_feedback,
)
from wellread.library.answer_export import MEDIA_TYPES, Format, export_answer
from wellread.library.recheck import (
    NEWEST,
    CitationCheck,
    Rechecked,
    SentenceCheck,
    named_answer,
    stored_answer,
    verify_again,
)
from wellread.serve.features.answering import AskResponse, answer_body, quote_contexts
from wellread.serve.features.feature import FeatureRouter, Offset, StrictModel
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import FACES, Shape, view_url
from wellread.store.catalogue.asking.answer_records import SessionFacts
from wellread.store.schema.stored_values import (
    BetterCitation,
    Feedback,
    SentenceRating,
    StoredAnswer,
)
from wellread.values.answers import Answer

router = FeatureRouter("read")
reads, asks = router.requiring("read", "ask")
MAX_LISTED = 1_000
ListLimit = Annotated[int, Query(ge=1, le=MAX_LISTED)]

FACES.show_whole(SessionFacts, SentenceRating)
FACES.show(StoredAnswer, "* -owner")
FACES.show(Feedback, "* -author")
FACES.show(
    BetterCitation,
    "* view_url",
    view_url=(str, lambda cited: view_url(cited.document_id, cited.version, cited.span)),
)
FACES.show(CitationCheck, "id number=id title standing reason", id=(str, lambda row: str(row.id)))
FACES.show(SentenceCheck, "text before verdict=now.name method=now.method reason=now.reason")
FACES.show(Rechecked, "id=answer.id stale citations sentences notes")


class SessionsBody(Shape):
    """Conversations, most recently used first."""

    sessions: tuple[SessionFacts, ...]


class SessionDetailBody(Shape, line="*session answers"):
    """A conversation with its answers, oldest first."""

    session: SessionFacts
    answers: tuple[AskResponse, ...]


class RemovedBody(Shape):
    """The removed conversation and the number of its answers."""

    id: str
    answers: int


class StoredAnswersBody(Shape):
    """Answers, newest first."""

    answers: tuple[StoredAnswer, ...]


class WholeAnswerBody(Shape, line="*answer created_at=stored.created_at stale=stored.stale"):
    """A stored answer."""

    answer: AskResponse
    stored: StoredAnswer


class OpenedBody(Shape):
    """A citation with the sentences around it in its source."""

    number: int
    title: str
    locator: str
    link: str
    before: str
    quote: str
    after: str


def opened_body(kb: KnowledgeBase, answer: Answer, number: int) -> OpenedBody:
    """Return citation ``number`` of ``answer`` with the sentences around it."""
    citation = next((cited for cited in answer.citations if cited.id == number), None)
    if citation is None:
        raise RequestError(
            f"the answer has no citation {number}", hint=f"it has {len(answer.citations)} citations"
        )
    contexts = {context.number: context for context in quote_contexts(kb, answer)}
    if number not in contexts:
        raise RequestError(
            f"the source of citation {number} was changed or removed after the answer was given",
            hint="ask again",
        )
    return OpenedBody.of(citation, contexts[number], locator=citation.locator.label)


# --- routes for answers and conversations ----------------------------------------------------


@reads.get("/api/answers")
def answers(kb: Kb, limit: ListLimit = 50, offset: Offset = 0) -> StoredAnswersBody:
    """List stored answers, newest first."""
    stored = kb.catalogue.sessions.answers(kb.asker.owner, limit, offset)
    return StoredAnswersBody(answers=tuple(stored))


@reads.get("/api/answers/{answer_id}")
def answer(kb: Kb, answer_id: str) -> WholeAnswerBody:
    """Return a stored answer; ``last`` is the newest."""
    stored, answer = _find_answer(kb, answer_id)
    return WholeAnswerBody(answer=answer_body(answer), stored=stored)


@asks.post("/api/answers/{answer_id}/verify")
def verify(kb: Kb, answer_id: str) -> Rechecked:
    """Check an answer against the current text of its sources, and store the result."""
    return verify_again(kb, answer_id, kb.asker.owner)


@reads.get("/api/answers/{answer_id}/export", response_class=Response)
def export(kb: Kb, answer_id: str, format: Format = "markdown") -> Response:
    """Export an answer as Markdown, or its sources as BibTeX or CSL-JSON."""
    stored, answer = _find_answer(kb, answer_id)
    ending, media_type = MEDIA_TYPES[format]
    return Response(
        export_answer(kb, stored, answer, format),
        media_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{stored.id}.{ending}"'},
    )


@reads.get("/api/sessions")
def sessions(
    kb: Kb,
    query: Annotated[
        str, Query(max_length=200, description="words in the title, questions or answers")
    ] = "",
    limit: ListLimit = 50,
    offset: Offset = 0,
) -> SessionsBody:
    """List conversations that contain all words of ``query``, most recently used first."""
    matches = kb.catalogue.sessions.of(kb.asker.owner, limit, offset, query)
    return SessionsBody(sessions=tuple(matches))


@reads.get("/api/sessions/{session_id}")
def session(kb: Kb, session_id: str) -> SessionDetailBody:
    """Return a conversation with its answers, oldest first."""
    facts = session_named(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, kb.asker.owner, MAX_LISTED)
    return SessionDetailBody(session=facts, answers=tuple(map(answer_body, turns)))


@asks.delete("/api/sessions/{session_id}")
def remove(kb: Kb, session_id: str) -> RemovedBody:
    """Remove a conversation with all its answers."""
    facts = session_named(kb, session_id)
    return RemovedBody(id=facts.id, answers=remove_conversation(kb, facts.id, kb.asker.owner) or 0)


def _find_answer(kb: KnowledgeBase, answer_id: str) -> tuple[StoredAnswer, Answer]:
    """Return the answer with this id; ``last`` is allowed because nothing is changed."""
    find = named_answer if answer_id == NEWEST else stored_answer
    return find(kb, answer_id, kb.asker.owner)


def session_named(kb: KnowledgeBase, session_id: str) -> SessionFacts:
    """Return the conversation with this id, which has to exist."""
    facts = kb.catalogue.sessions.session(session_id, kb.asker.owner)
    if facts is None:
        raise UnknownNameError(
            f"there is no conversation {session_id!r}", hint="GET /api/sessions lists them"
        )
    return facts


# --- expert feedback -------------------------------------------------------------------------

feedback_router = FeatureRouter("read")
feedback_reads, feedback_edits = feedback_router.requiring("read", "edit")

RatingScore = StrictInt | StrictFloat | None


class CitationRequest(StrictModel):
    """A place in a document: from ``start`` to ``end``, or where ``words`` occur."""

    document_id: StrictStr = Field(alias="documentId")
    start: StrictInt | None = None
    end: StrictInt | None = None
    words: StrictStr | None = None


class SentenceRequest(StrictModel):
    """Feedback on one sentence; ``sentence`` counts from 0."""

    sentence: StrictInt
    score: RatingScore = Field(default=None, description="0–100; null: not rated")
    explanation: StrictStr | None = None
    harmful: StrictBool | None = None
    content_issue: StrictBool | None = Field(default=None, alias="contentIssue")
    correction: StrictStr | None = None
    citation: CitationRequest | None = None


class FeedbackRequest(StrictModel):
    """Feedback on an answer; its author is the user who sends it."""

    score: RatingScore = Field(default=None, description="0–100; null: not rated")
    comment: StrictStr | None = None
    correction: StrictStr | None = None
    citations: list[CitationRequest] | None = None
    sentences: list[SentenceRequest] | None = None


class FeedbackListBody(Shape):
    """A page of feedback, oldest first, with the total number."""

    feedback: tuple[Feedback, ...]
    total: int


class RemovedFeedbackBody(Shape):
    """The removed feedback and its answer."""

    id: str
    answer_id: str


FACES.show_whole(ImportResult, RefusedRow)


@feedback_edits.put("/api/answers/{answer_id}/feedback")
def put_feedback(kb: Kb, answer_id: str, request: FeedbackRequest) -> Feedback:
    """Rate an answer and its sentences; replaces earlier feedback."""
    values = request.model_dump(exclude_unset=True)
    return give_feedback(kb, answer_id, values, author=kb.asker.owner, replace_all=True)


@feedback_edits.patch("/api/answers/{answer_id}/feedback")
def patch_feedback(kb: Kb, answer_id: str, request: FeedbackRequest) -> Feedback:
    """Change the given fields only; null removes a value."""
    values = request.model_dump(exclude_unset=True)
    return give_feedback(kb, answer_id, values, author=kb.asker.owner)


@feedback_reads.get("/api/answers/{answer_id}/feedback")
def get_feedback(kb: Kb, answer_id: str) -> Feedback:
    """Return the feedback on an answer."""
    return require_feedback(kb, answer_id, kb.asker.owner)


@feedback_edits.delete("/api/answers/{answer_id}/feedback")
def delete_feedback(kb: Kb, answer_id: str) -> RemovedFeedbackBody:
    """Remove the feedback on an answer."""
    feedback = require_feedback(kb, answer_id, kb.asker.owner)
    kb.catalogue.feedback.remove(feedback.id)
    return RemovedFeedbackBody(id=feedback.id, answer_id=feedback.answer_id)


@feedback_edits.get("/api/feedback")
def list_feedback(kb: Kb, limit: ListLimit = 50, offset: Offset = 0) -> FeedbackListBody:
    """List all feedback, oldest first."""
    page = kb.catalogue.feedback.list_all(limit=limit, offset=offset)
    return FeedbackListBody(feedback=tuple(page), total=kb.catalogue.feedback.count())
