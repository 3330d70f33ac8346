"""``/api/sessions``: conversations, each with its answers, and ``POST /api/query``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.serve.api.failures import ProblemError
from wellread.serve.api.schemas import ErrorBody
from wellread.serve.api.search import REFUSED
from wellread.serve.api.stored_schemas import (
    MOST_LISTED,
    PageQuery,
    QueryRequest,
    QueryResponse,
    RemovedBody,
    SessionDetailBody,
    SessionsBody,
)
from wellread.serve.problems import QA_SWITCHED_OFF
from wellread.serve.stored import OWNER, query_body, session_body, session_detail_body
from wellread.store.catalogue.asking.session_records import SessionFacts


def sessions_router(kb: KnowledgeBase) -> APIRouter:
    """The routes over ``kb``."""
    router = APIRouter(responses=REFUSED)

    def switched_on() -> None:
        if not kb.settings.qa.enabled:
            raise ProblemError(QA_SWITCHED_OFF)

    @router.get("/api/sessions", response_model=SessionsBody)
    def sessions(asked: Annotated[PageQuery, Query()]) -> SessionsBody:
        """Conversations, the one used last first."""
        found = kb.catalogue.sessions.of(OWNER, asked.limit, asked.offset)
        return SessionsBody(sessions=tuple(session_body(one) for one in found))

    @router.get("/api/sessions/{session_id}", response_model=SessionDetailBody)
    def session(session_id: str) -> SessionDetailBody:
        """A conversation with its answers, oldest first."""
        facts = _known(kb, session_id)
        turns = kb.catalogue.sessions.turns(facts.id, OWNER, MOST_LISTED)
        return session_detail_body(facts, turns)

    @router.delete("/api/sessions/{session_id}", response_model=RemovedBody)
    def remove(session_id: str) -> RemovedBody:
        """Remove a conversation with all its answers."""
        facts = _known(kb, session_id)
        return RemovedBody(id=facts.id, answers=kb.catalogue.sessions.remove(facts.id, OWNER) or 0)

    @router.post(
        "/api/query",
        response_model=QueryResponse,
        response_model_exclude_none=True,
        dependencies=[Depends(switched_on)],
        responses={403: {"model": ErrorBody, "description": "Answering is switched off"}},
    )
    async def query(request: QueryRequest) -> QueryResponse:
        """Answer a question of a conversation; an unknown ``session_id`` starts a new one."""
        asked = Question(
            text=request.question,
            mode=request.mode,
            session_id=request.session_id or "",
            owner=OWNER,
        )
        return query_body(await final(answer(kb, asked)))

    return router


def _known(kb: KnowledgeBase, session_id: str) -> SessionFacts:
    facts = kb.catalogue.sessions.session(session_id, OWNER)
    if facts is None:
        raise UnknownNameError(
            f"there is no session {session_id!r}", hint="GET /api/sessions lists them"
        )
    return facts
