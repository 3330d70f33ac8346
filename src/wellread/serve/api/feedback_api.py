"""``/api/feedback`` and ``/api/answers/{id}/feedback``: what experts say of answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from wellread.learning.feedback_giving import give_feedback, known_feedback
from wellread.serve.api.queries import REFUSED, StrictModel
from wellread.serve.api.stored_api import PageQuery
from wellread.serve.features.kept_answers import (
    FeedbackBody,
    FeedbackListBody,
    RemovedFeedbackBody,
    feedback_body,
)
from wellread.serve.guards.asking_rights import Kb

router = APIRouter(responses=REFUSED)

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


@router.put("/api/answers/{answer_id}/feedback", response_model=FeedbackBody)
def put_feedback(kb: Kb, answer_id: str, request: FeedbackRequest) -> FeedbackBody:
    """Rate an answer and its sentences; what was said of it before is replaced."""
    given = request.model_dump(exclude_unset=True)
    return feedback_body(give_feedback(kb, answer_id, given, author=kb.asker.owner, whole=True))


@router.patch("/api/answers/{answer_id}/feedback", response_model=FeedbackBody)
def patch_feedback(kb: Kb, answer_id: str, request: FeedbackRequest) -> FeedbackBody:
    """Change what is given and nothing else; null takes back what was said."""
    given = request.model_dump(exclude_unset=True)
    return feedback_body(give_feedback(kb, answer_id, given, author=kb.asker.owner))


@router.get("/api/answers/{answer_id}/feedback", response_model=FeedbackBody)
def get_feedback(kb: Kb, answer_id: str) -> FeedbackBody:
    """What was said of an answer."""
    return feedback_body(known_feedback(kb, answer_id, kb.asker.owner))


@router.delete("/api/answers/{answer_id}/feedback", response_model=RemovedFeedbackBody)
def delete_feedback(kb: Kb, answer_id: str) -> RemovedFeedbackBody:
    """Take back all that was said of an answer."""
    found = known_feedback(kb, answer_id, kb.asker.owner)
    kb.catalogue.feedback.remove(found.id)
    return RemovedFeedbackBody.of(found)


@router.get("/api/feedback", response_model=FeedbackListBody)
def list_feedback(kb: Kb, asked: Annotated[PageQuery, Query()]) -> FeedbackListBody:
    """All feedback, the oldest first."""
    found = kb.catalogue.feedback.every(limit=asked.limit, offset=asked.offset)
    total = kb.catalogue.feedback.count()
    return FeedbackListBody(feedback=tuple(map(feedback_body, found)), total=total)
