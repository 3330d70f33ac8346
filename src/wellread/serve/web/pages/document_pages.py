"""Routes of the document viewer: a source at its cited place, page images and recordings."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import Query, Request
from fastapi.responses import FileResponse, Response

from wellread.errors import SourceError, UnknownNameError
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.serve.features.feature import MAX_OFFSET, StrictModel
from wellread.serve.guards.route_rules import Kb, kept_in_state, note_opened
from wellread.serve.web.answer_parts import citation_address
from wellread.serve.web.document_layout import (
    PageImages,
    ShownPage,
    original_pdf,
    page_of,
    shown_pages,
)
from wellread.serve.web.rendering import (
    NO_STORE,
    may_see_paths,
    page_router,
    render_page,
    source_name,
)
from wellread.text.sentences import sentence_spans
from wellread.types import Document, DocumentFacts, HeadingMark, PageMark, Span, TimeMark
from wellread.values.answers import BEFORE, CATALOGUE, EXTRACTIVE, NOBODY, Answer, Citation
from wellread.values.locators import RECORDINGS

router = page_router("read")


class ViewQuery(StrictModel):
    """The document version and place to show, and the answer and citation it belongs to.

    Attributes:
        pane: only the source, for display beside an answer.
        text: show the text of a PDF instead of its pages.
    """

    start: Annotated[int | None, Query(ge=0, le=MAX_OFFSET)] = None
    end: Annotated[int | None, Query(ge=0, le=MAX_OFFSET)] = None
    version: str = ""
    answer: str = ""
    citation: int = 0
    pane: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _CitedPlaces:
    """The cited span and the answer's citations of this document, by number.

    ``others`` are the spans to mark besides; ``changed``: the cited version is not the current one;
    ``outside``: the requested span is not in the text.
    """

    span: Span | None
    others: dict[int, Span]
    by_number: dict[int, Citation]
    changed: bool
    outside: bool


Images = Annotated[PageImages, kept_in_state("page_images")]


@router.get("/view/{document_id}")
def view(
    kb: Kb,
    images: Images,
    request: Request,
    document_id: str,
    query: Annotated[ViewQuery, Query()],
) -> Response:
    """The viewer page of a document at the cited span."""
    document = kb.catalogue.document(document_id)
    facts = kb.catalogue.facts([document_id]).get(document_id)
    template = "parts/source.html" if query.pane else "view.html"
    stored = kb.catalogue.sessions.answer(query.answer, kb.asker.owner) if query.answer else None
    answer = stored[1] if stored else None
    if document is None or facts is None:
        citations = answer.citations if answer else ()
        missing_citation = next((one for one in citations if one.id == query.citation), None)
        missing_template = "parts/source_missing.html" if query.pane else "missing.html"
        return render_page(request, missing_template, {"cited": missing_citation}, status=404)
    note_opened(request, facts.id)
    cited = _cited_places(document, facts, query, answer)
    values = {
        "about": None if query.pane else _about(kb, document, facts),
        # The folders of the server are nobody's business but its admins'.
        "document": document
        if may_see_paths(request)
        else replace(document, uri=source_name(document.uri)),
        "facts": facts,
        "page": page_of(document, cited.span, cited.others),
        "pages": () if query.text else _pages(kb, images, document, facts, cited),
        "media": media_address(document, facts),
        "cited": cited,
        "places": {
            number: citation_address(answer, citation)
            for number, citation in cited.by_number.items()
        }
        if answer
        else {},
    }
    return render_page(request, template, values)


SUMMARY = "Summarise “{title}” in five sentences."
MAX_NAMES, MAX_SECTIONS, MAX_ASKED = 12, 40, 20


def _about(kb: KnowledgeBase, document: Document, facts: DocumentFacts) -> dict[str, Any]:
    """What the document is about: its lead or summary, names, sections and questions about it."""
    asked = kb.catalogue.sessions.answers(kb.asker.owner, MAX_ASKED, citing=facts.id)
    question = SUMMARY.format(title=facts.title)
    without_model = (CATALOGUE, EXTRACTIVE, NOBODY, BEFORE)
    summaries = (
        one.id
        for one in asked
        if one.question == question and not one.stale and one.answered_by not in without_model
    )
    summary = kb.catalogue.answer(next(summaries, ""))
    return {
        "lead": document.summary or lead_of(document.text),
        "names": kb.catalogue.graph.entities_in(facts.id)[:MAX_NAMES],
        "sections": list(_sections(document))[:MAX_SECTIONS],
        "asked": {one.question: one.id for one in reversed(asked) if one.question != question},
        "summary": summary,
        "places": {one.id: citation_address(summary, one) for one in summary.citations}
        if summary
        else {},
        "question": question if kb.settings.generation.model else "",
    }


LEAD_CHARS, LEAD_SENTENCES, MIN_LEAD_WORDS = 2_000, 3, 6


def lead_of(text: str) -> str:
    """The first sentences of a text that are no headings; may be empty."""
    opening = text[:LEAD_CHARS]
    sentences = [
        span.of(opening) for span in sentence_spans(opening)[:-1] or sentence_spans(opening)
    ]
    whole = [one for one in sentences if len(one.split()) >= MIN_LEAD_WORDS]
    return " ".join(" ".join(one.split()) for one in whole[:LEAD_SENTENCES])


def _sections(document: Document) -> Iterator[tuple[str, int, int, int]]:
    """The headings of the two upper levels: their words, level, and the span of their text."""
    seen: set[tuple[str, ...]] = set()
    for mark in document.marks:
        if isinstance(mark, HeadingMark) and mark.path:
            for level, name in enumerate(mark.path[:2], 1):
                if mark.path[:level] not in seen and name != document.title:
                    seen.add(mark.path[:level])
                    line_end = document.text.find("\n", mark.start + 1)
                    end = mark.end if line_end < 0 else min(mark.end, line_end)
                    yield name, level, mark.start, end


def _cited_places(
    document: Document, facts: DocumentFacts, query: ViewQuery, answer: Answer | None
) -> _CitedPlaces:
    """The spans to mark; no span if the cited version is not the current one."""
    changed = bool(query.version) and facts.version != query.version
    has_place = query.start is not None or query.end is not None
    span = _span(document, query.start, query.end) if has_place and not changed else None
    citations = answer.citations if answer else ()
    by_number = {
        citation.id: citation for citation in citations if citation.document_id == facts.id
    }
    others = {
        number: citation.source_span
        for number, citation in by_number.items()
        if citation.version == facts.version and citation.source_span.end <= len(document.text)
    }
    return _CitedPlaces(
        span=span,
        others=others,
        by_number=by_number,
        changed=changed,
        outside=has_place and span is None and not changed,
    )


def _span(document: Document, start: int | None, end: int | None) -> Span | None:
    begin = start or 0
    stop = len(document.text) if end is None else end
    if not 0 <= begin < stop <= len(document.text):
        return None
    return Span(start=begin, end=stop)


def _pages(
    kb: KnowledgeBase,
    images: PageImages,
    document: Document,
    facts: DocumentFacts,
    cited: _CitedPlaces,
) -> tuple[ShownPage, ...]:
    """The pages as images if the original file is unchanged; otherwise none."""
    if not any(isinstance(mark, PageMark) and mark.box for mark in document.marks):
        return ()
    path = original_pdf(kb, facts)
    if path is None:
        return ()
    try:
        return shown_pages(document, images.sizes(path), cited.span, cited.others)
    except SourceError:
        return ()  # the text is shown instead, and the page says that the file cannot be shown


@router.get("/documents/{document_id}/pages/{number}.png")
def page_image(kb: Kb, images: Images, request: Request, document_id: str, number: int) -> Response:
    """A PDF page as an image."""
    facts = kb.catalogue.facts([document_id]).get(document_id)
    path = original_pdf(kb, facts) if facts else None
    if path is None:
        raise UnknownNameError(f"{document_id} has no page images", hint="read its text at /view/…")
    note_opened(request, document_id)
    return Response(images.png(path, number), media_type="image/png", headers=NO_STORE)


@router.get("/documents/{document_id}/media")
def media(kb: Kb, request: Request, document_id: str) -> Response:
    """The recording beside a transcript's file, with support for range requests."""
    facts = kb.catalogue.facts([document_id]).get(document_id)
    path = recording_beside(facts) if facts else None
    if path is None:
        raise UnknownNameError(f"{document_id} has no recording next to its file")
    note_opened(request, document_id)
    type_ = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=type_, headers=NO_STORE)


def media_address(document: Document, facts: DocumentFacts) -> str:
    """The address of the recording for the browser's player; empty if the browser cannot play it.

    A page of a video site is not a playable recording; its link opens it at the right time.
    """
    if not any(isinstance(mark, TimeMark) for mark in document.marks):
        return ""
    if recording_beside(facts) is not None:
        return f"/documents/{quote(facts.id, safe='')}/media"
    address = urlsplit(facts.media_url)
    playable = address.scheme == "https" and address.path.lower().endswith(RECORDINGS)
    return facts.media_url if playable else ""


def recording_beside(facts: DocumentFacts) -> Path | None:
    """The recording beside the transcript's file, with the same name and another extension."""
    if not facts.uri.startswith("file:"):
        return None
    path = Path(local_path(facts.uri))
    candidates = (path.with_suffix(ending) for ending in RECORDINGS)
    return next((file for file in candidates if file.is_file() and file != path), None)
