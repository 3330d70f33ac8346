"""Lays out a document for the viewer: blocks with landmarks, cited spans and PDF page images.

``page_of`` neither loses nor adds text: the pieces of all blocks joined are the document's text,
and the marked pieces joined are the cited span.
"""

from __future__ import annotations

import hashlib
import io
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeVar

import pypdfium2 as pdfium
from PIL import Image

from wellread.errors import SourceError
from wellread.ingest.loaders.base import changed_ns
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.serve.web.rendering import web_link
from wellread.store.schema.stored_values import SourceRecord
from wellread.types import (
    Box,
    Document,
    DocumentFacts,
    HeadingMark,
    Locator,
    Mark,
    PageMark,
    Span,
    SpeakerMark,
    TimeMark,
)
from wellread.values.locators import Marks, format_time, link_to

TIME_LABEL_SECONDS = 30.0  # between two time landmarks in a long turn

M = TypeVar("M", bound=Mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A place that readers recognise: a page, a speaker with a time, or a heading.

    Attributes:
        link: the address of the source at this place, if it has one.
        begin: its time in a recording, in seconds.
    """

    kind: str
    label: str
    link: str = ""
    begin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a block's text; ``first``: the first piece of the cited span.

    ``citations`` are the numbers of the answer's other citations that overlap it.
    """

    text: str
    cited: bool = False
    first: bool = False
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The text from one landmark to the next; ``begin`` is its time in seconds."""

    landmarks: tuple[Landmark, ...]
    pieces: tuple[Piece, ...]
    begin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A document as shown by the viewer.

    Attributes:
        locator: place of the cited span; None when nothing is cited.
        link: the address of the source, at the cited place if any; empty unless it is a web page.
    """

    blocks: tuple[Block, ...]
    locator: Locator | None
    link: str


def page_of(
    document: Document, span: Span | None, others: Mapping[int, Span] | None = None
) -> Page:
    """Lay out ``document`` with ``span``, which must be inside the text, marked.

    Args:
        others: other citations of the same answer by number, which are marked too.
    """
    landmarks = _landmarks(document)
    starts = sorted({0, *(position for position in landmarks if position < len(document.text))})
    ends = [*starts[1:], len(document.text)]
    spans = dict(others or {})
    blocks = tuple(
        Block(
            landmarks=tuple(landmarks.get(start, ())),
            pieces=tuple(_pieces(document.text, Span(start=start, end=end), span, spans)),
            begin=next(
                (mark.begin for mark in landmarks.get(start, ()) if mark.begin is not None), None
            ),
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
    return Page(blocks=blocks, locator=locator, link=web_link(link))


def _pieces(
    text: str, block: Span, span: Span | None, others: Mapping[int, Span]
) -> Iterator[Piece]:
    """The text of one block, split at the borders of cited spans."""
    cited_spans = [cited for cited in (span, *others.values()) if cited is not None and len(cited)]
    cuts = {block.start, block.end}
    for marked in cited_spans:
        cuts |= {cut for cut in (marked.start, marked.end) if block.start < cut < block.end}
    if block.start == block.end:
        yield Piece(text="")
    for begin, end in pairwise(sorted(cuts)):
        part = Span(start=begin, end=end)
        cited = span is not None and len(span) > 0 and part.overlaps(span)
        yield Piece(
            text=part.of(text),
            cited=cited,
            first=cited and span is not None and begin == span.start,
            citations=tuple(number for number, other in others.items() if part.overlaps(other)),
        )


def _landmarks(document: Document) -> dict[int, list[Landmark]]:
    """The landmarks by text position: page, then heading, then speech."""
    by_position: dict[int, list[Landmark]] = {}
    pages = _changes(document, PageMark, lambda mark: mark.page)
    headings = _changes(document, HeadingMark, lambda mark: mark.path)
    marks = [
        *(
            (mark.start, Landmark(kind="page", label=f"p. {mark.label or mark.page}"))
            for mark in pages
        ),
        *(
            (mark.start, Landmark(kind="heading", label="§ " + " › ".join(mark.path)))
            for mark in headings
        ),
        *_speech(document),
    ]
    for position, mark in marks:
        by_position.setdefault(position, []).append(mark)
    return by_position


def _speech(document: Document) -> list[tuple[int, Landmark]]:
    """Landmarks of speakers and times: at each change of speaker, and regularly in long turns."""
    times = _sorted_marks(document, TimeMark)
    turns = _changes(document, SpeakerMark, lambda mark: mark.speaker)
    names = {turn.start: turn.speaker for turn in turns}
    landmarks: list[tuple[int, Landmark]] = []
    last_time: float | None = None
    for start in sorted({*names, *(mark.start for mark in times)}):
        time = _time_at(times, start)
        is_due = time and (last_time is None or time.begin - last_time >= TIME_LABEL_SECONDS)
        if start in names or is_due:
            landmarks.append((start, _speech_landmark(document, names.get(start, ""), time)))
            last_time = time.begin if time else last_time
    return landmarks


def _sorted_marks(document: Document, mark_type: type[M]) -> list[M]:
    marks = [mark for mark in document.marks if isinstance(mark, mark_type)]
    return sorted(marks, key=lambda mark: (mark.start, -mark.end))


def _changes(document: Document, mark_type: type[M], value: Callable[[M], object]) -> list[M]:
    """The marks at which ``value`` changes; a page may have several marks, one per box."""
    groups = groupby(_sorted_marks(document, mark_type), key=value)
    return [next(group) for has_value, group in groups if has_value]


def _time_at(times: list[TimeMark], position: int) -> TimeMark | None:
    index = bisect_right(times, position, key=lambda mark: mark.start) - 1
    return times[index] if index >= 0 and times[index].end > position else None


def _speech_landmark(document: Document, speaker: str, time: TimeMark | None) -> Landmark:
    parts = [format_time(time.begin) if time else "", speaker]
    link = ""
    if time and document.media_url:
        locator = Locator(label="", begin=time.begin)
        link = web_link(link_to(document.url, locator, "", media_url=document.media_url))
    return Landmark(
        kind="speech",
        label=" · ".join(part for part in parts if part),
        link=link,
        begin=time.begin if time else None,
    )


DOTS_PER_INCH = 108
POINTS_PER_INCH = 72


Size = tuple[float, float]  # width and height in points


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """A page as shown: an image, highlight boxes over it, and its text lines with their boxes.

    Attributes:
        cited: the boxes of the opened citation.
        others: number and box of the answer's other citations.
    """

    number: int
    size: Size
    lines: tuple[tuple[str, Box], ...]
    cited: tuple[Box, ...] = ()
    others: tuple[tuple[int, Box], ...] = ()


class PageImages:
    """Renders PDF pages as PNG, one at a time, since PDFium is not thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def sizes(self, path: Path) -> list[Size]:
        """The sizes of all pages."""
        with self._lock, _open_pdf(path) as document:
            return [document.get_page_size(number) for number in range(len(document))]

    def png(self, path: Path, number: int) -> bytes:
        """Page ``number`` (from 1) as a PNG."""
        with self._lock, _open_pdf(path) as document:
            if not 1 <= number <= len(document):
                raise SourceError(path.as_uri(), f"has no page {number}")
            scale = DOTS_PER_INCH / POINTS_PER_INCH
            with closing(document[number - 1]) as page:
                bitmap = page.render(scale=scale, rev_byteorder=True)  # RGB order for PNG
                picture = io.BytesIO()
                Image.fromarray(bitmap.to_numpy()).save(picture, format="PNG", compress_level=4)
        return picture.getvalue()


def _open_pdf(path: Path) -> closing[pdfium.PdfDocument]:
    try:
        return closing(pdfium.PdfDocument(path.read_bytes()))
    except (pdfium.PdfiumError, OSError) as error:
        raise SourceError(path.as_uri(), f"cannot be opened as a PDF: {error}") from error


def shown_pages(
    document: Document, sizes: list[Size], span: Span | None, others: dict[int, Span]
) -> tuple[ShownPage, ...]:
    """All pages with their lines, the boxes of ``span`` and the boxes of ``others``."""
    marks = [mark for mark in document.marks if isinstance(mark, PageMark) and mark.box]
    lines: dict[int, list[tuple[str, Box]]] = {}
    for mark in marks:
        line = document.text[mark.start : mark.end].strip()
        if mark.box and line:
            lines.setdefault(mark.page, []).append((line, mark.box))
    cited = boxes_of(document, span) if span else {}
    by_page: dict[int, list[tuple[int, Box]]] = {}
    for number, other in others.items():
        for page, boxes in boxes_of(document, other).items():
            by_page.setdefault(page, []).extend((number, box) for box in boxes)
    return tuple(
        ShownPage(
            number=number,
            size=size,
            lines=tuple(lines.get(number, ())),
            cited=cited.get(number, ()),
            others=tuple(by_page.get(number, ())),
        )
        for number, size in enumerate(sizes, 1)
    )


def boxes_of(document: Document, span: Span) -> dict[int, tuple[Box, ...]]:
    """The boxes of the lines that ``span`` touches, by page."""
    boxes_by_page: dict[int, list[Box]] = {}
    for mark in Marks(document.marks).pages_over(span):
        if mark.box is not None:
            boxes_by_page.setdefault(mark.page, []).append(mark.box)
    return {page: tuple(boxes) for page, boxes in boxes_by_page.items()}


def original_pdf(kb: KnowledgeBase, facts: DocumentFacts) -> Path | None:
    """The PDF that a document was read from, if it still exists unchanged."""
    if not facts.uri.startswith("file:") or not facts.uri.lower().endswith(".pdf"):
        return None
    path = Path(local_path(facts.uri))
    record = kb.catalogue.source(facts.collection, facts.uri)
    return path if record is not None and _is_unchanged(path, record) else None


def _is_unchanged(path: Path, record: SourceRecord) -> bool:
    """Whether the file is unchanged: by size and time, or by its digest."""
    try:
        state = path.stat()
        if (state.st_size, changed_ns(state)) == (record.size, record.mtime_ns):
            return True
        return (
            state.st_size == record.size
            and record.digest == hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        )
    except OSError:
        return False
