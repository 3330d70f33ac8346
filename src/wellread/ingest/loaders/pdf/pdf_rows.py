"""Arranges the pieces of a PDF page's text layer as printed lines in reading order.

Running headers, footers and page numbers are removed. Columns are read one after the other between
full-width lines and tables, then the notes in the margin. Footnotes come last on their page.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from wellread.ingest.loaders.pdf.pdf_layer import EMPTY_FIELD, PageText, Piece
from wellread.ingest.loaders.pdf.pdf_tables import (
    MAX_CELL_CHARS,
    MAX_PIECE_GAP,
    MIN_CELL_GAP,
    MIN_TABLE_GAPS,
    printed_rows,
    wide_tables,
)
from wellread.types import Box

MARGIN = 0.09  # share of the page height with running headers or footers
SIDE_MARGIN = 0.07  # share of the page width with text printed sideways along the edge
MIN_RUNNING_PAGES = 2  # headers must recur on this many pages and on this share of them
MIN_RUNNING_SHARE = 0.4
MIN_COLUMN_LINES = 2  # lines on each side of the gutter
MIN_PROSE_LINES = 6  # fewer lines are a short column
MIN_RUNNING_SHORT, MIN_RUNNING_LONG = 0.4, 0.25  # lines that begin or end within a sentence
MIN_FULL_SHARE = 0.85  # a full line's width in proportion to the longest line nearby
MAX_MARGIN_WIDTH = 0.25  # share of the page's width that notes in the margin take
MAX_CROSSING_SHARE = 0.35  # share of lines across the gutter (title, wide tables)
MAX_LABEL_DISTANCE = 0.03  # share of the page's height from a label down to its field
NOTES = -1  # the column of notes and comments on a page
NO_VALUES = (EMPTY_FIELD, "no")  # not told of a field without a label
MAX_NOTE_SIZE = 0.93  # a footnote's letter size in proportion to the body's

NOTE_SIGN = re.compile(r"(?:\d{1,2}|[*†‡§¶∗]{1,2})\)?")  # the raised sign of a footnote
_TWO_SENTENCES = re.compile(r"[.!?…][\"'”’)\]]*\s+[^\W\d_]")
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(?:\d{1,4}|[ivxl]{1,6}|\d{1,3}-\d{1,3})(?:\s*(?:of|/|von)\s*\d{1,4})?\W*",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """One printed line of one column (0: full width).

    Attributes:
        box: the box around all pieces, on the upright page.
        gaps: the left edges of pieces after a gap as wide as between table cells.
    """

    pieces: tuple[Piece, ...]
    column: int
    text: str
    box: Box
    size: float
    bold: bool
    right_to_left: bool
    gaps: tuple[float, ...]

    @property
    def page(self) -> int:
        """The page number, from 1."""
        return self.pieces[0].page

    @property
    def side(self) -> tuple[int, int, bool]:
        """Page, column and writing direction; rows with the same side have common edges."""
        return self.page, self.column, self.right_to_left

    @property
    def begin(self) -> float:
        """The distance of the start of the line from the side on which its script begins."""
        return 1 - self.box.right if self.right_to_left else self.box.left

    @property
    def end(self) -> float:
        """The distance of the end of the line from the same side."""
        return 1 - self.box.left if self.right_to_left else self.box.right

    @property
    def cells(self) -> bool:
        """Whether the gaps suggest a table row."""
        return len(self.gaps) >= MIN_TABLE_GAPS


def row_of(pieces: Sequence[Piece], column: int) -> Row:
    """Return the row of these pieces, in their order."""
    boxes = [piece.upright for piece in pieces]
    ordered = sorted(boxes, key=lambda box: box.left)
    right_to_left_letters = sum(piece.letters for piece in pieces if piece.right_to_left)
    return Row(
        pieces=tuple(pieces),
        column=column,
        text=" ".join(piece.text for piece in pieces),
        box=Box(
            left=min(box.left for box in boxes),
            top=min(box.top for box in boxes),
            right=max(box.right for box in boxes),
            bottom=max(box.bottom for box in boxes),
        ),
        size=usual_size(pieces),
        bold=all(piece.bold for piece in pieces if piece.letters > 1),
        right_to_left=2 * right_to_left_letters > sum(piece.letters for piece in pieces),
        gaps=tuple(b.left for a, b in pairwise(ordered) if b.left - a.right >= MIN_CELL_GAP),
    )


def usual_size(parts: Iterable[Piece | Row]) -> float:
    """Return the most frequent letter size; 0 if there is no text."""
    sizes: Counter[float] = Counter()
    for part in parts:
        sizes[part.size] += len(part.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def rows_in_order(pages: Sequence[PageText]) -> list[Row]:
    """Return all printed lines of the pages, in reading order."""
    body = usual_size([piece for page in pages for piece in page.pieces])
    rows: list[Row] = []
    for page in _drop_running(pages):
        pieces, notes = _with_values(page)
        ordered = _reading_order(pieces, _split_of(pieces))
        rows += _move_notes(_join_rows(ordered), body)
        rows += _join_rows([(piece, 0) for piece in page.rotated])
        rows += [row_of([note], NOTES) for note in notes]
    return rows


def _with_values(page: PageText) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces, with the values of fields behind their labels, and the other notes."""
    values: dict[int, list[Piece]] = {}
    notes: list[Piece] = []
    for note in page.notes:
        at = _label_of(note, page.pieces) if note.field else None
        if at is not None:
            values.setdefault(at, []).append(note)
        elif note.field is None or (note.field.name and note.text not in NO_VALUES):
            text = f"{note.field.name}: {note.text}" if note.field else note.text
            notes.append(replace(note, text=text))
    pieces: list[Piece] = []
    for at, piece in enumerate(page.pieces):
        needs_colon = at in values and (piece.text[-1].isalnum() or piece.text[-1] in ")]")
        pieces.append(replace(piece, text=f"{piece.text}:") if needs_colon else piece)
        for value in values.get(at, ()):
            before = pieces[-1].upright
            right = max(value.upright.right, before.right + MAX_PIECE_GAP)
            pieces.append(replace(value, upright=replace(before, left=before.right, right=right)))
    return pieces, notes


