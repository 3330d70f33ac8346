"""PDF papers with a text layer: pages, boxes, paragraphs, sections.

PDFium (through pypdfium2) finds the characters; what is decided here is the reading order, which
lines make a paragraph, and which of them are headings.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pypdfium2

from wellread.errors import SourceError
from wellread.ingest.base import LoaderLimits, Source, TextBuilder
from wellread.ingest.pdf_lines import (
    HYPHEN,
    Line,
    Page,
    body_size,
    box_of,
    read_page,
    without_margins,
)
from wellread.ingest.plain import PARAGRAPH, title_from_name
from wellread.types import Document, Mark, PageMark

PARAGRAPH_GAP = 0.8  # of a line's height: white space from which a new paragraph begins
INDENT = 6.0  # points to the right of the line before
LARGER = 1.15  # times the body's size: the type of titles and headings
LONGEST_HEADING = 90
SUMMARY_CHARACTERS = 3_000

_pdfium = threading.Lock()  # PDFium is not safe to call from two threads

_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+([A-Z][^.!?]*)$")
_NAMED = re.compile(
    r"(?:abstract|introduction|background|related work|methods?|materials and methods|results"
    r"|discussion|conclusions?|acknowledge?ments?|references|bibliography|appendix(?: [A-Z])?)$",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?:;)\]”\"]$")
_ODD_TITLE = re.compile(r"^untitled|\.(?:docx?|tex|pdf|dvi|indd|pptx?)$|^microsoft word", re.I)
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One paper. Everything is read before it is yielded, so no part of a paper comes out."""
    with _pdfium:
        pages, metadata = _read(source, limits)
    empty = sum(not page.lines for page in pages)
    if empty == len(pages):
        raise SourceError(
            source.uri,
            f"scanned: no text layer on any of {len(pages)} pages",
            hint="run text recognition (OCR) on it first",
        )
    pages = without_margins(pages)
    writer = _Writer(size=body_size(pages))
    for page in pages:
        writer.page(page)
    text, marks = writer.finish()
    if not text.strip():
        raise SourceError(source.uri, "no text")
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="paper",
        title=_title(metadata, pages, source.name),
        text=text,
        marks=marks,
        source_type="pdf",
        authors=_authors(metadata.get("Author", "")),
        summary=writer.abstract()[:SUMMARY_CHARACTERS],
    )


def _read(source: Source, limits: LoaderLimits) -> tuple[list[Page], dict[str, str]]:
    try:
        document = pypdfium2.PdfDocument(source.data)
    except pypdfium2.PdfiumError as error:
        reason = "encrypted: a password is needed" if "assword" in str(error) else "not a PDF"
        raise SourceError(source.uri, f"{reason} ({' '.join(str(error).split())})") from error
    try:
        count = len(document)
        if count > limits.max_pages:
            raise SourceError(
                source.uri,
                f"too many pages: {count:,}, the limit is {limits.max_pages:,} (sources.max_pages)",
            )
        if count == 0:
            raise SourceError(source.uri, "no pages")
        pages = [read_page(document, number) for number in range(1, count + 1)]
        return pages, dict(document.get_metadata_dict())
    except pypdfium2.PdfiumError as error:
        raise SourceError(source.uri, f"damaged: {' '.join(str(error).split())}") from error
    finally:
        document.close()


