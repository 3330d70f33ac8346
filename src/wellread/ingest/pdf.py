"""Papers: the text layer of a PDF in reading order, with pages, boxes and sections.

pdfium gives the characters of a page as lines in the order of the content stream. Lines are put
into columns where they cluster on two sides of a gutter, running headers and footers are
dropped, and lines are joined into paragraphs. Nothing is recognised in images.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from ctypes import create_string_buffer
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from math import hypot
from statistics import median

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw

from wellread.errors import SourceError
from wellread.ingest import plain
from wellread.ingest.base import LoaderLimits, Source, TextBuilder
from wellread.ingest.front_matter import moment, names
from wellread.ingest.pdf_tables import same_row, table_cells
from wellread.types import Box, Document, Mark

MARGIN = 0.09  # share of the page height in which running headers and footers stand
RUNNING_PAGES = 3  # on at least so many pages, and on RUNNING_SHARE of them
RUNNING_SHARE = 0.4
COLUMN_LINES = 6  # lines on each side that make a second column
CROSSING_SHARE = 0.35  # of the lines may cross the gutter (title, wide tables)
HEADING_CHARACTERS = 90
SUMMARY_CHARACTERS = 3_000
WIDE_GAP = 1.4  # letter heights between two pieces that are not of one sentence

_Edges = tuple[float, float, float, float]  # left, top, right, bottom in points, upwards
# pdfium is not thread-safe, whatever the document.
_pdfium_lock = threading.Lock()

_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(?P<words>[A-Z].{2,80})$")
_NAMED = re.compile(
    r"(?:abstract|introduction|related work|background|methods?|results|discussion|conclusions?|"
    r"references|acknowledge?ments?|appendix(?: [A-Z])?)\.?$",
    re.I,
)
_BULLET = re.compile(r"[•▪‣◦●■–]\s+|\(?[a-z\d]{1,2}[.)]\s+(?=\S)|\[\d+\]\s")
_BOLD = re.compile(rb"bold|black|heavy|demi|medi|bx\d", re.I)
_SIGN = re.compile(r"\d{1,2}|[*†‡§¶∗]{1,2}")  # of a footnote, raised and small
_ARXIV = re.compile(r"arXiv:\S+\s+\[[^\]]+\]\s+(\d{1,2} \w{3} \d{4})")
_USELESS_TITLE = re.compile(r"untitled|microsoft|presentation$|^\W*$|\.\w{2,4}$", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line: its words, its box (shares of the page), its letter size (points)."""

    text: str
    page: int
    box: Box
    size: float
    bold: bool = False
    column: int = 0


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:
    """One paper.

    Raises:
        SourceError: not a PDF, encrypted, too many pages, or no text layer.
    """
    with _pdfium_lock:
        pages, facts = _read(source, limits)
    stamps = [found for line in chain(*pages) if (found := _ARXIV.match(line.text))]
    kept = _without_running([[line for line in page if _upright(line)] for page in pages])
    lines = [line for page in kept for line in _in_order(page)]
    if not lines:
        raise SourceError(source.uri, f"scanned: no text layer on any of {len(pages)} pages")
    text, marks, summary = _write(lines)
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="paper",
        title=_title(facts.get("Title", ""), lines) or plain.title_from_name(source.name),
        text=text,
        marks=marks,
        source_type="pdf",
        authors=names(facts.get("Author", "")),
        published_at=moment(stamps[0].group(1)) if stamps else None,
        summary=summary,
    )


def _read(source: Source, limits: LoaderLimits) -> tuple[list[list[_Line]], dict[str, str]]:
    try:
        document = pdfium.PdfDocument(source.data)
    except pdfium.PdfiumError as error:
        reason = "encrypted: it needs a password" if "assword" in str(error) else "not a PDF"
        raise SourceError(source.uri, f"{reason} ({plain.one_line(str(error))})") from error
    try:
        count = len(document)
        if count > limits.max_pages:
            raise SourceError(
                source.uri,
                f"too many pages: {count}, the limit is {limits.max_pages}",
                hint="raise sources.max_pages",
            )
        pages = [_page_lines(document, index) for index in range(count)]
        return pages, {str(k): plain.one_line(v) for k, v in document.get_metadata_dict().items()}
    except pdfium.PdfiumError as error:
        raise SourceError(source.uri, f"damaged PDF: {plain.one_line(str(error))}") from error
    finally:
        document.close()