def _label_of(note: Piece, pieces: Sequence[Piece]) -> int | None:
    """Return the index of the text before a form field, or beside a box to tick, or above."""
    box, near = note.upright, list[tuple[float, int]]()
    is_tick = note.field is not None and note.field.is_tick
    for number, piece in enumerate(pieces):
        other = piece.upright
        middle = (other.top + other.bottom) / 2
        if box.top < middle < box.bottom or other.top < (box.top + box.bottom) / 2 < other.bottom:
            if other.right <= box.left + MAX_PIECE_GAP:
                near.append((box.left - other.right, number))
            elif is_tick and other.left >= box.right - MAX_PIECE_GAP:
                near.append((other.left - box.right, number))
        elif other.left < box.right and other.right > box.left:
            above = box.top - middle
            near += [(1 + above, number)] if 0 <= above < MAX_LABEL_DISTANCE else []
    return min(near)[1] if near else None


def _drop_running(pages: Sequence[PageText]) -> list[PageText]:
    seen = Counter(
        key
        for page in pages
        for key in {_running_key(part) for part in (*page.pieces, *page.rotated)}
    )
    needed = max(MIN_RUNNING_PAGES, MIN_RUNNING_SHARE * len(pages))
    running = {key for key, count in seen.items() if key and count >= needed}
    return [
        page._replace(
            pieces=[part for part in page.pieces if not _is_running(part, running, page.pieces)],
            rotated=[part for part in page.rotated if not _is_running(part, running, ())],
        )
        for page in pages
    ]


def _is_running(piece: Piece, running: set[str], page_pieces: Sequence[Piece]) -> bool:
    key = _running_key(piece)
    if key and _PAGE_NUMBER.fullmatch(piece.text):
        # A number at the edge of the page, without longer text further out.
        box = piece.upright
        longer = [other.upright for other in page_pieces if other.letters > 3 * piece.letters]
        if box.bottom <= MARGIN:
            return not any(other.top < box.top - 0.01 for other in longer)
        return not any(other.bottom > box.bottom + 0.01 for other in longer)
    return key in running


def _running_key(piece: Piece) -> str:
    """Return a key that is equal for the same header on all pages; empty outside the margins."""
    box = piece.upright
    words = re.sub(r"[0-9]+", "#", piece.text)
    if piece.turn and (piece.box.right <= SIDE_MARGIN or piece.box.left >= 1 - SIDE_MARGIN):
        return f"side {words}"
    if box.bottom > MARGIN and box.top < 1 - MARGIN:
        return ""
    return f"{'top' if box.bottom <= MARGIN else 'bottom'} {words}"


