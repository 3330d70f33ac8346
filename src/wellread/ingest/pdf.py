"""Papers: the text layer of a PDF in reading order, with pages, boxes and sections.

pdfium gives the characters of a page as lines in the order of the content stream. Lines are put
into columns where they cluster on two sides of a gutter, running headers and footers are
dropped, and lines are joined into paragraphs. Nothing is recognised in images.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw

from wellread.errors import SourceError
from wellread.ingest.base import LoaderLimits, Source, TextBuilder
from wellread.ingest.front_matter import moment
from wellread.ingest.plain import PARAGRAPH, require_text, title_from_name
from wellread.types import Box, Document, Mark

MARGIN = 0.09  # share of the page height in which running headers and footers stand
RUNNING_PAGES = 3  # on at least so many pages, and on RUNNING_SHARE of them
RUNNING_SHARE = 0.4
COLUMN_LINES = 6  # lines on each side that make a second column
CROSSING_SHARE = 0.35  # of the lines may cross the gutter (title, wide tables)
HEADING_CHARACTERS = 90
SUMMARY_CHARACTERS = 3_000

# pdfium is not thread-safe, whatever the document.
_pdfium_lock = threading.Lock()

_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "\u00ad": "", "\u00a0": " "}
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufeff\uffff]")
_BROKEN = "\ufffe"  # pdfium's sign for a hyphen at the end of a line
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(?P<words>[A-Z].{2,80})$")
_NAMED = re.compile(
    r"(?:abstract|introduction|related work|background|methods?|results|discussion|conclusions?|"
    r"references|acknowledge?ments?|appendix(?: [A-Z])?)\.?$",
    re.I,
)
_BULLET = re.compile(r"[•▪‣◦●■–]\s+|\(?[a-z\d]{1,2}[.)]\s+(?=\S)|\[\d+\]\s")
_ARXIV = re.compile(r"arXiv:\S+\s+\[[^\]]+\]\s+(\d{1,2} \w{3} \d{4})")
_USELESS_TITLE = re.compile(r"untitled|microsoft word|^\W*$|\.(?:docx?|tex|dvi|pdf|indd|qxd)$", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line: its words, its box (shares of the page), its letter size (points)."""

    text: str
    page: int
    box: Box
    size: float
    bold: bool = False
    column: int = 0

    @property
    def height(self) -> float:
        return self.box.bottom - self.box.top


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One paper.

    Raises:
        SourceError: not a PDF, encrypted, too many pages, or no text layer.
    """
    with _pdfium_lock:
        pages, facts = _read(source, limits)
    stamp = next((found for page in pages for line in page if (found := _ARXIV.match(line.text))), None)
    upright = [[line for line in page if line.height < 0.2 or len(line.text) < 8] for page in pages]
    lines = [line for page in _without_running(upright) for line in _in_order(page)]
    if not lines:
        count = len(pages)
        raise SourceError(source.uri, f"scanned: no text layer on any of {count} pages")
    text, marks, summary = _write(lines)
    require_text(source, text)
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="paper",
        title=_title(facts.get("Title", ""), lines) or title_from_name(source.name),
        text=text,
        marks=marks,
        source_type="pdf",
        authors=_authors(facts.get("Author", "")),
        published_at=moment(stamp.group(1)) if stamp else None,
        summary=summary,
    )


def _read(source: Source, limits: LoaderLimits) -> tuple[list[list[_Line]], dict[str, str]]:
    try:
        document = pdfium.PdfDocument(source.data)
    except pdfium.PdfiumError as error:
        reason = "encrypted: it needs a password" if "assword" in str(error) else "not a PDF"
        raise SourceError(source.uri, f"{reason} ({_one_line(str(error))})") from error
    try:
        count = len(document)
        if count > limits.max_pages:
            raise SourceError(
                source.uri,
                f"too many pages: {count}, the limit is {limits.max_pages}",
                hint="raise sources.max_pages",
            )
        pages = [_page_lines(document, index) for index in range(count)]
        return pages, {str(k): _one_line(v) for k, v in document.get_metadata_dict().items()}
    except pdfium.PdfiumError as error:
        raise SourceError(source.uri, f"damaged PDF: {_one_line(str(error))}") from error
    finally:
        document.close()


def _page_lines(document: pdfium.PdfDocument, index: int) -> list[_Line]:
    """The lines of one page in the order of the content stream."""
    page = document[index]
    try:
        layer = page.get_textpage()
        try:
            left, bottom, right, top = page.get_bbox()
            return list(_lines(layer, index + 1, (left, top, right - left, top - bottom)))
        finally:
            layer.close()
    finally:
        page.close()


def _lines(
    layer: pdfium.PdfTextPage, number: int, frame: tuple[float, float, float, float]
) -> Iterator[_Line]:
    """Cut the characters at line ends, and where a gap is too wide for a space."""
    rectangle = pdfium_raw.FS_RECTF()
    pieces: list[str] = []
    edges: list[float] = []  # left, top, right, bottom in points, top of the page upwards
    first = 0
    for place in range(layer.count_chars()):
        code = pdfium_raw.FPDFText_GetUnicode(layer, place)
        letter = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        if letter in "\r\n":
            yield from _line(layer, number, frame, (first, pieces, edges))
            pieces, edges = [], []
            continue
        if not letter.isspace():
            pdfium_raw.FPDFText_GetLooseCharBox(layer, place, rectangle)
            box = (rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
            if edges and box[0] - edges[2] > 1.4 * max(edges[1] - edges[3], 1.0):
                yield from _line(layer, number, frame, (first, pieces, edges))
                pieces, edges = [], []
            if not edges:
                first, edges = place, list(box)
            else:
                edges = [
                    min(edges[0], box[0]),
                    max(edges[1], box[1]),
                    max(edges[2], box[2]),
                    min(edges[3], box[3]),
                ]
        pieces.append(letter)
        if letter == _BROKEN:
            yield from _line(layer, number, frame, (first, pieces, edges))
            pieces, edges = [], []
    yield from _line(layer, number, frame, (first, pieces, edges))


def _line(
    layer: pdfium.PdfTextPage,
    number: int,
    frame: tuple[float, float, float, float],
    gathered: tuple[int, list[str], list[float]],
) -> Iterator[_Line]:
    first, pieces, edges = gathered
    text = _one_line("".join(pieces).translate(_LIGATURES))
    left, top, width, height = frame
    if not text or not edges or width <= 0 or height <= 0:
        return
    yield _Line(
        text=text,
        page=number,
        box=Box(
            left=_share((edges[0] - left) / width),
            top=_share((top - edges[1]) / height),
            right=_share((edges[2] - left) / width),
            bottom=_share((top - edges[3]) / height),
        ),
        size=round(pdfium_raw.FPDFText_GetFontSize(layer, first), 1),
        bold=pdfium_raw.FPDFText_GetFontWeight(layer, first) >= 600,
    )


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


def _one_line(text: str) -> str:
    return " ".join(_CONTROLS.sub("", text).split())


def _without_running(pages: list[list[_Line]]) -> list[list[_Line]]:
    """Drop what stands in the margin of many pages, page numbers aside alike."""
    seen = Counter(key for page in pages for key in {_running_key(line) for line in page})
    needed = max(RUNNING_PAGES, RUNNING_SHARE * len(pages))
    running = {key for key, count in seen.items() if key and count >= needed}
    return [[line for line in page if _running_key(line) not in running] for page in pages]


def _running_key(line: _Line) -> str:
    if line.box.bottom > MARGIN and line.box.top < 1 - MARGIN:
        return ""
    side = "top" if line.box.bottom <= MARGIN else "bottom"
    return f"{side} {re.sub(r'[0-9]+', '#', line.text)}"


def _in_order(lines: list[_Line]) -> list[_Line]:
    """Reading order: bands between full-width lines, in each the left column, then the right."""
    gutter = _gutter(lines)
    if gutter is None:
        return lines
    wide = sorted(line.box.top for line in lines if _side(line, gutter) == 0)
    keyed = []
    for line in lines:
        side = _side(line, gutter)
        band = sum(top < line.box.top for top in wide)
        keyed.append(((band, side != 0, side), replace(line, column=side)))
    return [line for _, line in sorted(keyed, key=lambda pair: pair[0])]


def _side(line: _Line, gutter: float) -> int:
    """1 left of the gutter, 2 right of it, 0 across it."""
    if line.box.right <= gutter:
        return 1
    return 2 if line.box.left >= gutter else 0


def _gutter(lines: list[_Line]) -> float | None:
    """Where two columns part: the place that the fewest lines cross; None for one column."""
    best: tuple[int, float] | None = None
    for step in range(35, 66):
        place = step / 100
        sides = Counter(_side(line, place) for line in lines)
        if min(sides[1], sides[2]) < COLUMN_LINES or sides[0] > CROSSING_SHARE * len(lines):
            continue
        rank = (sides[0], abs(place - 0.5))
        if best is None or rank < best:
            best = rank
            chosen = place
    if best is None:
        return None
    left = [line for line in lines if _side(line, chosen) == 1 and len(line.text) > 20]
    right = [line for line in lines if _side(line, chosen) == 2 and len(line.text) > 20]
    # Prose on both sides, at the same heights; a table's columns are short words.
    if min(len(left), len(right)) < COLUMN_LINES:
        return None
    top = max(min(line.box.top for line in left), min(line.box.top for line in right))
    bottom = min(max(line.box.bottom for line in left), max(line.box.bottom for line in right))
    return chosen if bottom > top else None
