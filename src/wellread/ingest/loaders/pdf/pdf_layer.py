"""Reads a PDF as pieces of lines in the order of the content stream, and the notes on its pages.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from ctypes import c_uint, c_ushort, create_string_buffer
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import degrees, hypot
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from pypdfium2 import raw

from wellread.ingest.loaders import plain
from wellread.types import Box

MIN_WHITE, MAX_TRANSPARENT = 0xFF - 24, 25  # colour and opacity values (0-255) of such letters
UNPAINTED = (3, 7)  # PDF text render modes: invisible, and clipping path
MIN_CONTRAST = 32  # between the darkest and brightest pixel (0-255) of visible letters
MAX_RENDER_PIXELS = 1600  # on the longer side of a page


def is_maybe_invisible(layer: pdfium.PdfTextPage, index: int) -> bool:
    """Whether the letter is white, almost transparent, or not painted."""
    colour = [c_uint() for _ in range(4)]
    if raw.FPDFText_GetFillColor(layer, index, *colour):
        *rgb, alpha = (part.value for part in colour)
        if alpha <= MAX_TRANSPARENT or min(rgb) >= MIN_WHITE:
            return True
    text_object = raw.FPDFText_GetTextObject(layer, index)
    return bool(text_object) and raw.FPDFTextObj_GetTextRenderMode(text_object) in UNPAINTED


class Picture:
    """The rendered image of a page, rendered on first use."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page
        self._pixels: NDArray[np.uint8] | None = None

    def shows(self, box: Box) -> bool:
        """Whether anything is visible in ``box``."""
        if self._pixels is None:
            scale = min(2.0, MAX_RENDER_PIXELS / max(*self._page.get_size(), 1.0))
            self._pixels = self._page.render(scale=scale, grayscale=True).to_numpy().squeeze()
        height, width = self._pixels.shape[:2]
        region = self._pixels[
            int(box.top * height) : max(int(box.bottom * height), int(box.top * height) + 1),
            int(box.left * width) : max(int(box.right * width), int(box.left * width) + 1),
        ]
        return region.size > 0 and int(region.max()) - int(region.min()) >= MIN_CONTRAST


MIN_GAP_HEIGHTS = 1.0  # letter heights; a wider gap separates two pieces
EMPTY_FIELD = "(empty)"
MAX_STAMP_LETTERS = 100  # letters printed on a scanned page, such as its number
MIN_PICTURE_SHARE, MAX_PICTURES = 0.2, 1_000  # of the page's area, and pictures on a page
OCR_SCALE = 2.0  # pixels a point of a page whose text is recognised
MIN_POINTS = 0.75  # smaller letters are unreadable
MAX_OUTLINE_ENTRIES, MAX_OUTLINE_LEVELS = 5_000, 6

_HIDDEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13  # flag of a text field
_TICKS = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
_LISTS = (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_NO_COMMENTS = (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_WIDGET)
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
        """Return ``edges`` in shares of the page's size, once it is rotated by ``turn`` degrees."""
        left, bottom, right, top = _rotate(self.edges, turn)
        x1, y1, x2, y2 = _rotate(edges, turn)
        across = sorted((x - left) / (right - left) for x in (x1, x2))
        down = sorted((top - y) / (top - bottom) for y in (y1, y2))
        shares = [round(min(max(value, 0.0), 1.0), 4) for value in (*across, *down)]
        return Box(left=shares[0], right=shares[1], top=shares[2], bottom=shares[3])


class Field(NamedTuple):
    """A field of a form: the name in the file, and whether it is a box to tick."""

    name: str
    is_tick: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Adjacent letters on one line.

    Attributes:
        box: the position in shares of the displayed page.
        upright: the position on the page rotated until the letters are upright.
        turn: this rotation in degrees clockwise, relative to the displayed page.
        size: the letter size in points.
        right_to_left: whether the text is read from right to left.
        maybe_invisible: whether the letters are white, almost transparent or unpainted.
        field: what is known of a form field; None for letters and notes.
    """

    text: str
    page: int
    box: Box
    upright: Box
    size: float
    bold: bool = False
    turn: int = 0
    right_to_left: bool = False
    maybe_invisible: bool = False
    field: Field | None = None

    @property
    def letters(self) -> int:
        """The number of letters and digits."""
        return sum(map(str.isalnum, self.text))


class PageText(NamedTuple):
    """The pieces of one page: those in the main writing direction, and the others.

    Attributes:
        notes: values of form fields, notes and comments.
        is_picture: whether there are pictures and hardly any text.
    """

    pieces: list[Piece]
    rotated: list[Piece]
    notes: Sequence[Piece] = ()
    is_picture: bool = False


def page_text(document: pdfium.PdfDocument, index: int) -> PageText:
    """Return the text of one page (counted from 0) without invisible letters."""
    with closing(document[index]) as page, closing(page.get_textpage()) as layer:
        left, bottom, right, top = page.get_bbox()
        frame = _Frame((left, bottom, right, top), page.get_rotation() % 360)
        if right <= left or top <= bottom:
            return PageText([], [])
        picture = Picture(page)
        pieces = [
            piece
            for piece in _Reader(layer, index + 1, frame).pieces()
            if not piece.maybe_invisible or picture.shows(piece.box)
        ]
        letters: Counter[int] = Counter()
        for piece in pieces:
            letters[piece.turn] += piece.letters
        main_turn = max(letters, key=lambda turn: (letters[turn], turn == 0), default=0)
        return PageText(
            [piece for piece in pieces if piece.turn == main_turn],
            [piece for piece in pieces if piece.turn != main_turn],
            [
                Piece(
                    text=text,
                    page=index + 1,
                    box=frame.box(edges, frame.turn),
                    upright=frame.box(edges, (main_turn + frame.turn) % 360),
                    size=min((piece.size for piece in pieces), default=0.0),
                    turn=main_turn,
                    field=field,
                )
                for text, edges, field in _notes(page)
            ],
            letters.total() <= MAX_STAMP_LETTERS and _has_picture(page, frame),
        )


def recognised(document: pdfium.PdfDocument, index: int) -> list[Piece]:
    """Return the lines of a page that is a picture, by text recognition.

    All have one size, because the measured heights differ within a paragraph.

    Raises:
        ImportError: if the extra is not installed.
    """
    with closing(document[index]) as page:
        pixels = page.render(scale=OCR_SCALE, rev_byteorder=True).to_numpy()
    height, width = pixels.shape[:2]
    found = _recogniser()(pixels)
    lines: list[tuple[str, Box]] = []
    for text, corners in zip(found.txts or (), found.boxes if found.txts else (), strict=True):
        places = (corners / (width, height)).clip(0, 1).round(4).tolist()
        across, down = zip(*places, strict=True)
        box = Box(left=min(across), top=min(down), right=max(across), bottom=max(down))
        lines.append((plain.one_line(text), box))
    tall = median(box.bottom - box.top for _, box in lines) if lines else 0.0
    page_number, size = index + 1, round(tall * height / OCR_SCALE, 1)
    return [
        Piece(text=text, page=page_number, box=box, upright=box, size=size)
        for text, box in lines
        if text
    ]


@cache
def _recogniser() -> Any:
    from rapidocr import RapidOCR  # noqa: PLC0415 - an extra

    return RapidOCR(params={"Global.log_level": "critical"})


def _has_picture(page: pdfium.PdfPage, frame: _Frame) -> bool:
    """Whether pictures take much of the page."""
    left, bottom, right, top = frame.edges
    pictures = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4)
    bounds = [picture.get_bounds() for picture in islice(pictures, MAX_PICTURES)]
    area = sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in bounds)
    return bool(area >= MIN_PICTURE_SHARE * (right - left) * (top - bottom))


def _notes(page: pdfium.PdfPage) -> Iterator[tuple[str, _Edges, Field | None]]:
    """Yield the visible form fields, notes and comments of a page."""
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        note, area = raw.FPDFPage_GetAnnot(page, index), raw.FS_RECTF()
        try:
            kind = raw.FPDFAnnot_GetSubtype(note)
            is_hidden = raw.FPDFAnnot_GetFlags(note) & _HIDDEN
            if is_hidden or not raw.FPDFAnnot_GetRect(note, area):
                continue
            edges = (area.left, area.bottom, area.right, area.top)
            if kind == raw.FPDF_ANNOT_WIDGET and page.formenv:
                value = _value(page, note)
                if value:
                    yield value[0], edges, value[1]
            text = _string(raw.FPDFAnnot_GetStringValue, note, b"Contents")
            if text and kind not in _NO_COMMENTS:
                author = _string(raw.FPDFAnnot_GetStringValue, note, b"T")
                mark = f"Comment by {author}: " if author else "Comment: "
                is_visible = kind == raw.FPDF_ANNOT_FREETEXT
                yield text if is_visible else mark + text, edges, None
        finally:
            raw.FPDFPage_CloseAnnot(note)


def _value(page: pdfium.PdfPage, note: Any) -> tuple[str, Field] | None:
    """Return the value of a form field; None for a button, a signature or a password."""
    form = page.formenv
    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, note)
    name = name or _string(raw.FPDFAnnot_GetFormFieldName, form, note)
    if kind in _TICKS:
        return "yes" if raw.FPDFAnnot_IsChecked(form, note) else "no", Field(name, True)
    is_secret = raw.FPDFAnnot_GetFormFieldFlags(form, note) & _PASSWORD
    if kind not in _LISTS and (kind != raw.FPDF_FORMFIELD_TEXTFIELD or is_secret):
        return None
    chosen = [
        _string(raw.FPDFAnnot_GetOptionLabel, form, note, number)
        for number in range(raw.FPDFAnnot_GetOptionCount(form, note))
        if raw.FPDFAnnot_IsOptionSelected(form, note, number)
    ]
    value = ", ".join(chosen) or _string(raw.FPDFAnnot_GetFormFieldValue, form, note)
    return value or EMPTY_FIELD, Field(name, False)


def _string(function: Callable[..., int], *arguments: Any) -> str:
    """Return a text from pdfium, which writes UTF-16 into a buffer."""
    size = function(*arguments, None, 0)
    buffer = (c_ushort * (size // 2 + 1))()
    function(*arguments, buffer, size)
    return plain.one_line(bytes(buffer)[: max(size - 2, 0)].decode("utf-16-le", "replace"))


class _Reader:
    def __init__(self, layer: pdfium.PdfTextPage, number: int, frame: _Frame) -> None:
        self._layer = layer
        self._number = number
        self._frame = frame
        self._letters: list[str] = []
        self._edges: list[_Edges] = []
        self._first = 0
        self._angle = 0
        self._maybe_invisible = False

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces that are not blank; the module docstring says where a piece ends."""
        rectangle = raw.FS_RECTF()
        for index in range(self._layer.count_chars()):
            code = raw.FPDFText_GetUnicode(self._layer, index)
            # PDFium returns a hyphen at a line end as U+0002.
            letter = plain.HYPHEN if code == 2 else chr(code) if code < 0x110000 else "\ufffd"
            if not letter.isspace():
                raw.FPDFText_GetLooseCharBox(self._layer, index, rectangle)
                edges = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
                if self._edges and self._is_separate(self._edges[-1], edges):
                    yield from self._end_piece()
                if not self._letters or self._letters[-1].isspace():  # a word begins
                    maybe_invisible = is_maybe_invisible(self._layer, index)
                    if self._edges and maybe_invisible != self._maybe_invisible:
                        yield from self._end_piece()
                    self._maybe_invisible = maybe_invisible
                if not self._edges:
                    self._first, self._angle = index, self._angle_of(index)
                self._edges.append(edges)
            self._letters.append(letter)
            if letter in ("\r", "\n", plain.HYPHEN):
                yield from self._end_piece()
        yield from self._end_piece()

    def _is_separate(self, before: _Edges, after: _Edges) -> bool:
        _, bottom, right, top = _rotate(before, self._angle)
        next_left, next_bottom, _, next_top = _rotate(after, self._angle)
        is_gap = next_left - right > MIN_GAP_HEIGHTS * max(top - bottom, 1.0)
        return is_gap or next_bottom > top or next_top < bottom

    def _angle_of(self, index: int) -> int:
        """Return the writing direction in page coordinates: 0, 90, 180 or 270 degrees."""
        angle = raw.FPDFText_GetCharAngle(self._layer, index)  # clockwise; -1: unknown
        return round(-degrees(max(angle, 0.0)) / 90) * 90 % 360

    def _end_piece(self) -> Iterator[Piece]:
        text = plain.one_line("".join(self._letters))
        edges, self._letters, self._edges = self._edges, [], []
        if not text or not edges:
            return
        lefts, bottoms, rights, tops = zip(*edges, strict=True)
        outline = left, bottom, right, top = min(lefts), min(bottoms), max(rights), max(tops)
        if self._frame.misses(outline) or min(right - left, top - bottom) < MIN_POINTS:
            return
        matrix, name = raw.FS_MATRIX(), create_string_buffer(64)
        raw.FPDFText_GetMatrix(self._layer, self._first, matrix)
        raw.FPDFText_GetFontInfo(self._layer, self._first, name, len(name), None)
        size = raw.FPDFText_GetFontSize(self._layer, self._first)
        font = name.value.lower()
        yield Piece(
            text=text,
            page=self._number,
            box=self._frame.box(outline, self._frame.turn),
            upright=self._frame.box(outline, self._angle),
            size=round(size * hypot(matrix.c, matrix.d), 1),
            bold=any(word in font for word in _BOLD_NAMES),
            turn=(self._angle - self._frame.turn) % 360,
            right_to_left=is_right_to_left(text),
            maybe_invisible=self._maybe_invisible,
        )


def is_right_to_left(text: str) -> bool:
    """Whether most letters of ``text`` are of a right-to-left script."""
    if text.isascii():
        return False
    directions = Counter(unicodedata.bidirectional(letter) for letter in text)
    return directions["R"] + directions["AL"] > directions["L"]


def _rotate(edges: _Edges, angle: int) -> _Edges:
    """Rotate the edges until text written at ``angle`` runs from left to right."""
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
    """Return the file's outline in order, cut at a depth and length because it may be circular."""
    entries: list[OutlineEntry] = []
    for bookmark in islice(document.get_toc(max_depth=MAX_OUTLINE_LEVELS), MAX_OUTLINE_ENTRIES):
        target = bookmark.get_dest()
        page_index = target.get_index() if target is not None else None
        page = 0 if page_index is None else page_index + 1
        title = plain.one_line(bookmark.get_title())
        entries.append(OutlineEntry(title, bookmark.level + 1, page))
    return entries
