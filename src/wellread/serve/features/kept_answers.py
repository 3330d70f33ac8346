"""Answers that were given: kept in conversations, checked again, exported, rated by experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, StringConstraints

from wellread.config import Style
from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import Imported, RefusedRow, give_feedback, known_feedback
from wellread.library.answer_export import ENDINGS, MEDIA_TYPES, Export, Format, exported
from wellread.library.recheck import (
    NEWEST,
    CitationCheck,
    Rechecked,
    SentenceCheck,
    named_answer,
    stored_answer,
    verify_again,
)
from wellread.serve.features.answering import AskResponse, answer_body
from wellread.serve.features.feature import FeatureRouter, Offset, StrictModel
from wellread.serve.guards.route_rules import Kb
from wellread.serve.views import FACES, PlainShape, Shape, view_url
from wellread.store.catalogue.asking.answer_records import SessionFacts
from wellread.store.schema.stored_values import (
    BetterCitation,
    Feedback,
    SentenceRating,
    StoredAnswer,
)
from wellread.values.answers import Answer

router = FeatureRouter()
MOST_LISTED = 1_000
LONGEST_TITLE = 200  # characters of what a session is called
AROUND = 500  # characters shown on either side of an opened citation
Listed = Annotated[int, Query(ge=1, le=MOST_LISTED)]

FACES.show_whole(SessionFacts, SentenceRating)
FACES.show(StoredAnswer, "* -owner")
FACES.show(Feedback, "* -author")
FACES.show(
    BetterCitation,
    "* view_url",
    view_url=(str, lambda cited: _opens(cited)),
)
FACES.show(CitationCheck, "id number=id title standing reason", id=(str, lambda one: str(one.id)))
FACES.show(SentenceCheck, "text before verdict=now.name method=now.method reason=now.reason")
FACES.show(Rechecked, "id=answer.id stale citations sentences notes")


class SessionsBody(Shape):
    """Conversations, the one used last first."""

    sessions: tuple[SessionFacts, ...]


class SessionDetailBody(Shape, line="*session answers"):
    """A conversation with its answers, oldest first."""

    session: SessionFacts
    answers: tuple[AskResponse, ...]


class RemovedBody(Shape):
    """What was removed with a session."""

    id: str
    answers: int


class StoredAnswersBody(Shape):
    """Answers, newest first."""

    answers: tuple[StoredAnswer, ...]


class WholeAnswerBody(Shape, line="*answer created_at=stored.created_at stale=stored.stale"):
    """An answer as it is kept."""

    answer: AskResponse
    stored: StoredAnswer


class OpenedBody(PlainShape):
    """A citation with the text around it, as the source has it now."""

    number: int
    title: str
    locator: str
    link: str
    before: str
    quote: str
    after: str


def _opens(cited: BetterCitation) -> str:
    return view_url(cited.document_id, cited.version, cited.span)


def session_detail_body(facts: SessionFacts, answers: Sequence[Answer]) -> SessionDetailBody:
    """A conversation with its answers."""
    return SessionDetailBody(session=facts, answers=tuple(map(answer_body, answers)))


def whole_body(stored: StoredAnswer, answer: Answer) -> WholeAnswerBody:
    """An answer as it is kept."""
    return WholeAnswerBody(answer=answer_body(answer), stored=stored)


def opened_body(kb: KnowledgeBase, answer: Answer, number: int) -> OpenedBody:
    """Citation ``number`` of ``answer``, read from the catalogue again."""
    citation = next((each for each in answer.citations if each.id == number), None)
    if citation is None:
        raise RequestError(
            f"the answer has no citation {number}", hint=f"it has {len(answer.citations)}"
        )
    document = kb.catalogue.document(citation.document_id)
    live = kb.catalogue.live_versions([citation.document_id]).get(citation.document_id)
    if document is None or live != citation.version:
        raise RequestError(
            f"the source of citation {number} has changed or gone since the answer was given",
            hint="ask again",
        )
    span, text = citation.source_span, document.text
    before, after = text[max(0, span.start - AROUND) : span.start], text[span.end :][:AROUND]
    return OpenedBody.of(
        citation,
        number=number,
        locator=citation.locator.label,
        quote=span.of(text),
        # Whole words; a script without spaces stays as it is.
        before=(before.partition(" ")[2] or before) if len(before) >= AROUND else before,
        after=(after.rpartition(" ")[0] or after) if len(after) >= AROUND else after,
    )


# --- as routes -------------------------------------------------------------------------------


@router.get("/api/answers")
def answers(kb: Kb, limit: Listed = 50, offset: Offset = 0) -> StoredAnswersBody:
    """Facts about answers that were given, newest first."""
    found = kb.catalogue.sessions.answers(kb.asker.owner, limit, offset)
    return StoredAnswersBody(answers=tuple(found))


@router.get("/api/answers/{answer_id}")
def answer(kb: Kb, answer_id: str) -> WholeAnswerBody:
    """An answer as it is kept; ``last`` is the newest."""
    return whole_body(*_read(kb, answer_id))


@router.post("/api/answers/{answer_id}/verify")
def verify(kb: Kb, answer_id: str) -> Rechecked:
    """Check an answer against its sources as they are now, and keep what came of it."""
    return verify_again(kb, answer_id, kb.asker.owner)


@router.get("/api/answers/{answer_id}/export", response_class=Response)
def export(
    kb: Kb,
    answer_id: str,
    format: Format = "markdown",
    style: Annotated[Style | None, Query(description="of citations (Markdown)")] = None,
    verdicts: Annotated[bool, Query(description="a footnote for each sentence")] = False,
) -> Response:
    """An answer as Markdown, or its sources as CSL-JSON or BibTeX."""
    stored, given = _read(kb, answer_id)
    name = f"{stored.id}.{ENDINGS[format]}"
    return Response(
        exported(kb, stored, given, Export(form=format, style=style, verdicts=verdicts)),
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.get("/api/sessions")
def sessions(
    kb: Kb,
    query: Annotated[
        str, Query(max_length=200, description="words that title, questions or answers have")
    ] = "",
    limit: Listed = 50,
    offset: Offset = 0,
) -> SessionsBody:
    """Conversations, or those that have all words of ``query``; the one used last first."""
    found = kb.catalogue.sessions.search(kb.asker.owner, query, limit, offset)
    return SessionsBody(sessions=tuple(found))


@router.get("/api/sessions/{session_id}")
def session(kb: Kb, session_id: str) -> SessionDetailBody:
    """A conversation with its answers, oldest first."""
    facts = known_session(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, kb.asker.owner, MOST_LISTED)
    return session_detail_body(facts, turns)


class RenameRequest(StrictModel):
    """What a conversation is to be called: 1 to 200 characters."""

    title: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TITLE),
    ]


@router.patch("/api/sessions/{session_id}")
def rename(kb: Kb, session_id: str, request: RenameRequest) -> SessionFacts:
    """Give a conversation another title; no later question changes it."""
    known = known_session(kb, session_id).id
    kb.catalogue.sessions.rename(known, kb.asker.owner, request.title)
    return known_session(kb, known)


@router.delete("/api/sessions/{session_id}")
def remove(kb: Kb, session_id: str) -> RemovedBody:
    """Remove a conversation with all its answers."""
    facts = known_session(kb, session_id)
    return RemovedBody(id=facts.id, answers=remove_conversation(kb, facts.id, kb.asker.owner) or 0)


def _read(kb: KnowledgeBase, answer_id: str) -> tuple[StoredAnswer, Answer]:
    """What is read may be the newest; what is changed needs its id."""
    find = named_answer if answer_id == NEWEST else stored_answer
    return find(kb, answer_id, kb.asker.owner)


def known_session(kb: KnowledgeBase, session_id: str) -> SessionFacts:
    """The conversation of that id."""
    facts = kb.catalogue.sessions.session(session_id, kb.asker.owner)
    if facts is None:
        raise UnknownNameError(
            f"there is no session {session_id!r}", hint="GET /api/sessions lists them"
        )
    return facts


# --- what experts say of them ----------------------------------------------------------------

feedback_router = FeatureRouter()

Rated = StrictInt | StrictFloat | None


class CitationRequest(StrictModel):
    """A place in a document: from ``start`` to ``end``, or where ``words`` stand."""

    document_id: StrictStr = Field(alias="documentId")
    start: StrictInt | None = None
    end: StrictInt | None = None
    words: StrictStr | None = None


class SentenceRequest(StrictModel):
    """What is said of one sentence; ``sentence`` counts from 0."""

    sentence: StrictInt
    score: Rated = Field(default=None, description="0–100; null: not rated")
    explanation: StrictStr | None = None
    harmful: StrictBool | None = None
    content_issue: StrictBool | None = Field(default=None, alias="contentIssue")
    source_fault: StrictBool | None = Field(default=None, alias="sourceFault")
    correction: StrictStr | None = None
    citation: CitationRequest | None = None


class FeedbackRequest(StrictModel):
    """What is said of an answer; who says it is not for the client to tell."""

    score: Rated = Field(default=None, description="0–100; null: not rated")
    comment: StrictStr | None = None
    correction: StrictStr | None = None
    citations: list[CitationRequest] | None = None
    sentences: list[SentenceRequest] | None = None


class FeedbackListBody(Shape):
    """Feedback, the oldest first, and how much there is."""

    feedback: tuple[Feedback, ...]
    total: int


class RemovedFeedbackBody(Shape):
    """Whose feedback was removed."""

    id: str
    answer_id: str


FACES.show_whole(Imported, RefusedRow)


@feedback_router.put("/api/answers/{answer_id}/feedback")
def put_feedback(kb: Kb, answer_id: str, request: FeedbackRequest) -> Feedback:
    """Rate an answer and its sentences; what was said of it before is replaced."""
    given = request.model_dump(exclude_unset=True)
    return give_feedback(kb, answer_id, given, author=kb.asker.owner, whole=True)


@feedback_router.patch("/api/answers/{answer_id}/feedback")
def patch_feedback(kb: Kb, answer_id: str, request: FeedbackRequest) -> Feedback:
    """Change what is given and nothing else; null takes back what was said."""
    given = request.model_dump(exclude_unset=True)
    return give_feedback(kb, answer_id, given, author=kb.asker.owner)


@feedback_router.get("/api/answers/{answer_id}/feedback")
def get_feedback(kb: Kb, answer_id: str) -> Feedback:
    """What was said of an answer."""
    return known_feedback(kb, answer_id, kb.asker.owner)


@feedback_router.delete("/api/answers/{answer_id}/feedback")
def delete_feedback(kb: Kb, answer_id: str) -> RemovedFeedbackBody:
    """Take back all that was said of an answer."""
    found = known_feedback(kb, answer_id, kb.asker.owner)
    kb.catalogue.feedback.remove(found.id)
    return RemovedFeedbackBody(id=found.id, answer_id=found.answer_id)


@feedback_router.get("/api/feedback")
def list_feedback(kb: Kb, limit: Listed = 50, offset: Offset = 0) -> FeedbackListBody:
    """All feedback, the oldest first."""
    found = kb.catalogue.feedback.every(limit=limit, offset=offset)
    return FeedbackListBody(feedback=tuple(found), total=kb.catalogue.feedback.count())
