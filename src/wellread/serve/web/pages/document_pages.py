"""A document at its cited place: pages of a PDF, turns of a recording, text, rows, slides."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import quote, urlsplit

from fastapi import Depends, Query, Request
from fastapi.responses import FileResponse, Response

from wellread.errors import SourceError, UnknownNameError
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.serve.features.feature import FAR, StrictModel
from wellread.serve.guards.route_rules import Kb, note_opened
from wellread.serve.views import Shape
from wellread.serve.web.answer_parts import place_of
from wellread.serve.web.document_layout import (
    Page,
    PageImages,
    ShownPage,
    original_pdf,
    page_of,
    shown_pages,
)
from wellread.serve.web.rendering import NOT_KEPT, drawn, page_router, shown
from wellread.types import Document, DocumentFacts, Kind, Locator, PageMark, Span, TimeMark
from wellread.values.answers import Answer, Citation
from wellread.values.locators import RECORDINGS

router = page_router()


class ViewQuery(StrictModel):
    """Which place of which version is looked at, and as a citation of which answer.

    Attributes:
        pane: only the source itself, to be put beside an answer.
        text: the text of a PDF instead of its pages.
    """

    start: Annotated[int | None, Query(ge=0, le=FAR)] = None
    end: Annotated[int | None, Query(ge=0, le=FAR)] = None
    version: str = ""
    answer: str = ""
    citation: int = 0
    pane: bool = False
    text: bool = False


class DocumentViewBody(Shape):
    """A document and the place that is looked at."""

    document_id: str
    title: str
    kind: Kind
    version: str
    changed: bool
    outside: bool
    locator: str
    place: Locator | None
    span: Span | None
    quote: str
    link: str
    media: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cited:
    """What is looked at: the span, the other citations of the answer, and their addresses."""

    span: Span | None
    others: dict[int, Span]
    by_number: dict[int, Citation]
    answer: Answer | None
    changed: bool
    outside: bool


def _images(request: Request) -> PageImages:
    return cast(PageImages, request.app.state.page_images)


Images = Annotated[PageImages, Depends(_images)]


@router.get("/view/{document_id}")
def view(
    kb: Kb,
    images: Images,
    request: Request,
    document_id: str,
    asked: Annotated[ViewQuery, Query()],
) -> Response:
    """The page of a document, at the cited span."""
    document = kb.catalogue.document(document_id)
    known = kb.catalogue.facts([document_id]).get(document_id)
    template = "parts/source.html" if asked.pane else "view.html"
    answer = kb.catalogue.sessions.answer(asked.answer, kb.asker.owner) if asked.answer else None
    if document is None or known is None:
        gone = _citation(answer[1] if answer else None, asked.citation)
        missing = "parts/source_missing.html" if asked.pane else "missing.html"
        return drawn(request, missing, {"cited": gone}, status=404)
    note_opened(request, known.id)
    cited = _cited(document, known, asked, answer[1] if answer else None)
    page = page_of(document, cited.span, cited.others)
    pages = () if asked.text else _pages(kb, images, document, known, cited)
    media = media_address(document, known)
    body = _body(document, known, page, cited, media)
    citation = cited.by_number.get(asked.citation)
    return shown(
        request,
        template,
        body,
        document=document,
        facts=known,
        page=page,
        pages=pages,
        media=media,
        cited=cited,
        citation=citation,
        places={number: place_of(cited.answer, one) for number, one in cited.by_number.items()}
        if cited.answer
        else {},
    )


def _citation(answer: Answer | None, number: int) -> Citation | None:
    found = (one for one in (answer.citations if answer else ()) if one.id == number)
    return next(found, None)


def _cited(
    document: Document, facts: DocumentFacts, asked: ViewQuery, answer: Answer | None
) -> _Cited:
    """What is marked. Nothing is, where the text is another one than that which was cited."""
    changed = bool(asked.version) and facts.version != asked.version
    wanted = asked.start is not None or asked.end is not None
    span = _span(document, asked.start, asked.end) if wanted and not changed else None
    here = [
        one
        for one in (answer.citations if answer else ())
        if one.document_id == facts.id and one.version == facts.version
    ]
    others = {one.id: one.source_span for one in here if one.source_span.end <= len(document.text)}
    by_number = {
        one.id: one for one in (answer.citations if answer else ()) if one.document_id == facts.id
    }
    return _Cited(
        span=span,
        others=others,
        by_number=by_number,
        answer=answer,
        changed=changed,
        outside=wanted and span is None and not changed,
    )


def _span(document: Document, start: int | None, end: int | None) -> Span | None:
    """The cited span, or None when it does not lie in the text."""
    begin = start or 0
    finish = len(document.text) if end is None else end
    if not 0 <= begin < finish <= len(document.text):
        return None
    return Span(start=begin, end=finish)


def _pages(
    kb: KnowledgeBase, images: PageImages, document: Document, facts: DocumentFacts, cited: _Cited
) -> tuple[ShownPage, ...]:
    """The pages as pictures, where the file is there as it was read; none otherwise."""
    if not any(isinstance(mark, PageMark) and mark.box for mark in document.marks):
        return ()
    path = original_pdf(kb, facts)
    if path is None:
        return ()
    try:
        return shown_pages(document, images.sizes(path), cited.span, cited.others)
    except SourceError:
        return ()  # the text is shown, and the page says that the file could not be


def _body(
    document: Document, facts: DocumentFacts, page: Page, cited: _Cited, media: str
) -> DocumentViewBody:
    return DocumentViewBody.of(
        facts,
        document_id=facts.id,
        changed=cited.changed,
        outside=cited.outside,
        locator=page.locator.label if page.locator else "",
        place=page.locator,
        span=cited.span,
        quote=cited.span.of(document.text) if cited.span else "",
        link=page.link,
        media=media,
        citations=tuple(cited.by_number),
    )


@router.get("/documents/{document_id}/pages/{number}.png")
def page_image(kb: Kb, images: Images, request: Request, document_id: str, number: int) -> Response:
    """A page of a PDF as a picture."""
    facts = kb.catalogue.facts([document_id]).get(document_id)
    path = original_pdf(kb, facts) if facts else None
    if path is None:
        raise UnknownNameError(
            f"there are no page images of {document_id}", hint="its text is at /view/…"
        )
    note_opened(request, document_id)
    return Response(images.png(path, number), media_type="image/png", headers=NOT_KEPT)


@router.get("/documents/{document_id}/media")
def media(kb: Kb, request: Request, document_id: str) -> Response:
    """The recording that lies beside a transcript's file, in parts as players ask for them."""
    facts = kb.catalogue.facts([document_id]).get(document_id)
    path = recording_beside(facts) if facts else None
    if path is None:
        raise UnknownNameError(f"there is no recording beside {document_id}")
    note_opened(request, document_id)
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind, headers=NOT_KEPT)


def media_address(document: Document, facts: DocumentFacts) -> str:
    """Where the browser's own player finds the recording; empty when it cannot play it.

    A page that shows a recording (a video site) is no recording; its link opens at the second.
    """
    if not any(isinstance(mark, TimeMark) for mark in document.marks):
        return ""
    if recording_beside(facts) is not None:
        return f"/documents/{quote(facts.id, safe='')}/media"
    address = urlsplit(facts.media_url)
    playable = address.scheme == "https" and address.path.lower().endswith(RECORDINGS)
    return facts.media_url if playable else ""


def recording_beside(facts: DocumentFacts) -> Path | None:
    """The recording with the same name as the transcript's file, in the same folder."""
    if not facts.uri.startswith("file:"):
        return None
    path = Path(local_path(facts.uri))
    candidates = (path.with_suffix(ending) for ending in RECORDINGS)
    return next((each for each in candidates if each.is_file() and each != path), None)
