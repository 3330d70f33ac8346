"""Lines of a PDF page as PDFium finds them, in the order in which a person reads them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from wellread.types import Box

# PDFium puts this for a hyphen at a line's end and goes on with the next line.
HYPHEN = "\ufffe"
LINE_END = "\r\n"
COLUMN_SHARE = 0.25  # of a page's lines must stand in each column of a two-column page
SMALLEST_SIZE = 3.0  # points
MARGIN = 0.09  # of the height: where running heads, running feet and page numbers stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of text and where it stands (points, origin at the lower left)."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float

    @property
    def height(self) -> float:
        """From the lowest to the highest stroke."""
        return self.top - self.bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page's lines in reading order."""

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]


def read_page(document: pypdfium2.PdfDocument, number: int) -> Page:
    """Page ``number`` (counted from 1)."""
    page = document[number - 1]
    try:
        width, height = page.get_size()
        textpage = page.get_textpage()
        try:
            lines = _lines(textpage)
        finally:
            textpage.close()
    finally:
        page.close()
    return Page(number=number, width=width, height=height, lines=tuple(in_order(lines, width)))


def _lines(textpage: pypdfium2.PdfTextPage) -> list[Line]:
    found = []
    place = 0
    for text in textpage.get_text_range().split(LINE_END):
        # PDFium counts UTF-16 units, Python counts code points.
        length = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if text.strip():
            rects = [
                textpage.get_rect(index) for index in range(textpage.count_rects(place, length))
            ]
            size = pdfium.FPDFText_GetFontSize(textpage, place + length // 2)
            line = _line(text, rects, size) if rects else None
            if line and not _upright(line):
                found.append(line)
        place += length + len(LINE_END)
    return found


def _line(text: str, rects: Sequence[tuple[float, float, float, float]], size: float) -> Line:
    left, bottom = min(rect[0] for rect in rects), min(rect[1] for rect in rects)
    right, top = max(rect[2] for rect in rects), max(rect[3] for rect in rects)
    # Some files scale a font of size 1 by a matrix; then the strokes say how large it is.
    real = size if size >= SMALLEST_SIZE else top - bottom
    return Line(text=text, left=left, right=right, bottom=bottom, top=top, size=real)


def _upright(line: Line) -> bool:
    """Whether the line runs up the page, like the stamp of a preprint server."""
    return len(line.text) > 8 and line.height > 3 * (line.right - line.left)


def in_order(lines: Sequence[Line], width: float) -> list[Line]:
    """The lines as read: on a two-column page the left column before the right one.

    Lines that reach over the middle (titles, wide figures) divide the page into bands; inside a
    band the columns follow one another. A page without two clear columns keeps PDFium's order,
    which is that of the file.
    """
    middle = width / 2
    sides = [_side(line, middle) for line in lines]
    few = COLUMN_SHARE * len(lines)
    if sides.count("left") < max(few, 5) or sides.count("right") < max(few, 5):
        return list(lines)
    ordered: list[Line] = []
    band: list[tuple[str, Line]] = []
    for side, line in sorted(
        zip(sides, lines, strict=True), key=lambda item: -round(item[1].top, 1)
    ):
        if side == "both":
            ordered += _columns(band)
            ordered.append(line)
            band = []
        else:
            band.append((side, line))
    return ordered + _columns(band)


def _side(line: Line, middle: float) -> str:
    slack = 4.0
    if line.right <= middle + slack:
        return "left"
    return "right" if line.left >= middle - slack else "both"


def _columns(band: Sequence[tuple[str, Line]]) -> list[Line]:
    return [line for side in ("left", "right") for where, line in band if where == side]


def without_margins(pages: Sequence[Page]) -> list[Page]:
    """The pages without page numbers and without heads and feet that most pages repeat."""
    seen: dict[str, int] = {}
    for page in pages:
        for mark in {_repeatable(line.text) for line in page.lines if _in_margin(line, page)}:
            seen[mark] = seen.get(mark, 0) + 1
    often = max(2, (len(pages) + 1) // 2)

    def keep(line: Line, page: Page) -> bool:
        if not _in_margin(line, page):
            return True
        mark = _repeatable(line.text)
        return not re.fullmatch(r"(?:page )?#(?: (?:of|/) #)?", mark) and seen[mark] < often

    return [
        Page(
            number=page.number,
            width=page.width,
            height=page.height,
            lines=tuple(line for line in page.lines if keep(line, page)),
        )
        for page in pages
    ]


def _in_margin(line: Line, page: Page) -> bool:
    return line.top < page.height * MARGIN or line.bottom > page.height * (1 - MARGIN)


def _repeatable(text: str) -> str:
    return re.sub(r"\d+", "#", " ".join(text.lower().split()))


def body_size(pages: Sequence[Page]) -> float:
    """The font size of most of the text (points)."""
    sizes = [line.size for page in pages for line in page.lines for _ in range(len(line.text))]
    return statistics.median(sizes) if sizes else 0.0


def box_of(line: Line, page: Page) -> Box:
    """The line's place as shares of the page, origin at the top left."""

    def share(value: float, whole: float) -> float:
        return round(min(1.0, max(0.0, value / whole)), 4) if whole else 0.0

    return Box(
        left=share(line.left, page.width),
        top=share(page.height - line.top, page.height),
        right=share(line.right, page.width),
        bottom=share(page.height - line.bottom, page.height),
    )
