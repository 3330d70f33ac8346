"""``/api/answers`` and ``/api/sessions``: what was asked before."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field, StringConstraints

from wellread.ask_settings import Style
from wellread.errors import UnknownNameError
from wellread.ingest.remove import remove_conversation
from wellread.kb import KnowledgeBase
from wellread.library.answer_export import ENDINGS, MEDIA_TYPES, Export, Format, exported
from wellread.library.recheck import NEWEST, named_answer, stored_answer, verify_again
from wellread.serve.api.queries import FAR, REFUSED, StrictModel
from wellread.serve.features.asking.stored_answers import (
    LONGEST_TITLE,
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
from wellread.serve.guards.asking_rights import Kb
from wellread.store.catalogue.asking.past_answers import SessionFacts
from wellread.store.schema.catalogue_values import StoredAnswer
from wellread.values.answers import Answer

MOST_LISTED = 1_000

router = APIRouter(responses=REFUSED)


class PageQuery(StrictModel):
    """Which part of a list."""

    limit: int = Field(default=50, ge=1, le=MOST_LISTED)
    offset: int = Field(default=0, ge=0, le=FAR)


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


@router.get("/api/answers", response_model=StoredAnswersBody)
def answers(kb: Kb, asked: Annotated[PageQuery, Query()]) -> StoredAnswersBody:
    """Facts about answers that were given, newest first."""
    found = kb.catalogue.sessions.answers(kb.asker.owner, asked.limit, asked.offset)
    return StoredAnswersBody.of(answers=found)


@router.get("/api/answers/{answer_id}", response_model=WholeAnswerBody)
def answer(kb: Kb, answer_id: str) -> WholeAnswerBody:
    """An answer as it is kept; ``last`` is the newest."""
    return whole_body(*_read(kb, answer_id))


@router.post("/api/answers/{answer_id}/verify", response_model=RecheckBody)
def verify(kb: Kb, answer_id: str) -> RecheckBody:
    """Check an answer against its sources as they are now, and keep what came of it."""
    return recheck_body(verify_again(kb, answer_id, kb.asker.owner))


@router.get("/api/answers/{answer_id}/export", response_class=Response)
def export(kb: Kb, answer_id: str, asked: Annotated[ExportQuery, Query()]) -> Response:
    """An answer as Markdown."""
    stored, whole = _read(kb, answer_id)
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
    found = kb.catalogue.sessions.search(kb.asker.owner, asked.query, asked.limit, asked.offset)
    return SessionsBody.of(sessions=found)


@router.get("/api/sessions/{session_id}", response_model=SessionDetailBody)
def session(kb: Kb, session_id: str) -> SessionDetailBody:
    """A conversation with its answers, oldest first."""
    facts = _known(kb, session_id)
    turns = kb.catalogue.sessions.turns(facts.id, kb.asker.owner, MOST_LISTED)
    return session_detail_body(facts, turns)


@router.patch("/api/sessions/{session_id}", response_model=SessionBody)
def rename(kb: Kb, session_id: str, request: RenameRequest) -> SessionBody:
    """Give a conversation another title; no later question changes it."""
    known = _known(kb, session_id).id
    kb.catalogue.sessions.rename(known, kb.asker.owner, request.title)
    return SessionBody.of(_known(kb, known))


@router.delete("/api/sessions/{session_id}", response_model=RemovedBody)
def remove(kb: Kb, session_id: str) -> RemovedBody:
    """Remove a conversation with all its answers."""
    facts = _known(kb, session_id)
    return RemovedBody(id=facts.id, answers=remove_conversation(kb, facts.id, kb.asker.owner) or 0)


def _read(kb: KnowledgeBase, answer_id: str) -> tuple[StoredAnswer, Answer]:
    """What is read may be the newest; what is changed needs its id."""
    find = named_answer if answer_id == NEWEST else stored_answer
    return find(kb, answer_id, kb.asker.owner)


def _known(kb: KnowledgeBase, session_id: str) -> SessionFacts:
    facts = kb.catalogue.sessions.session(session_id, kb.asker.owner)
    if facts is None:
        raise UnknownNameError(
            f"there is no session {session_id!r}", hint="GET /api/sessions lists them"
        )
    return facts
