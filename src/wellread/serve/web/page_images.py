"""Pictures of the pages of a PDF, drawn when they are looked at and kept in memory only.

Nothing is written: what is removed from the knowledge base leaves no picture behind. The boxes on
a picture are the document's own marks, so nothing is looked for a second time.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image

from wellread.errors import SourceError
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import SourceRecord
from wellread.types import Box, Document, DocumentFacts, PageMark, Span
from wellread.values.locators import Marks

DOTS_PER_INCH = 108
POINTS_PER_INCH = 72
MOST_BYTES = 64_000_000  # of pictures that are kept
MOST_OPEN = 4  # files


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSize:
    """Width and height of a page in points."""

    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBox:
    """A line of a page: its words and where they stand."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """A page as it is shown: a picture, boxes over it, and the words beneath.

    Attributes:
        cited: the boxes of the citation that is opened.
        others: the number and a box of the answer's other citations.
    """

    number: int
    size: PageSize
    lines: tuple[TextBox, ...]
    cited: tuple[Box, ...] = ()
    others: tuple[tuple[int, Box], ...] = ()


class PageImages:
    """Draws pages as PNG. PDFium is no friend of threads, so one page is drawn at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, int, int], pdfium.PdfDocument] = OrderedDict()
        self._drawn: OrderedDict[tuple[str, int, int, int], bytes] = OrderedDict()
        self._bytes = 0

    def sizes(self, path: Path) -> list[PageSize]:
        """The size of every page.

        Raises:
            SourceError: the file cannot be opened as a PDF.
        """
        with self._lock:
            document = self._document(path)
            found = [document.get_page_size(number) for number in range(len(document))]
        return [PageSize(width=width, height=height) for width, height in found]

    def png(self, path: Path, number: int) -> bytes:
        """Page ``number`` (from 1) as a PNG.

        Raises:
            SourceError: there is no such page, or the file cannot be opened as a PDF.
        """
        key = (*_state(path), number)
        with self._lock:
            if key in self._drawn:
                self._drawn.move_to_end(key)
                return self._drawn[key]
            document = self._document(path)
            if not 1 <= number <= len(document):
                raise SourceError(path.as_uri(), f"it has no page {number}")
            page = document[number - 1]
            try:
                scale = DOTS_PER_INCH / POINTS_PER_INCH
                bitmap = page.render(scale=scale, rev_byteorder=True)  # red first, as PNG has it
                picture = io.BytesIO()
                Image.fromarray(bitmap.to_numpy()).save(picture, format="PNG", compress_level=4)
            finally:
                page.close()
            self._keep(key, picture.getvalue())
            return picture.getvalue()

    def close(self) -> None:
        """Let go of the open files and of what was drawn."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
            self._drawn.clear()
            self._bytes = 0

    def _document(self, path: Path) -> pdfium.PdfDocument:
        key = _state(path)
        if key in self._open:
            self._open.move_to_end(key)
            return self._open[key]
        try:
            opened = pdfium.PdfDocument(path.read_bytes())
        except (pdfium.PdfiumError, OSError) as error:
            raise SourceError(path.as_uri(), f"cannot be opened as a PDF: {error}") from error
        self._open[key] = opened
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return opened

    def _keep(self, key: tuple[str, int, int, int], picture: bytes) -> None:
        self._drawn[key] = picture
        self._bytes += len(picture)
        while self._bytes > MOST_BYTES and len(self._drawn) > 1:
            self._bytes -= len(self._drawn.popitem(last=False)[1])


def shown_pages(
    document: Document, sizes: list[PageSize], span: Span | None, others: dict[int, Span]
) -> tuple[ShownPage, ...]:
    """Every page with its lines, the boxes of ``span`` and those of ``others``."""
    marks = [mark for mark in document.marks if isinstance(mark, PageMark) and mark.box]
    lines: dict[int, list[TextBox]] = {}
    for mark in marks:
        words = document.text[mark.start : mark.end].strip()
        if mark.box and words:
            lines.setdefault(mark.page, []).append(TextBox(text=words, box=mark.box))
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
    """Page to the boxes of the lines that ``span`` touches."""
    found: dict[int, list[Box]] = {}
    for mark in Marks(document.marks).pages_over(span):
        if mark.box is not None:
            found.setdefault(mark.page, []).append(mark.box)
    return {page: tuple(boxes) for page, boxes in found.items()}


def original_pdf(kb: KnowledgeBase, facts: DocumentFacts) -> Path | None:
    """The file that a paper was read from, when it lies there as it was then.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    if not facts.uri.startswith("file:") or not facts.uri.lower().endswith(".pdf"):
        return None
    path = Path(local_path(facts.uri))
    record = kb.catalogue.source(facts.collection, facts.uri)
    return path if record is not None and _same(path, record) else None


def _same(path: Path, record: SourceRecord) -> bool:
    """Whether the file is what was read: by size and time, else by its digest."""
    try:
        state = path.stat()
        if (state.st_size, state.st_mtime_ns) == (record.size, record.mtime_ns):
            return True
        return state.st_size == record.size and _digest(path) == record.digest
    except OSError:
        return False


def _digest(path: Path) -> str:
    """As ingest has it of the bytes that it read."""
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def _state(path: Path) -> tuple[str, int, int]:
    try:
        state = os.stat(path)
    except OSError as error:
        raise SourceError(path.as_uri(), f"cannot be read: {error.strerror}") from error
    return str(path), state.st_size, state.st_mtime_ns
