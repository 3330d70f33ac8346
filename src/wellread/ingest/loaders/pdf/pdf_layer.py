"""The text layer of a PDF as pieces of lines, in the order of the content stream.

A piece ends where the line ends, where a gap is too wide for a space, and where the letters jump
up or down. Text may be turned, by the page (``/Rotate``) or on it (a table set sideways), so a
piece has two boxes: where it is seen on the displayed page, and where it would stand if the page
were turned until it reads from left to right.

White and unpainted letters mostly are not seen; but the text that recognition lays under a scanned
page is unpainted too, and white letters may stand on a dark ground. So a page with such letters is
drawn, and what shows nothing where the letters should be is not read.
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

PALE, FAINT = 0xFF - 24, 25  # of a colour, of how opaque it is
UNPAINTED = (3, 7)  # ways of drawing letters: not at all, and to clip by
CONTRAST = 32  # of 255, between the darkest and the brightest dot where letters stand
MOST_DOTS = 1600  # of the longer side of a drawn page


def is_doubtful(layer: pdfium.PdfTextPage, place: int) -> bool:
    """Whether the letter is drawn in white, almost transparent, or not at all."""
    colour = [c_uint() for _ in range(4)]
    if pdfium_raw.FPDFText_GetFillColor(layer, place, *colour):
        *mixed, opaque = (part.value for part in colour)
        if opaque <= FAINT or min(mixed) >= PALE:
            return True
    drawn = pdfium_raw.FPDFText_GetTextObject(layer, place)
    return bool(drawn) and pdfium_raw.FPDFTextObj_GetTextRenderMode(drawn) in UNPAINTED


class Picture:
    """A page as it is seen; drawn when it is first asked for."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page
        self._dots: NDArray[np.uint8] | None = None

    def shows(self, box: Box) -> bool:
        """Whether anything stands out in ``box``."""
        if self._dots is None:
            scale = min(2.0, MOST_DOTS / max(*self._page.get_size(), 1.0))
            self._dots = self._page.render(scale=scale, grayscale=True).to_numpy().squeeze()
        height, width = self._dots.shape[:2]
        part = self._dots[
            int(box.top * height) : max(int(box.bottom * height), int(box.top * height) + 1),
            int(box.left * width) : max(int(box.right * width), int(box.left * width) + 1),
        ]
        return part.size > 0 and int(part.max()) - int(part.min()) >= CONTRAST


WIDE_GAP = 1.0  # letter heights between two pieces that are not of one sentence
TINY = 0.75  # points, of letters that nobody can read
OUTLINE_ENTRIES, OUTLINE_LEVELS = 5_000, 6

_BOLD_NAMES = (b"bold", b"black", b"heavy", b"demi", b"medi", b"bx")


_Edges = tuple[float, float, float, float]  # left, bottom, right, top, in page coordinates


