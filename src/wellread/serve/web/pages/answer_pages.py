"""An answer that was given: read again, verified again, its table as a file."""

from __future__ import annotations

import csv
import io
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.library.recheck import stored_answer, verify_again
from wellread.serve.features.asking.stored_answers import recheck_body, whole_body
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.answer_parts import earlier_turns, limit_choices, values_beside
from wellread.serve.web.feedback_form import feedback_values
from wellread.serve.web.pages.ask_pages import AskQuery
from wellread.serve.web.rendering import NOT_KEPT, PageFormat, shown
from wellread.text.words import harmless

router = APIRouter(include_in_schema=False)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a cell begins that a spreadsheet computes


@router.get("/answers/{answer_id}")
def answer_page(
    kb: Kb, request: Request, answer_id: str, _asked: Annotated[PageFormat, Query()]
) -> Response:
    """An answer with its proof."""
    return _page(kb, request, answer_id)


@router.post("/answers/{answer_id}/verify")
async def verify(kb: Kb, request: Request, answer_id: str) -> Response:
    """Check an answer against its sources as they are now, and show what became of it."""
    found = await to_thread.run_sync(verify_again, kb, answer_id, kb.asker.owner)
    return await to_thread.run_sync(_page, kb, request, answer_id, recheck_body(found))


@router.get("/answers/{answer_id}/table.csv")
def table(kb: Kb, answer_id: str) -> Response:
    """The whole table of a counting answer, as a file for a spreadsheet.

    Raises:
        UnknownNameError: there is no such answer, or it has no table.
    """
    stored, answer = stored_answer(kb, answer_id, kb.asker.owner)
    if answer.table is None:
        raise UnknownNameError(f"the answer {answer_id} has no table", hint="only counts have one")
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(map(_cell, answer.table.columns))
    writer.writerows(list(map(_cell, row)) for row in answer.table.rows)
    disposition = {"content-disposition": f'attachment; filename="{stored.id}.csv"'}
    # Spreadsheets take the file for Latin-1 without the mark.
    content = ("\N{ZERO WIDTH NO-BREAK SPACE}" + out.getvalue()).encode()
    return Response(content, media_type="text/csv; charset=utf-8", headers=NOT_KEPT | disposition)


@router.get("/answers")
def answers() -> Response:
    """The list of answers is the list of conversations."""
    return RedirectResponse("/conversations", status_code=303)


def _cell(text: str) -> str:
    """``text`` as a cell that no spreadsheet runs as a formula (OWASP, CSV injection)."""
    shown = harmless(text)
    return f"'{shown}" if shown.startswith(FORMULA) else shown


def _page(
    kb: KnowledgeBase, request: Request, answer_id: str, recheck: object | None = None
) -> Response:
    stored, answer = stored_answer(kb, answer_id, kb.asker.owner)
    values = values_beside(kb, answer, stale=stored.stale)
    return shown(
        request,
        "answer_page.html",
        whole_body(stored, answer),
        **values,
        **feedback_values(kb, answer),
        recheck=recheck,
        stored=stored,
        turns=earlier_turns(kb, answer.session_id, before=answer.id),
        asked=AskQuery(session=answer.session_id),
        choices=limit_choices(kb),
    )
