"""Rating an answer on its page."""

from __future__ import annotations

from collections.abc import Mapping

from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from wellread.kb import KnowledgeBase
from wellread.learning.feedback_giving import feedback_of, give_feedback, known_feedback
from wellread.library.recheck import stored_answer
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.feedback_form import filled_in

router = APIRouter(include_in_schema=False)


@router.post("/answers/{answer_id}/feedback")
async def give(kb: Kb, request: Request, answer_id: str) -> Response:
    """Keep what the form says, and show the answer with it."""
    form = dict(await request.form())
    known = await to_thread.run_sync(_give, kb, answer_id, form)
    return RedirectResponse(f"/answers/{known}#feedback", status_code=303)


@router.post("/answers/{answer_id}/feedback/remove")
def remove(kb: Kb, answer_id: str) -> Response:
    """Take back all that was said of the answer."""
    found = known_feedback(kb, answer_id, kb.asker.owner)
    kb.catalogue.feedback.remove(found.id)
    return RedirectResponse(f"/answers/{found.answer_id}#feedback", status_code=303)


def _give(kb: KnowledgeBase, answer_id: str, form: Mapping[str, object]) -> str:
    _, answer = stored_answer(kb, answer_id, kb.asker.owner)
    given = filled_in(form, answer, feedback_of(kb, answer.id, kb.asker.owner))
    return give_feedback(kb, answer.id, given, author=kb.asker.owner).answer_id