class _Frame(NamedTuple):
    """A page's edges in its own coordinates (points, upwards), and how it is turned to be seen."""

    edges: _Edges
    turn: int

    def misses(self, edges: _Edges) -> bool:
        """Whether ``edges`` lie wholly off the page."""
        left, bottom, right, top = self.edges
        outside = edges[2] <= left or edges[0] >= right
        return outside or edges[3] <= bottom or edges[1] >= top

    def box(self, edges: _Edges, turn: int) -> Box:
        """``edges`` as shares (rightwards, downwards) of the page turned ``turn`` degrees."""
        left, bottom, right, top = _upright(self.edges, turn)
        one, low, other, high = _upright(edges, turn)
        across = sorted((x - left) / (right - left) for x in (one, other))
        down = sorted((top - y) / (top - bottom) for y in (low, high))
        shares = [round(min(max(value, 0.0), 1.0), 4) for value in (*across, *down)]
        return Box(left=shares[0], right=shares[1], top=shares[2], bottom=shares[3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Letters that stand together on one line.

    Attributes:
        box: where they are seen (shares of the displayed page).
        place: where they stand on the page when it is turned until they are upright.
        turn: by how much it is turned for that, degrees clockwise against the displayed page.
        size: of the letters, in points.
        leftward: whether they are read from right to left.
        doubtful: they are white or unpainted, and perhaps not seen.
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
        """Letters and digits."""
        return sum(map(str.isalnum, self.text))


class PageText(NamedTuple):
    """The pieces of one page: those that stand as most of its letters do, and the others."""

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
        """Every piece that is not blank."""
        rectangle = pdfium_raw.FS_RECTF()
        for place in range(self._layer.count_chars()):
            code = pdfium_raw.FPDFText_GetUnicode(self._layer, place)
            letter = plain.BROKEN if code == 2 else chr(code) if code < 0x110000 else "\ufffd"
            if not letter.isspace():
                pdfium_raw.FPDFText_GetLooseCharBox(self._layer, place, rectangle)
                edges = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
                if self._edges and self._apart(self._edges[-1], edges):
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
            if letter in ("\r", "\n", plain.BROKEN):
                yield from self._piece()
        yield from self._piece()

    def _apart(self, before: _Edges, after: _Edges) -> bool:
        """Whether a gap or a jump lies between two letters that follow each other."""
        one, other = _upright(before, self._angle), _upright(after, self._angle)
        height = max(one[3] - one[1], 1.0)
        beside = other[0] - one[2] > WIDE_GAP * height
        return beside or other[1] > one[3] or other[3] < one[1]

    def _angle_of(self, place: int) -> int:
        """The direction of writing in page coordinates: 0, 90, 180, 270 degrees to the left."""
        angle = pdfium_raw.FPDFText_GetCharAngle(self._layer, place)  # to the right, -1: unknown
        return round(-degrees(max(angle, 0.0)) / 90) * 90 % 360

    def _piece(self) -> Iterator[Piece]:
        text = plain.one_line("".join(self._letters))
        edges, self._letters, self._edges = self._edges, [], []
        if not text or not edges:
            return
        lefts, bottoms, rights, tops = zip(*edges, strict=True)
        around = (min(lefts), min(bottoms), max(rights), max(tops))
        if self._frame.misses(around) or min(around[2] - around[0], around[3] - around[1]) < TINY:
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
    """Whether most letters of ``text`` are of a script that is written from right to left."""
    if text.isascii():
        return False
    ways = Counter(unicodedata.bidirectional(letter) for letter in text)
    return ways["R"] + ways["AL"] > ways["L"]


def _upright(edges: _Edges, angle: int) -> _Edges:
    """The edges turned until writing at ``angle`` goes from left to right."""
    left, bottom, right, top = edges
    if angle == 90:
        return (bottom, -right, top, -left)
    if angle == 180:
        return (-right, -top, -left, -bottom)
    if angle == 270:
        return (-top, left, -bottom, right)
    return edges


class OutlineEntry(NamedTuple):
    """One entry of a file's outline: ``level`` from 1, ``page`` from 1 (0: it leads nowhere)."""

    title: str
    level: int
    page: int


def outline_of(document: pdfium.PdfDocument) -> list[OutlineEntry]:
    """The file's outline in order; one that refers to itself is cut."""
    found: list[OutlineEntry] = []
    for bookmark in islice(document.get_toc(max_depth=OUTLINE_LEVELS), OUTLINE_ENTRIES):
        target = bookmark.get_dest()
        page = target.get_index() if target is not None else None
        place = 0 if page is None else page + 1
        found.append(OutlineEntry(plain.one_line(bookmark.get_title()), bookmark.level + 1, place))
    return found


CELL_GAP = 0.02  # share of the page's width between two cells of a table
TABLE_GAPS = 2  # such gaps on a line make it a row of a table
TABLE_ROWS = 2  # such rows make a table that spans two columns
LONG = 0.55  # share of a column's width from which a piece is prose
NEAR = 0.06  # share of the page's height between two rows of one table


def printed_rows(places: Sequence[Box]) -> list[list[int]]:
    """The indices of ``places`` by the line on which they stand, from the top."""
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
    """The pieces (by index) of tables that span both columns, each with the top of its row.

    Such a row has three pieces or more, on both sides of the gutter, and none of them is as long
    as prose; where the text of a column stands beside a table of the other one, one is.
    """
    places = [piece.place for piece in pieces]
    left = min((place.left for place in places), default=0.0)
    right = max((place.right for place in places), default=1.0)
    longest = LONG * (right - left) / 2
    rows = printed_rows(places)
    kinds = [_kind([places[number] for number in row], gutter, longest) for row in rows]
    found: dict[int, float] = {}
    for begin, end in _runs(kinds, [_top(row, places) for row in rows]):
        inside = rows[begin:end]
        cells = max(sum(places[n].right <= gutter for n in row) for row in inside)
        if cells < TABLE_ROWS and end - begin < 2 * TABLE_ROWS:
            continue  # one word beside each line of a table in the right column
        if not _row_by_row(inside, places, gutter):
            continue  # two tables side by side
        for row in inside:
            found |= dict.fromkeys(row, _top(row, places))
    return found


def _row_by_row(rows: Sequence[Sequence[int]], places: Sequence[Box], gutter: float) -> bool:
    """Whether the content stream, by which the pieces are counted, goes from left to right in each
    row before it goes on to the next one.
    """
    lefts = [[n for n in row if places[n].right <= gutter] for row in rows]
    rights = [[n for n in row if places[n].right > gutter] for row in rows]
    both = [(left, right) for left, right in zip(lefts, rights, strict=True) if left and right]
    steps = [max(a[1]) < min(b[0]) for a, b in pairwise(both)]
    return 2 * sum(steps) > len(steps)


def _top(row: Sequence[int], places: Sequence[Box]) -> float:
    return min(places[number].top for number in row)


def _kind(row: Sequence[Box], gutter: float, longest: float) -> str:
    """``wide``: a row of a table over both columns; ``short``: may stand inside one; ``prose``."""
    across = len(row) == 1 and row[0].left < gutter < row[0].right
    if not across and any(place.right - place.left >= longest for place in row):
        return "prose"
    sides = {place.right <= gutter for place in row}
    return "wide" if len(row) > TABLE_GAPS and len(sides) > 1 else "short"


def _runs(kinds: Sequence[str], tops: Sequence[float]) -> list[tuple[int, int]]:
    """Begin and end of each run of rows near each other that begins and ends with a wide one."""
    numbers = [number for number, kind in enumerate(kinds) if kind == "wide"]
    runs: list[tuple[int, int]] = []
    for number in numbers:
        near = runs and tops[number] - tops[runs[-1][1] - 1] <= NEAR
        if near and "prose" not in kinds[runs[-1][1] : number]:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    wide = [sum(kind == "wide" for kind in kinds[begin:end]) for begin, end in runs]
    return [run for run, count in zip(runs, wide, strict=True) if count >= TABLE_ROWS]
