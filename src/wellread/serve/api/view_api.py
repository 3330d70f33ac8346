"""``GET /view/{document_id}``: a document cut into blocks at its landmarks, the cited span marked.

``page_of`` is pure: nothing of the text is lost or added. The pieces of all blocks, joined, are the
document's text; the marked ones, joined, are the span.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.templating import Jinja2Templates

from wellread.locators import Marks, format_time, link_to
from wellread.serve.api.queries import Kb
from wellread.text.words import harmless
from wellread.types import (
    Document,
    HeadingMark,
    Locator,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TimeMark,
)

Offset = Annotated[int | None, Query(ge=0)]

router = APIRouter()
templates = Jinja2Templates(
    env=Environment(
        loader=PackageLoader("wellread.serve.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
)

SECONDS_BETWEEN_TIMES = 30.0

M = TypeVar("M", bound=Mark)


@router.get("/view/{document_id}", response_class=HTMLResponse, include_in_schema=False)
def view(
    kb: Kb,
    request: Request,
    document_id: str,
    start: Offset = None,
    end: Offset = None,
    version: str = "",
) -> HTMLResponse:
    """The page of a document, at the cited span."""
    document = kb.catalogue.document(document_id)
    if document is None:
        return templates.TemplateResponse(request, "missing.html", status_code=404)
    facts = kb.catalogue.facts([document_id])
    changed = bool(version) and facts[document_id].version != version
    cited = start is not None or end is not None
    span = _span(document, start, end) if cited and not changed else None
    shown = {
        "document": document,
        "page": page_of(document, span),
        "changed": changed,
        "outside": cited and span is None,
    }
    return templates.TemplateResponse(request, "view.html", shown)


def _span(document: Document, start: int | None, end: int | None) -> Span | None:
    """The cited span, or None when it does not lie in the text."""
    begin = start or 0
    finish = len(document.text) if end is None else end
    if not 0 <= begin < finish <= len(document.text):
        return None
    return Span(start=begin, end=finish)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A place that a reader knows: a page, a speaker with the time, a heading path.

    Attributes:
        link: opens the source at the place, where that is possible.
    """

    kind: str
    label: str
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of text; ``first`` is set on the first piece of the cited span."""

    text: str
    cited: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The text from one landmark to the next."""

    landmarks: tuple[Landmark, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A document as the viewer shows it.

    Attributes:
        locator: where the cited span stands; None when nothing is cited.
        link: opens the source, at the cited place if there is one; empty when it is no web page.
    """

    title: str
    blocks: tuple[Block, ...]
    locator: Locator | None
    link: str


def page_of(document: Document, span: Span | None) -> Page:
    """Lay out ``document``; ``span`` is marked when it is given (it must lie in the text)."""
    landmarks = _landmarks(document)
    starts = sorted({0, *(place for place in landmarks if place < len(document.text))})
    ends = [*starts[1:], len(document.text)]
    blocks = tuple(
        Block(
            landmarks=tuple(landmarks.get(start, ())),
            pieces=tuple(_pieces(document.text, start, end, span)),
        )
        for start, end in zip(starts, ends, strict=True)
    )
    locator = Marks(document.marks).locate(span) if span else None
    link = link_to(
        document.url or document.uri,
        locator or Locator(label=""),
        span.of(document.text) if span else "",
        media_url=document.media_url,
    )
    return Page(title=document.title, blocks=blocks, locator=locator, link=_web_only(link))


def _pieces(text: str, start: int, end: int, span: Span | None) -> Iterator[Piece]:
    """The text of one block, cut where the cited span begins and ends."""
    if span is None or span.end <= start or end <= span.start or not len(span):
        yield Piece(text=text[start:end])
        return
    begin, finish = max(start, span.start), min(end, span.end)
    if start < begin:
        yield Piece(text=text[start:begin])
    yield Piece(text=text[begin:finish], cited=True, first=begin == span.start)
    if finish < end:
        yield Piece(text=text[finish:end])


def _landmarks(document: Document) -> dict[int, list[Landmark]]:
    """Landmarks by the place in the text where they stand: page, then heading, then speech."""
    found: dict[int, list[Landmark]] = {}
    pages = _changes(document, PageMark, lambda mark: mark.page)
    headings = _changes(document, HeadingMark, lambda mark: mark.path)
    marks = [
        *((mark.start, Landmark(kind="page", label=f"p. {mark.page}")) for mark in pages),
        *(
            (mark.start, Landmark(kind="heading", label="§ " + " › ".join(mark.path)))
            for mark in headings
        ),
        *_speech(document),
    ]
    for place, mark in marks:
        found.setdefault(place, []).append(mark)
    return found


def _speech(document: Document) -> list[tuple[int, Landmark]]:
    """Who speaks and when: at every change of speaker, and now and then in a long turn."""
    times = _in_order(document, TimeMark)
    turns = _changes(document, SpeakerMark, lambda mark: mark.speaker)
    names = {turn.start: turn.speaker for turn in turns}
    found: list[tuple[int, Landmark]] = []
    told: float | None = None
    for start in sorted({*names, *(mark.start for mark in times)}):
        time = _time_at(times, start)
        due = time and (told is None or time.begin - told >= SECONDS_BETWEEN_TIMES)
        if start in names or due:
            found.append((start, _spoken(document, names.get(start, ""), time)))
            told = time.begin if time else told
    return found


def _in_order(document: Document, sort: type[M]) -> list[M]:
    marks = [mark for mark in document.marks if isinstance(mark, sort)]
    return sorted(marks, key=lambda mark: (mark.start, -mark.end))


def _changes(document: Document, sort: type[M], value: Callable[[M], object]) -> list[M]:
    """The marks at which ``value`` is another than before; a page may have many, one a box."""
    groups = groupby(_in_order(document, sort), key=value)
    return [next(group) for known, group in groups if known]


def _time_at(times: list[TimeMark], place: int) -> TimeMark | None:
    index = bisect_right(times, place, key=lambda mark: mark.start) - 1
    return times[index] if index >= 0 and times[index].end > place else None


def _spoken(document: Document, speaker: str, time: TimeMark | None) -> Landmark:
    parts = [format_time(time.begin) if time else "", speaker]
    link = ""
    if time and document.media_url:
        place = Locator(label="", begin=time.begin)
        link = _web_only(link_to(document.url, place, "", media_url=document.media_url))
    return Landmark(
        kind="speech",
        label=" · ".join(part for part in parts if part),
        link=link,
    )


def _web_only(link: str) -> str:
    """``link`` when a browser may follow it from a page of ours; a script or a file may not."""
    return link if urlsplit(link).scheme in ("http", "https") else ""