class _Split(NamedTuple):
    """Two columns beside each other, which may be split further.

    Attributes:
        gutter: the position between them.
        parts: the splits of the left and the right column; None for a single column.
        notes: the side with notes in the margin, which are read after the text; 0 for none.
    """

    gutter: float
    parts: tuple[_Split | None, _Split | None]
    notes: int = 0


def _split_of(pieces: Sequence[Piece]) -> _Split | None:
    """Return the columns of a page or of a column; None for one column.

    The gutter between two is crossed by the fewest pieces.
    """
    lefts = sorted(piece.upright.left for piece in pieces)
    rights = sorted(piece.upright.right for piece in pieces)
    begin, end = (lefts[0], rights[-1]) if pieces else (0.0, 0.0)
    ranked: dict[tuple[int, int], tuple[int, float, float]] = {}
    for gutter in (step / 200 for step in range(int(200 * begin), int(200 * end))):
        sides = bisect_right(rights, gutter), len(lefts) - bisect_left(lefts, gutter)
        crossing = len(pieces) - sum(sides)
        if min(sides) >= MIN_COLUMN_LINES and crossing <= MAX_CROSSING_SHARE * len(pieces):
            place = crossing, abs(gutter - (begin + end) / 2), gutter
            ranked[sides] = min(ranked.get(sides, place), place)
    for *_, gutter in sorted(ranked.values()):
        left, right = ([part for part in pieces if _side(part, gutter) == n] for n in (1, 2))
        notes = 1 if _is_margin(left, right) else 2 if _is_margin(right, left) else 0
        if notes or _are_beside(left, right):
            return _Split(gutter, (_split_of(left), _split_of(right)), notes)
    return None


def _are_beside(left: Sequence[Piece], right: Sequence[Piece]) -> bool:
    """Whether both columns have prose at the same heights: sentences over and within lines."""
    sides = [[part for part in side if len(part.text) > MAX_CELL_CHARS] for side in (left, right)]
    if min(map(len, sides)) < MIN_COLUMN_LINES:
        return False
    top = max(min(part.upright.top for part in side) for side in sides)
    bottom = min(max(part.upright.bottom for part in side) for side in sides)
    lines = [*sides[0], *sides[1]]
    begins = [part.text for part in lines if part.text[0].isupper() or part.text[0].isdigit()]
    whole = sum(not _TWO_SENTENCES.search(text) for text in begins)
    running = 1 - whole / len(lines)
    if top >= bottom or min(map(len, sides)) >= MIN_PROSE_LINES:
        return top < bottom and running >= MIN_RUNNING_LONG
    full = sum(_full_share(side) * len(side) for side in sides)
    is_dense = 2 * len(lines) >= len(left) + len(right)  # unlike the cells of a table
    return is_dense and 2 * full >= len(lines) and running >= MIN_RUNNING_SHORT


def _full_share(lines: Sequence[Piece]) -> float:
    """Return the share of lines that fill the column, which the cells of a table do not."""
    widths = [line.upright.right - line.upright.left for line in lines]
    longest = [max(widths[max(n - 3, 0) : n + 4]) for n in range(len(widths))]
    full = [w >= MIN_FULL_SHARE * most for w, most in zip(widths, longest, strict=True)]
    return sum(full) / max(len(full), 1)


def _is_margin(pieces: Sequence[Piece], body: Sequence[Piece]) -> bool:
    """Whether these are notes in smaller letters in the margin of a column."""
    size = MAX_NOTE_SIZE * usual_size(body)
    width = max(piece.upright.right for piece in pieces) - min(p.upright.left for p in pieces)
    is_narrow = width <= MAX_MARGIN_WIDTH and all(piece.size < size for piece in pieces)
    is_narrow = is_narrow and 2 * sum(" " in piece.text for piece in pieces) > len(pieces)
    lines = [piece for piece in body if len(piece.text) > MAX_CELL_CHARS]
    return is_narrow and len(lines) >= MIN_PROSE_LINES and _full_share(lines) >= 0.5


