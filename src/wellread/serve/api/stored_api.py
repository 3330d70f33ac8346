"""``/api/answers`` and ``/api/sessions``: what was asked before; and ``POST /api/query``."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field, StringConstraints

from wellread.answers import Answer, Citation, Question
from wellread.ask.answer import answer as answered
from wellread.ask.answer import final
from wellread.ask_settings import Style
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.answer_export import ENDINGS, MEDIA_TYPES, Export, Format, exported
from wellread.library.recheck import stored_answer, verify_again
from wellread.locators import format_time
from wellread.serve.api.middleware import may_ask
from wellread.serve.api.queries import REFUSED, Kb, StrictModel
from wellread.serve.features.asking.stored_answers import (
    LONGEST_TITLE,
    OWNER,
    RecheckBody,
    RemovedBody,
    SessionBody,
    SessionDetailBody,
    SessionsBody,
    StoredAnswersBody,
    WholeAnswerBody,
    recheck_body,
    session_detail_body,
    whole_body,
)
from wellread.serve.features.bodies import ErrorBody
from wellread.store.catalogue.asking.past_answers import SessionFacts
from wellread.types import Mode

MOST_LISTED = 1_000

router = APIRouter(responses=REFUSED)


class PageQuery(StrictModel):
    """Which part of a list."""

    limit: int = Field(default=50, ge=1, le=MOST_LISTED)
    offset: int = Field(default=0, ge=0)


class SessionsQuery(PageQuery):
    """Which conversations, and which part of the list."""

    query: str = Field(
        default="",
        max_length=200,
        description="words that title, questions or answers have, all of them",
    )


class RenameRequest(StrictModel):
    """What a conversation is to be called: 1 to 200 characters."""

    title: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TITLE),
    ]


class ExportQuery(StrictModel):
    """How an answer is written out."""

    format: Format = "markdown"
    style: Style | None = Field(
        default=None, description="of citations (Markdown); else the setting"
    )
    verdicts: bool = Field(default=False, description="a footnote for each sentence (Markdown)")


class QueryRequest(StrictModel):
    """A question over recordings and everything else, in a conversation or not."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    session_id: str | None = None
    mode: Mode = "auto"


class QuerySource(BaseModel):
    """A cited place; ``timestamp`` in seconds where the source is a recording."""

    video_id: str
    video_title: str
    timestamp: float | None
    timestamp_formatted: str
    excerpt: str
    speaker: str | None


class QueryCitation(BaseModel):
    """A cited place, in short."""

    video: str
    timestamp: str


class QueryResponse(BaseModel):
    """The answer in the older form; ``POST /api/ask`` gives the proof of it."""

    answer: str
    session_id: str
    sources: tuple[QuerySource, ...]
    citations: tuple[QueryCitation, ...]
    mode: Literal["quick", "deep", "auto"]
    iterations: int | None = None
    warning: str | None = None


@router.get("/api/answers", response_model=StoredAnswersBody)
def answers(kb: Kb, asked: Annotated[PageQuery, Query()]) -> StoredAnswersBody:
    """Facts about answers that were given, newest first."""
    found = kb.catalogue.sessions.answers(OWNER, asked.limit, asked.offset)
    return StoredAnswersBody.of(answers=found)


@router.get("/api/answers/{answer_id}", response_model=WholeAnswerBody)
def answer(kb: Kb, answer_id: str) -> WholeAnswerBody:
    """An answer as it is kept; ``last`` is the newest."""
    return whole_body(*stored_answer(kb, answer_id, OWNER))


@router.post("/api/answers/{answer_id}/verify", response_model=RecheckBody)
def verify(kb: Kb, answer_id: str) -> RecheckBody:
    """Check an answer against its sources as they are now, and keep what came of it."""
    return recheck_body(verify_again(kb, answer_id, OWNER))


