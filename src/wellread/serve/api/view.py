"""``GET /view/{document_id}``: a citation opened at its exact place, whatever its kind."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.templating import Jinja2Templates

from wellread.kb import KnowledgeBase
from wellread.serve.web.page import page_of
from wellread.types import Document, Span

Offset = Annotated[int | None, Query(ge=0)]


def view_router(kb: KnowledgeBase) -> APIRouter:
    """The route over ``kb``."""
    templates = Jinja2Templates(
        env=Environment(
            loader=PackageLoader("wellread.serve.web"),
            autoescape=True,
            undefined=StrictUndefined,
        )
    )
    router = APIRouter()

    @router.get("/view/{document_id}", response_class=HTMLResponse, include_in_schema=False)
    def view(
        request: Request,
        document_id: str,
        start: Offset = None,
        end: Offset = None,
        version: str = "",
    ) -> HTMLResponse:
        document = kb.catalogue.document(document_id)
        if document is None:
            return templates.TemplateResponse(request, "missing.html", status_code=404)
        facts = kb.catalogue.facts([document_id])
        changed = bool(version) and facts[document_id].version != version
        cited = start is not None or end is not None
        span = _span(document, start, end) if cited and not changed else None
        return templates.TemplateResponse(
            request,
            "view.html",
            {
                "document": document,
                "page": page_of(document, span),
                "changed": changed,
                "outside": cited and span is None,
            },
        )

    return router


def _span(document: Document, start: int | None, end: int | None) -> Span | None:
    """The cited span, or None when it does not lie in the text."""
    begin = start or 0
    finish = len(document.text) if end is None else end
    if not 0 <= begin < finish <= len(document.text):
        return None
    return Span(start=begin, end=finish)
