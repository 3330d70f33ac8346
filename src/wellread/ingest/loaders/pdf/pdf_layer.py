"""Reads the text layer of a PDF as pieces of lines, in the order of the content stream.

A piece ends at the end of the line, at a gap wider than a space, and where letters jump up or down.
Text may be rotated with the page (``/Rotate``) or on it (a sideways table), so a piece has two
boxes: one on the displayed page, and one on the page rotated until the piece reads from left to
right.

White and unpainted letters are usually invisible, but text recognition also puts unpainted text
under scanned pages, and white letters may be on a dark background. So pages with such letters are
rendered, and pieces that show nothing in the picture are dropped.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from ctypes import c_uint, create_string_buffer
from dataclasses import dataclass
from itertools import islice, pairwise
from math import degrees, hypot
from typing import NamedTuple

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw
from numpy.typing import NDArray

from wellread.ingest.loaders import plain
from wellread.types import Box

MIN_PALE, MAX_FAINT = 0xFF - 24, 25  # of 255: white letters, almost transparent letters
UNPAINTED = (3, 7)  # PDF text render modes: invisible, and clipping path
MIN_CONTRAST = 32  # of 255, between the darkest and brightest pixel of visible letters
MAX_RENDER_PIXELS = 1600  # on the longer side of a page


def is_doubtful(layer: pdfium.PdfTextPage, index: int) -> bool:
    """Whether the letter is white, almost transparent, or not painted."""
    colour = [c_uint() for _ in range(4)]
    if pdfium_raw.FPDFText_GetFillColor(layer, index, *colour):
        *mixed, opaque = (part.value for part in colour)
        if opaque <= MAX_FAINT or min(mixed) >= MIN_PALE:
            return True
    text_object = pdfium_raw.FPDFText_GetTextObject(layer, index)
    return bool(text_object) and pdfium_raw.FPDFTextObj_GetTextRenderMode(text_object) in UNPAINTED


class Picture:
    """The rendered image of a page, rendered on first use."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page
        self._dots: NDArray[np.uint8] | None = None

    def shows(self, box: Box) -> bool:
        """Whether anything is visible in ``box``."""
        if self._dots is None:
            scale = min(2.0, MAX_RENDER_PIXELS / max(*self._page.get_size(), 1.0))
            self._dots = self._page.render(scale=scale, grayscale=True).to_numpy().squeeze()
        height, width = self._dots.shape[:2]
        part = self._dots[
            int(box.top * height) : max(int(box.bottom * height), int(box.top * height) + 1),
            int(box.left * width) : max(int(box.right * width), int(box.left * width) + 1),
        ]
        return part.size > 0 and int(part.max()) - int(part.min()) >= MIN_CONTRAST


MIN_GAP_HEIGHTS = 1.0  # a wider gap separates two pieces
MIN_POINTS = 0.75  # smaller letters are unreadable
OUTLINE_ENTRIES, OUTLINE_LEVELS = 5_000, 6

_BOLD_NAMES = (b"bold", b"black", b"heavy", b"demi", b"medi", b"bx")


_Edges = tuple[float, float, float, float]  # left, bottom, right, top, in page coordinates