def _page_lines(document: pdfium.PdfDocument, index: int) -> list[_Line]:
    """The lines of one page in the order of the content stream."""
    with closing(document[index]) as page, closing(page.get_textpage()) as layer:
        left, bottom, right, top = page.get_bbox()
        return list(_lines(layer, index + 1, (left, top, right, bottom)))


def _lines(layer: pdfium.PdfTextPage, number: int, frame: _Edges) -> Iterator[_Line]:
    """Cut the characters at line ends, and where a gap is too wide for a space."""
    rectangle, first = pdfium_raw.FS_RECTF(), 0
    letters: list[str] = []
    edges: list[_Edges] = []  # of the letters that are not spaces
    for place in range(layer.count_chars()):
        code = pdfium_raw.FPDFText_GetUnicode(layer, place)
        letter = plain.BROKEN if code == 2 else chr(code) if code < 0x110000 else "\ufffd"
        if not letter.isspace():
            pdfium_raw.FPDFText_GetLooseCharBox(layer, place, rectangle)
            box = (rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
            if edges and box[0] - edges[-1][2] > WIDE_GAP * max(box[1] - box[3], 1.0):
                yield from _line(letters, edges, frame, (layer, number, first))
                letters, edges = [], []
            first = first if edges else place
            edges.append(box)
        letters.append(letter)
        if letter in ("\r", "\n", plain.BROKEN):
            yield from _line(letters, edges, frame, (layer, number, first))
            letters, edges = [], []
    yield from _line(letters, edges, frame, (layer, number, first))


def _line(
    letters: list[str],
    edges: list[_Edges],
    frame: _Edges,
    origin: tuple[pdfium.PdfTextPage, int, int],
) -> Iterator[_Line]:
    """The line of ``letters``, unless it is blank; ``origin``: text layer, page, first letter."""
    text = plain.one_line("".join(letters))
    layer, number, first = origin
    left, top, width, height = frame[0], frame[1], frame[2] - frame[0], frame[1] - frame[3]
    if not text or not edges or width <= 0 or height <= 0:
        return
    lefts, tops, rights, bottoms = zip(*edges, strict=True)
    box = Box(
        left=_share((min(lefts) - left) / width),
        top=_share((top - max(tops)) / height),
        right=_share((max(rights) - left) / width),
        bottom=_share((top - min(bottoms)) / height),
    )
    matrix, name = pdfium_raw.FS_MATRIX(), create_string_buffer(64)
    pdfium_raw.FPDFText_GetMatrix(layer, first, matrix)
    pdfium_raw.FPDFText_GetFontInfo(layer, first, name, len(name), None)
    size = round(pdfium_raw.FPDFText_GetFontSize(layer, first) * hypot(matrix.c, matrix.d), 1)
    bold = bool(_BOLD.search(name.value))
    yield _Line(text=text, page=number, box=box, size=size, bold=bold)


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


def _without_running(pages: list[list[_Line]]) -> list[list[_Line]]:
    """Drop what stands in the margin of many pages, page numbers aside alike."""
    seen = Counter(key for page in pages for key in {_running_key(line) for line in page})
    needed = max(RUNNING_PAGES, RUNNING_SHARE * len(pages))
    running = {key for key, count in seen.items() if key and count >= needed}
    return [[line for line in page if _running_key(line) not in running] for page in pages]


def _upright(line: _Line) -> bool:
    """Whether the line is not turned, as the stamp in the margin of a preprint is."""
    return line.box.bottom - line.box.top < 0.2 or len(line.text) < 8


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
    groups: dict[tuple[int, int], list[_Line]] = {}
    for line in lines:
        side = _side(line, gutter)
        band = 2 * bisect_left(wide, line.box.top) + (side == 0)
        groups.setdefault((band, side), []).append(replace(line, column=side))
    return [line for _, group in sorted(groups.items()) for line in _downwards(group)]


def _downwards(lines: list[_Line]) -> list[_Line]:
    """The order of the content stream, unless that jumps up the page."""
    jumps = any(b.box.top < a.box.top - 0.01 for a, b in pairwise(lines))
    return sorted(lines, key=lambda line: line.box.top) if jumps else lines


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


class _Usual:
    """What is usual: where columns begin and end, how large letters are, how far lines stand."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        sizes: Counter[float] = Counter()
        edges: dict[tuple[int, int], list[Box]] = {}
        for line in lines:
            sizes[line.size] += len(line.text)
            edges.setdefault((line.page, line.column), []).append(line.box)
        self.body = sizes.most_common(1)[0][0]
        self._left = {k: median(box.left for box in boxes) for k, boxes in edges.items()}
        self._right = {k: max(box.right for box in boxes) for k, boxes in edges.items()}
        steps = [b.box.top - a.box.top for a, b in pairwise(lines) if _under(a, b)]
        self._step = median(steps) if steps else 0.0
        self._cells = {lines[n] for n in table_cells([(line.page, line.box) for line in lines])}

    def breaks(self, before: _Line, line: _Line) -> bool:
        """Whether ``line`` begins a paragraph."""
        if self.level(before) or self.level(line) or _BULLET.match(line.text):
            return True
        level = same_row((before.page, before.box), (line.page, line.box))
        if level or (_SIGN.fullmatch(before.text) and _under(before, line, 0.02)):
            return False
        resized = abs(before.size - line.size) > 0.12 * max(before.size, line.size)
        if resized or before in self._cells or line in self._cells:
            return True
        ended = bool(_SENTENCE_END.search(before.text))
        if not _under(before, line):  # the next column or page
            return ended or not line.text[0].islower()
        key = (line.page, line.column)
        left, right = self._left[key], self._right[key]
        short = before.box.right < right - 0.15 * (right - left)
        indented = line.box.left - left > 0.012 and before.box.left - left < 0.006
        indented = indented and not _BULLET.match(before.text)  # hangs
        far = line.box.top - before.box.top > 1.35 * self._step * max(1.0, line.size / self.body)
        opens = not line.text[0].islower() and line.size <= 1.15 * self.body  # not a title
        return far or indented or (short and (ended or opens))

    def level(self, line: _Line) -> int:
        """The level of a heading; 0 for what is none. It is numbered or named, and set apart."""
        if len(line.text) > HEADING_CHARACTERS or not (line.bold or line.size >= 1.05 * self.body):
            return 0
        numbered = _NUMBERED.match(line.text)
        if numbered and line.text[-1] not in ".,;:":
            return numbered["number"].count(".") + 1
        return 1 if _NAMED.match(line.text) else 0


def _under(before: _Line, line: _Line, slack: float = 0.0) -> bool:
    """Whether ``line`` stands lower in the same column."""
    place = (before.page, before.column) == (line.page, line.column)
    return place and line.box.top > before.box.top - slack


def _write(lines: list[_Line]) -> tuple[str, tuple[Mark, ...], str]:
    """Text, marks and abstract. A hyphen at a line's end goes when the word is known without."""
    usual = _Usual(lines)
    words = plain.whole_words([line.text for line in lines])
    builder = TextBuilder()
    path: list[tuple[int, str]] = []
    abstract: list[str] = []
    page = 0
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        if line.page != page:
            page = line.page
            builder.page(page)
        level = usual.level(line)
        if level:
            path = [*(step for step in path if step[0] < level), (level, line.text)]
            builder.heading(tuple(name for _, name in path))
        apart = after is None or usual.breaks(line, after)
        text, gap = plain.join_lines(line.text, "" if apart or after is None else after.text, words)
        builder.box(builder.add(text), line.page, line.box)
        gap = ("" if after is None else plain.PARAGRAPH) if apart else gap
        builder.add(gap)
        if not level and path and path[-1][1].lower().startswith("abstract"):
            abstract += [text, gap]
    text, marks = builder.build()
    return text, marks, "".join(abstract).strip()[:SUMMARY_CHARACTERS]


def _title(given: str, lines: Sequence[_Line]) -> str:
    """The title of the metadata when it is one, else the largest words of the first page."""
    if len(given) >= 4 and not _USELESS_TITLE.search(given):
        return given
    first = [line for line in lines if line.page == lines[0].page and len(line.text) >= 4]
    largest = max((line.size for line in first), default=0.0)
    runs = [list(run) for size, run in groupby(first, lambda line: line.size) if size == largest]
    # Several runs of the largest letters are headings: then the page's first line is the title.
    lead = runs[0] if len(runs) == 1 and largest > 1.05 * _Usual(lines).body else first[:1]
    words = (
        " ".join(line.text for line in lead)
        .replace(f"{plain.BROKEN} ", "")
        .replace(plain.BROKEN, "-")
    )
    return words if len(words) <= plain.TITLE_CHARACTERS and not words.endswith((".", ",")) else ""
