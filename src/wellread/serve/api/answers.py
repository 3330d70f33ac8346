"""``/api/answers``: stored answers: listed, read, checked again, written out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from wellread.kb import KnowledgeBase
from wellread.library.bibliography.export import ENDINGS, MEDIA_TYPES, Export, exported
from wellread.library.recheck import stored_answer, verify_again
from wellread.serve.api.search import REFUSED
from wellread.serve.api.stored_schemas import (
    ExportQuery,
    PageQuery,
    RecheckBody,
    StoredAnswersBody,
    WholeAnswerBody,
)
from wellread.serve.stored import OWNER, recheck_body, stored_body, whole_body


def answers_router(kb: KnowledgeBase) -> APIRouter:
    """The routes over ``kb``."""
    router = APIRouter(prefix="/api/answers", responses=REFUSED)

    @router.get("", response_model=StoredAnswersBody)
    def answers(asked: Annotated[PageQuery, Query()]) -> StoredAnswersBody:
        """Facts about answers that were given, newest first."""
        found = kb.catalogue.sessions.answers(OWNER, asked.limit, asked.offset)
        return StoredAnswersBody(answers=tuple(stored_body(one) for one in found))

    @router.get("/{answer_id}", response_model=WholeAnswerBody)
    def answer(answer_id: str) -> WholeAnswerBody:
        """An answer as it is kept; ``last`` is the newest."""
        return whole_body(*stored_answer(kb, answer_id, OWNER))

    @router.post("/{answer_id}/verify", response_model=RecheckBody)
    def verify(answer_id: str) -> RecheckBody:
        """Check an answer against its sources as they are now, and keep what came of it."""
        return recheck_body(verify_again(kb, answer_id, OWNER))

    @router.get("/{answer_id}/export", response_class=Response)
    def export(answer_id: str, asked: Annotated[ExportQuery, Query()]) -> Response:
        """An answer as Markdown with a bibliography, or its sources as CSL-JSON or BibTeX."""
        stored, whole = stored_answer(kb, answer_id, OWNER)
        wanted = Export(form=asked.format, style=asked.style, verdicts=asked.verdicts)
        name = f"{stored.id}.{ENDINGS[asked.format]}"
        return Response(
            exported(kb, stored, whole, wanted),
            media_type=MEDIA_TYPES[asked.format],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    return router