class _Frame(NamedTuple):
    """A page's edges in its own coordinates (points, upwards) and its rotation for display."""

    edges: _Edges
    turn: int

    def misses(self, edges: _Edges) -> bool:
        """Whether ``edges`` are entirely off the page."""
        left, bottom, right, top = self.edges
        outside = edges[2] <= left or edges[0] >= right
        return outside or edges[3] <= bottom or edges[1] >= top

    def box(self, edges: _Edges, turn: int) -> Box:
        """``edges`` as shares (rightwards, downwards) of the page rotated by ``turn`` degrees."""
        left, bottom, right, top = _rotate(self.edges, turn)
        one, low, other, high = _rotate(edges, turn)
        across = sorted((x - left) / (right - left) for x in (one, other))
        down = sorted((top - y) / (top - bottom) for y in (low, high))
        shares = [round(min(max(value, 0.0), 1.0), 4) for value in (*across, *down)]
        return Box(left=shares[0], right=shares[1], top=shares[2], bottom=shares[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Adjacent letters on one line.

    Attributes:
        box: the position in shares of the displayed page.
        place: the position on the page rotated until the letters are upright.
        turn: this rotation in degrees clockwise, relative to the displayed page.
        size: the letter size in points.
        leftward: whether the text is read from right to left.
        doubtful: whether the letters are white or unpainted and may be invisible.
    """

    text: str
    page: int
    box: Box
    place: Box
    size: float
    bold: bool = False
    turn: int = 0
    leftward: bool = False
    doubtful: bool = False

    @property
    def letters(self) -> int:
        """The number of letters and digits."""
        return sum(map(str.isalnum, self.text))


class PageText(NamedTuple):
    """The pieces of one page: those in the direction of most letters, and the others."""

    pieces: list[Piece]
    aside: list[Piece]


def page_text(document: pdfium.PdfDocument, index: int) -> PageText:
    """The text of one page (counted from 0)."""
    with closing(document[index]) as page, closing(page.get_textpage()) as layer:
        left, bottom, right, top = page.get_bbox()
        frame = _Frame((left, bottom, right, top), page.get_rotation() % 360)
        if right <= left or top <= bottom:
            return PageText([], [])
        picture = Picture(page)
        pieces = [
            piece
            for piece in _Reader(layer, index + 1, frame).pieces()
            if not piece.doubtful or picture.shows(piece.box)
        ]
    letters: Counter[int] = Counter()
    for piece in pieces:
        letters[piece.turn] += piece.letters
    usual = max(letters, key=lambda turn: (letters[turn], turn == 0), default=0)
    return PageText(
        [piece for piece in pieces if piece.turn == usual],
        [piece for piece in pieces if piece.turn != usual],
    )


class _Reader:
    def __init__(self, layer: pdfium.PdfTextPage, number: int, frame: _Frame) -> None:
        self._layer = layer
        self._number = number
        self._frame = frame
        self._letters: list[str] = []
        self._edges: list[_Edges] = []
        self._first = 0
        self._angle = 0
        self._doubtful = False

    def pieces(self) -> Iterator[Piece]:
        """All pieces that are not blank."""
        rectangle = pdfium_raw.FS_RECTF()
        for place in range(self._layer.count_chars()):
            code = pdfium_raw.FPDFText_GetUnicode(self._layer, place)
            letter = plain.HYPHEN if code == 2 else chr(code) if code < 0x110000 else "\ufffd"
            if not letter.isspace():
                pdfium_raw.FPDFText_GetLooseCharBox(self._layer, place, rectangle)
                edges = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
                if self._edges and self._is_separate(self._edges[-1], edges):
                    yield from self._piece()
                if not self._letters or self._letters[-1].isspace():  # a word begins
                    doubtful = is_doubtful(self._layer, place)
                    if self._edges and doubtful != self._doubtful:
                        yield from self._piece()
                    self._doubtful = doubtful
                if not self._edges:
                    self._first, self._angle = place, self._angle_of(place)
                self._edges.append(edges)
            self._letters.append(letter)
            if letter in ("\r", "\n", plain.HYPHEN):
                yield from self._piece()
        yield from self._piece()

    def _is_separate(self, before: _Edges, after: _Edges) -> bool:
        """Whether a gap or a jump separates two consecutive letters."""
        one, other = _rotate(before, self._angle), _rotate(after, self._angle)
        height = max(one[3] - one[1], 1.0)
        beside = other[0] - one[2] > MIN_GAP_HEIGHTS * height
        return beside or other[1] > one[3] or other[3] < one[1]

    def _angle_of(self, place: int) -> int:
        """The writing direction in page coordinates: 0, 90, 180 or 270 degrees anticlockwise."""
        angle = pdfium_raw.FPDFText_GetCharAngle(self._layer, place)  # clockwise; -1: unknown
        return round(-degrees(max(angle, 0.0)) / 90) * 90 % 360

    def _piece(self) -> Iterator[Piece]:
        text = plain.one_line("".join(self._letters))
        edges, self._letters, self._edges = self._edges, [], []
        if not text or not edges:
            return
        lefts, bottoms, rights, tops = zip(*edges, strict=True)
        around = (min(lefts), min(bottoms), max(rights), max(tops))
        if (
            self._frame.misses(around)
            or min(around[2] - around[0], around[3] - around[1]) < MIN_POINTS
        ):
            return
        matrix, name = pdfium_raw.FS_MATRIX(), create_string_buffer(64)
        pdfium_raw.FPDFText_GetMatrix(self._layer, self._first, matrix)
        pdfium_raw.FPDFText_GetFontInfo(self._layer, self._first, name, len(name), None)
        size = pdfium_raw.FPDFText_GetFontSize(self._layer, self._first)
        font = name.value.lower()
        yield Piece(
            text=text,
            page=self._number,
            box=self._frame.box(around, self._frame.turn),
            place=self._frame.box(around, self._angle),
            size=round(size * hypot(matrix.c, matrix.d), 1),
            bold=any(word in font for word in _BOLD_NAMES),
            turn=(self._angle - self._frame.turn) % 360,
            leftward=is_leftward(text),
            doubtful=self._doubtful,
        )


def is_leftward(text: str) -> bool:
    """Whether most letters of ``text`` are of a right-to-left script."""
    if text.isascii():
        return False
    ways = Counter(unicodedata.bidirectional(letter) for letter in text)
    return ways["R"] + ways["AL"] > ways["L"]


def _rotate(edges: _Edges, angle: int) -> _Edges:
    """The edges rotated until writing at ``angle`` runs from left to right."""
    left, bottom, right, top = edges
    if angle == 90:
        return (bottom, -right, top, -left)
    if angle == 180:
        return (-right, -top, -left, -bottom)
    if angle == 270:
        return (-top, left, -bottom, right)
    return edges


class OutlineEntry(NamedTuple):
    """One entry of a file's outline; ``level`` and ``page`` count from 1 (page 0: no target)."""

    title: str
    level: int
    page: int


def outline_of(document: pdfium.PdfDocument) -> list[OutlineEntry]:
    """The file's outline in order, limited in depth and length because it may be circular."""
    toc: list[OutlineEntry] = []
    for bookmark in islice(document.get_toc(max_depth=OUTLINE_LEVELS), OUTLINE_ENTRIES):
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        place = 0 if page is None else page + 1
        toc.append(OutlineEntry(plain.one_line(bookmark.get_title()), bookmark.level + 1, place))
    return toc


CELL_GAP = 0.02  # of the page's width between two table cells
TABLE_GAPS = 2  # at least in a table row
TABLE_ROWS = 2  # at least in a table that spans two columns
MIN_PROSE_SHARE = 0.55  # of a column's width; longer pieces are prose
MAX_ROW_DISTANCE = 0.06  # of the page's height between two rows of a table


def printed_rows(places: Sequence[Box]) -> list[list[int]]:
    """The indices of ``places`` grouped by line, from the top."""
    rows: list[list[int]] = []
    line: Box | None = None
    for number in sorted(range(len(places)), key=lambda n: places[n].top + places[n].bottom):
        place = places[number]
        middle = (place.top + place.bottom) / 2
        if line is not None and line.top < middle < line.bottom:
            rows[-1].append(number)
            if place.bottom - place.top > line.bottom - line.top:
                line = place
        else:
            rows.append([number])
            line = place
    return rows


def wide_tables(pieces: Sequence[Piece], gutter: float) -> dict[int, float]:
    """The pieces (by index) of tables across both columns, each with the top of its row.

    A row of such a table has at least three pieces on both sides of the gutter, none as long as
    prose; if text in one column is beside a table in the other, one piece is prose.
    """
    places = [piece.place for piece in pieces]
    left = min((place.left for place in places), default=0.0)
    right = max((place.right for place in places), default=1.0)
    longest = MIN_PROSE_SHARE * (right - left) / 2
    rows = printed_rows(places)
    kinds = [_row_kind([places[number] for number in row], gutter, longest) for row in rows]
    tops: dict[int, float] = {}
    for begin, end in _table_runs(kinds, [_top(row, places) for row in rows]):
        inside = rows[begin:end]
        cells = max(sum(places[n].right <= gutter for n in row) for row in inside)
        if cells < TABLE_ROWS and end - begin < 2 * TABLE_ROWS:
            continue  # single words beside a table in the right column
        if not _is_read_by_row(inside, places, gutter):
            continue  # two tables side by side
        for row in inside:
            tops |= dict.fromkeys(row, _top(row, places))
    return tops


def _is_read_by_row(rows: Sequence[Sequence[int]], places: Sequence[Box], gutter: float) -> bool:
    """Whether the content stream (the order of the pieces) goes row by row from left to right."""
    lefts = [[n for n in row if places[n].right <= gutter] for row in rows]
    rights = [[n for n in row if places[n].right > gutter] for row in rows]
    both = [(left, right) for left, right in zip(lefts, rights, strict=True) if left and right]
    in_order = [max(a[1]) < min(b[0]) for a, b in pairwise(both)]
    return 2 * sum(in_order) > len(in_order)


def _top(row: Sequence[int], places: Sequence[Box]) -> float:
    return min(places[number].top for number in row)


def _row_kind(row: Sequence[Box], gutter: float, longest: float) -> str:
    """``wide`` for a row across both columns, ``short`` for other rows without ``prose``."""
    across = len(row) == 1 and row[0].left < gutter < row[0].right
    if not across and any(place.right - place.left >= longest for place in row):
        return "prose"
    sides = {place.right <= gutter for place in row}
    return "wide" if len(row) > TABLE_GAPS and len(sides) > 1 else "short"


def _table_runs(kinds: Sequence[str], tops: Sequence[float]) -> list[tuple[int, int]]:
    """Begin and end of each run of nearby rows that begins and ends with a wide row."""
    numbers = [number for number, kind in enumerate(kinds) if kind == "wide"]
    runs: list[tuple[int, int]] = []
    for number in numbers:
        near = runs and tops[number] - tops[runs[-1][1] - 1] <= MAX_ROW_DISTANCE
        if near and "prose" not in kinds[runs[-1][1] : number]:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    wide = [sum(kind == "wide" for kind in kinds[begin:end]) for begin, end in runs]
    return [run for run, count in zip(runs, wide, strict=True) if count >= TABLE_ROWS]