@dataclass(slots=True)
class _Writer:
    """Joins lines to paragraphs and keeps page, box and heading marks in step."""

    size: float
    _builder: TextBuilder = field(default_factory=TextBuilder)
    _boxes: list[Mark] = field(default_factory=list)
    _path: list[tuple[int, str]] = field(default_factory=list)
    _before: tuple[Line, Page] | None = None
    _hyphen: bool = False
    _abstract: list[str] = field(default_factory=list)

    def page(self, page: Page) -> None:
        """Write all lines of a page."""
        for place, line in enumerate(page.lines):
            if place == 0:
                self._separate(line, page)
                self._builder.page(page.number)
            else:
                self._separate(line, page)
            heading = self._heading(line)
            if heading:
                self._open_section(*heading)
            self._write(line, page)
            if heading:
                self._before = None

    def finish(self) -> tuple[str, tuple[Mark, ...]]:
        """The whole text and its marks."""
        text, marks = self._builder.build()
        return text, tuple(sorted((*marks, *self._boxes), key=lambda mark: (mark.start, -mark.end)))

    def abstract(self) -> str:
        """The text under the heading "Abstract"; empty when there is none."""
        return " ".join("".join(self._abstract).split())

    def _write(self, line: Line, page: Page) -> None:
        text = _CONTROL.sub("", line.text.replace(HYPHEN, "")).strip()
        if line.text.rstrip().endswith("-") and len(text) > 2 and text[-2].isalpha():
            self._hyphen = True
            text = text[:-1]
        span = self._builder.add(text)
        if span.start < span.end:
            self._boxes.append(
                PageMark(start=span.start, end=span.end, page=page.number, box=box_of(line, page))
            )
        if self._path and self._path[-1][1].lower() == "abstract":
            self._abstract.append(text + " ")
        self._before = (line, page)

    def _separate(self, line: Line, page: Page) -> None:
        if self._builder.length == 0:
            return
        if self._before is None:
            self._builder.add(PARAGRAPH)
        elif self._hyphen and line.text[:1].islower():
            pass  # a word goes on
        else:
            if self._hyphen:
                self._builder.add("-")
                self._builder.add("" if line.text[:1].isalnum() else " ")
            elif self._begins_paragraph(line, page):
                self._builder.add(PARAGRAPH)
            else:
                self._builder.add(" ")
        self._hyphen = False

    def _begins_paragraph(self, line: Line, page: Page) -> bool:
        if self._before is None or self._heading(line):
            return True
        before, earlier = self._before
        if abs(before.size - line.size) > 0.15 * self.size and _ENDS.search(before.text.strip()):
            return True
        ended = bool(_ENDS.search(before.text.strip()))
        if earlier is not page or line.bottom > before.top:  # a new page or column
            return ended and not line.text[:1].islower()
        gap = before.bottom - line.top
        return gap > PARAGRAPH_GAP * max(before.height, line.height, self.size) or (
            ended and line.left > before.left + INDENT
        )

    def _heading(self, line: Line) -> tuple[int, str] | None:
        """Level and title when the line is a heading."""
        text = " ".join(line.text.split())
        if len(text) > LONGEST_HEADING or HYPHEN in text:
            return None
        numbered = _NUMBERED.match(text)
        # A long text after a colon is an item of a list, smaller type is a footnote.
        item = len(text.partition(": ")[2].split()) > 6 or text.endswith(",")
        if numbered and not item and line.size >= self.size * 0.98:
            return numbered.group(1).count(".") + 1, text
        return (1, text) if _NAMED.match(text) else None

    def _open_section(self, level: int, title: str) -> None:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))
        self._builder.heading(tuple(name for _, name in self._path))


def _title(metadata: dict[str, str], pages: list[Page], name: str) -> str:
    """The metadata's title when it is one, else the largest lines of the first page."""
    given = " ".join(metadata.get("Title", "").split())
    if len(given) > 4 and not _ODD_TITLE.search(given):
        return given
    first = next((page for page in pages if page.lines), None)
    if first is None:
        return title_from_name(name)
    largest = max(line.size for line in first.lines)
    if largest >= LARGER * body_size(pages):
        lines = [line.text for line in first.lines if line.size > 0.97 * largest]
        title = " ".join(" ".join(lines[:3]).replace(HYPHEN, "").split())
        if 4 < len(title) <= 250:
            return title
    return title_from_name(name)


def _authors(given: str) -> tuple[str, ...]:
    names = re.split(r"\s*[;,]\s*|\s+and\s+", given.strip())
    return tuple(name for name in names if name)