def _reading_order(
    pieces: list[Piece], split: _Split | None, column: int = 0
) -> list[tuple[Piece, int]]:
    """Return the pieces with their column (0: full width), in reading order."""
    if split is None:
        return [(piece, column) for piece in _top_down(pieces, column)]
    table = wide_tables(pieces, split.gutter)
    tops = [table.get(n, piece.upright.top) for n, piece in enumerate(pieces)]
    sides = [0 if n in table else _side(p, split.gutter) for n, p in enumerate(pieces)]
    wide = sorted(top for top, side in zip(tops, sides, strict=True) if side == 0)
    groups: dict[tuple[int, int], list[int]] = {}
    for number, side in enumerate(sides):
        band = 2 * bisect_left(wide, tops[number]) + (side == 0)
        groups.setdefault((band, side), []).append(number)
    is_mirrored = 2 * sum(piece.right_to_left for piece in pieces) > len(pieces)
    last = split.notes or (1 if is_mirrored else 2)
    ordered: list[tuple[Piece, int]] = []
    for (_, side), numbers in sorted(groups.items(), key=lambda g: (g[0][0], g[0][1] == last)):
        parts = [pieces[number] for number in numbers]
        if side:
            ordered += _reading_order(parts, split.parts[side - 1], 2 * column + side)
        else:
            is_row = table.keys() >= set(numbers)
            across = _by_side(parts) if is_row else _top_down(parts, 1)
            ordered += [(piece, column) for piece in across]
    return ordered


def _top_down(pieces: list[Piece], column: int) -> list[Piece]:
    """Return the pieces in stream order, or sorted from the top if the stream jumps upwards.

    On a page with one column, most steps must be upwards, as in some rotated pages of pdfium; its
    header comes first and its footer last.
    """
    if not column:
        boxes = ((piece, piece.upright) for piece in pieces)
        zones = {piece: (box.bottom > MARGIN) + (box.top >= 1 - MARGIN) for piece, box in boxes}
        pieces = sorted(pieces, key=lambda piece: zones[piece])
    steps = [b.upright.top - a.upright.top for a, b in pairwise(pieces)]
    up, down = sum(step < -0.01 for step in steps), sum(step > 0.01 for step in steps)
    if up <= (0 if column else down):
        return pieces
    return [
        piece
        for row in printed_rows([part.upright for part in pieces])
        for piece in _by_side([pieces[number] for number in row])
    ]


def _by_side(pieces: list[Piece]) -> list[Piece]:
    if sum(piece.right_to_left for piece in pieces) > len(pieces) / 2:
        return sorted(pieces, key=lambda piece: -piece.upright.right)
    return sorted(pieces, key=lambda piece: piece.upright.left)


def _side(piece: Piece, gutter: float) -> int:
    """Return the column of a piece: 1 left of the gutter, 2 right of it, 0 across it."""
    if piece.upright.right <= gutter:
        return 1
    return 2 if piece.upright.left >= gutter else 0


def _join_rows(pieces: Sequence[tuple[Piece, int]]) -> list[Row]:
    rows: list[tuple[int, list[Piece]]] = []
    for piece, column in pieces:
        if rows and rows[-1][0] == column and _is_same_line(rows[-1][1], piece):
            rows[-1][1].append(piece)
        else:
            rows.append((column, [piece]))
    return [row_of(row, column) for column, row in rows]


def _is_same_line(row: Sequence[Piece], piece: Piece) -> bool:
    last = row[-1].upright
    line = max(row, key=lambda part: (part.size, part.letters)).upright
    box = piece.upright
    if row[-1].turn != piece.turn:
        return False
    follows = box.left >= last.right - 0.01
    follows = follows or (piece.right_to_left and box.right <= last.left + 0.01)
    if len(row) == 1 and NOTE_SIGN.fullmatch(row[0].text):
        return follows and box.top < last.bottom and box.bottom > last.top
    middle, line_middle = (box.top + box.bottom) / 2, (line.top + line.bottom) / 2
    return follows and (line.top < middle < line.bottom or box.top < line_middle < box.bottom)


def _move_notes(rows: list[Row], body: float) -> list[Row]:
    """Move footnotes of the left column after the right column, to keep the text connected."""
    body_rows: list[Row] = []
    notes: list[Row] = []
    for column, run in groupby(rows, key=lambda row: row.column):
        lines = list(run)
        first = len(lines)
        while first and lines[first - 1].size < MAX_NOTE_SIZE * body and not lines[first - 1].cells:
            first -= 1
        has_notes = 0 < first < len(lines) and NOTE_SIGN.match(lines[first].text)
        body_rows += lines[:first] if has_notes and column else lines
        notes += lines[first:] if has_notes and column else []
    return body_rows + notes
