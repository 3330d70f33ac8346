"""Conversations: the list of them, one with all its turns; removed, renamed, searched."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.serve.api.queries import FAR, StrictModel
from wellread.serve.features.asking.stored_answers import (
    SessionsBody,
    session_detail_body,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.answer_parts import MOST_TURNS, answer_values, limit_choices
from wellread.serve.web.pages.ask_pages import AskQuery
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.catalogue.asking.answer_records import SessionFacts

router = APIRouter(include_in_schema=False)


class ConversationsQuery(StrictModel, PageFormat):
    """Which part of the list; ``query``: those in which all of its words stand."""

    query: str = ""
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=FAR)


@router.get("/conversations")
def conversations(
    kb: Kb, request: Request, asked: Annotated[ConversationsQuery, Query()]
) -> Response:
    """Conversations, the one used last first."""
    found = kb.catalogue.sessions.search(kb.asker.owner, asked.query, asked.limit + 1, asked.offset)
    body = SessionsBody.of(sessions=found[: asked.limit])
    return shown(request, "conversations.html", body, asked=asked, more=len(found) > asked.limit)


@router.get("/conversations/{session_id}")
def conversation(
    kb: Kb, request: Request, session_id: str, _asked: Annotated[PageFormat, Query()]
) -> Response:
    """A conversation with its answers, oldest first, and the box that goes on with it."""
    facts = _known(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, kb.asker.owner, MOST_TURNS)
    return shown(
        request,
        "conversation.html",
        session_detail_body(facts, turns),
        facts=facts,
        shown_turns=[answer_values(kb, one, stale=False) for one in turns],
        asked=AskQuery(session=facts.id),
        choices=limit_choices(kb),
    )


@router.post("/conversations/{session_id}/rename")
def rename(kb: Kb, session_id: str, title: Annotated[str, Form(max_length=200)]) -> Response:
    """Give a conversation another title.

    Raises:
        RequestError: the title is empty.
        UnknownNameError: there is no such conversation.
    """
    facts = _known(kb, session_id)
    if not title.strip():
        raise RequestError("the title is empty", hint="give it a letter at least")
    kb.catalogue.sessions.rename(facts.id, kb.asker.owner, title.strip())
    return RedirectResponse("/conversations", status_code=303)


@router.post("/conversations/{session_id}/remove")
def remove(kb: Kb, session_id: str) -> Response:
    """Remove a conversation with all its answers."""
    facts = _known(kb, session_id)
    remove_conversation(kb, facts.id, kb.asker.owner)
    return RedirectResponse("/conversations", status_code=303)


def _known(kb: KnowledgeBase, session_id: str) -> SessionFacts:
    facts = kb.catalogue.sessions.session(session_id, kb.asker.owner)
    if facts is None:
        raise UnknownNameError(
            f"there is no conversation {session_id!r}", hint="/conversations lists them"
        )
    return facts