@router.get("/api/answers/{answer_id}/export", response_class=Response)
def export(kb: Kb, answer_id: str, asked: Annotated[ExportQuery, Query()]) -> Response:
    """An answer as Markdown or HTML, or its sources as CSL-JSON, BibTeX or RIS."""
    stored, whole = stored_answer(kb, answer_id, OWNER)
    wanted = Export(form=asked.format, style=asked.style, verdicts=asked.verdicts)
    name = f"{stored.id}.{ENDINGS[asked.format]}"
    return Response(
        exported(kb, stored, whole, wanted),
        media_type=MEDIA_TYPES[asked.format],
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.get("/api/sessions", response_model=SessionsBody)
def sessions(kb: Kb, asked: Annotated[SessionsQuery, Query()]) -> SessionsBody:
    """Conversations, or those that have all words of ``query``; the one used last first."""
    found = kb.catalogue.sessions.search(OWNER, asked.query, asked.limit, asked.offset)
    return SessionsBody.of(sessions=found)


@router.get("/api/sessions/{session_id}", response_model=SessionDetailBody)
def session(kb: Kb, session_id: str) -> SessionDetailBody:
    """A conversation with its answers, oldest first."""
    facts = _known(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, OWNER, MOST_LISTED)
    return session_detail_body(facts, turns)


@router.patch("/api/sessions/{session_id}", response_model=SessionBody)
def rename(kb: Kb, session_id: str, request: RenameRequest) -> SessionBody:
    """Give a conversation another title; no later question changes it."""
    kb.catalogue.sessions.rename(session_id, OWNER, request.title)
    return SessionBody.of(_known(kb, session_id))


@router.delete("/api/sessions/{session_id}", response_model=RemovedBody)
def remove(kb: Kb, session_id: str) -> RemovedBody:
    """Remove a conversation with all its answers."""
    facts = _known(kb, session_id)
    return RemovedBody(id=facts.id, answers=kb.catalogue.sessions.remove(facts.id, OWNER) or 0)


@router.post(
    "/api/query",
    response_model=QueryResponse,
    response_model_exclude_none=True,
    dependencies=[Depends(may_ask)],
    responses={403: {"model": ErrorBody, "description": "Answering is switched off"}},
)
async def query(kb: Kb, request: QueryRequest) -> QueryResponse:
    """Answer a question of a conversation; an unknown ``session_id`` starts a new one."""
    asked = Question(
        text=request.question,
        mode=request.mode,
        session_id=request.session_id or "",
        owner=OWNER,
    )
    return query_body(await final(answered(kb, asked)))


def query_body(answer: Answer) -> QueryResponse:
    """The answer in the form of ``POST /api/query``."""
    warnings = [*answer.notes]
    if answer.fallback:
        warnings.insert(0, f"answered by {answer.answered_by}: {answer.fallback}")
    if answer.confidence.band == "low":
        warnings.insert(0, "based on limited information")
    return QueryResponse(
        answer=answer.text,
        session_id=answer.session_id,
        sources=tuple(_source(citation) for citation in answer.citations),
        citations=tuple(
            QueryCitation(video=citation.title, timestamp=_time(citation))
            for citation in answer.citations
        ),
        mode=answer.mode,
        warning="; ".join(warnings) or None,
    )


def _source(citation: Citation) -> QuerySource:
    return QuerySource(
        video_id=citation.document_id,
        video_title=citation.title,
        timestamp=citation.locator.begin,
        timestamp_formatted=_time(citation),
        excerpt=citation.quote,
        speaker=citation.locator.speaker,
    )


def _time(citation: Citation) -> str:
    begin = citation.locator.begin
    return format_time(begin) if begin is not None else ""


def _known(kb: KnowledgeBase, session_id: str) -> SessionFacts:
    facts = kb.catalogue.sessions.session(session_id, OWNER)
    if facts is None:
        raise UnknownNameError(
            f"there is no session {session_id!r}", hint="GET /api/sessions lists them"
        )
    return facts
