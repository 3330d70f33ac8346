"""``POST /api/check``: verifies a text that somebody else wrote."""

from __future__ import annotations

from fastapi import APIRouter

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.check_text import GivenText, check, check_texts
from wellread.serve.api.check_schemas import CheckRequest, CheckResponse, check_body
from wellread.serve.api.schemas import ErrorBody
from wellread.types import Filters


def check_router(kb: KnowledgeBase) -> APIRouter:
    """The route over ``kb``."""
    router = APIRouter()

    @router.post(
        "/api/check",
        response_model=CheckResponse,
        responses={
            400: {"model": ErrorBody, "description": "No text, no sentence, or a bad field"},
            404: {"model": ErrorBody, "description": "Unknown topic"},
            413: {"model": ErrorBody, "description": "The body is too large"},
            "5XX": {"model": ErrorBody, "description": "A model or a store failed"},
        },
    )
    def check_text(request: CheckRequest) -> CheckResponse:
        """A verdict for each sentence of ``text``, by ``sources`` or by what is stored."""
        if not request.sources:
            topics = (request.topic_id,) if request.topic_id else ()
            found = check(kb, request.text, filters=Filters(collections=topics))
            return check_body(found, strict=request.strict, stored=True)
        if request.topic_id:
            raise RequestError("topicId and sources exclude each other", hint="leave one out")
        given = [GivenText(text=source.text, title=source.title) for source in request.sources]
        found = check_texts(
            request.text,
            given,
            kb.embedder,
            judge=kb.judge,
            most=kb.settings.verification.most,
        )
        return check_body(found, strict=request.strict, stored=False)

    return router
