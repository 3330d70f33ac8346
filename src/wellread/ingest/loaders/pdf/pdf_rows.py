"""Printed lines of a page in reading order, from the pieces of its text layer.

Running headers, footers and page numbers go. Two columns are read one after the other where lines
cluster on two sides of a gutter; full-width lines part them into bands, and so do the rows of a
table that spans both. Footnotes come last on their page.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from wellread.ingest.loaders.pdf.pdf_layer import (
    CELL_GAP,
    TABLE_GAPS,
    PageText,
    Piece,
    printed_rows,
    wide_tables,
)
from wellread.types import Box

MARGIN = 0.09  # share of the page height in which running headers and footers stand
SIDE_MARGIN = 0.07  # share of the width for what is printed sideways along the edge
RUNNING_PAGES = 2  # on at least so many pages, and on RUNNING_SHARE of them
RUNNING_SHARE = 0.4
COLUMN_LINES = 6  # lines on each side that make a second column
CROSSING_SHARE = 0.35  # of the lines may cross the gutter (title, wide tables)
NOTE_SIZE = 0.93  # share of the body's letter size under which a footnote is set

SIGN = re.compile(r"(?:\d{1,2}|[*†‡§¶∗]{1,2})\)?")  # of a footnote, raised and small
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|p\.)?\s*(?:\d{1,4}|[ivxl]{1,6}|\d{1,3}-\d{1,3})(?:\s*(?:of|/|von)\s*\d{1,4})?\W*",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """One printed line of one column (0: over the whole width).

    Attributes:
        place: all its pieces together, on the upright page.
        gaps: where a piece begins after a gap as wide as between the cells of a table.
    """

    pieces: tuple[Piece, ...]
    column: int
    text: str
    place: Box
    size: float
    bold: bool
    leftward: bool
    gaps: tuple[float, ...]

    @property
    def page(self) -> int:
        """Counted from 1."""
        return self.pieces[0].page

    @property
    def side(self) -> tuple[int, int, bool]:
        """Its page and column, and from where it is read: rows of one begin and end alike."""
        return self.page, self.column, self.leftward

    @property
    def begin(self) -> float:
        """Where it begins, from the side on which its script begins."""
        return 1 - self.place.right if self.leftward else self.place.left

    @property
    def end(self) -> float:
        """Where it ends, from the same side."""
        return 1 - self.place.left if self.leftward else self.place.right

    @property
    def cells(self) -> bool:
        """Whether it is a row of a table."""
        return len(self.gaps) >= TABLE_GAPS


def row_of(pieces: Sequence[Piece], column: int) -> Row:
    """The row that ``pieces`` make, in their order."""
    places = [piece.place for piece in pieces]
    ordered = sorted(places, key=lambda one: one.left)
    return Row(
        pieces=tuple(pieces),
        column=column,
        text=" ".join(piece.text for piece in pieces),
        place=Box(
            left=min(one.left for one in places),
            top=min(one.top for one in places),
            right=max(one.right for one in places),
            bottom=max(one.bottom for one in places),
        ),
        size=usual_size(pieces),
        bold=all(piece.bold for piece in pieces if piece.letters > 1),
        leftward=sum(one.letters if one.leftward else -one.letters for one in pieces) > 0,
        gaps=tuple(b.left for a, b in pairwise(ordered) if b.left - a.right >= CELL_GAP),
    )


def usual_size(parts: Iterable[Piece | Row]) -> float:
    """The letter size of most of the text; 0 for none."""
    sizes: Counter[float] = Counter()
    for part in parts:
        sizes[part.size] += len(part.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def rows_in_order(pages: Sequence[PageText]) -> list[Row]:
    """Every printed line of the body, in reading order."""
    body = usual_size([piece for page in pages for piece in page.pieces])
    rows: list[Row] = []
    for page in _without_running(pages):
        rows += _notes_last(_printed(_in_order(page.pieces)), body)
        rows += _printed([(piece, 0) for piece in page.aside])
    return rows


def _without_running(pages: Sequence[PageText]) -> list[PageText]:
    """Drop what stands in the margin of many pages, page numbers aside alike."""
    seen = Counter(
        key for page in pages for key in {_running_key(one) for one in (*page.pieces, *page.aside)}
    )
    needed = max(RUNNING_PAGES, RUNNING_SHARE * len(pages))
    running = {key for key, count in seen.items() if key and count >= needed}
    return [
        PageText(
            [one for one in page.pieces if not _is_running(one, running, page.pieces)],
            [one for one in page.aside if not _is_running(one, running, ())],
        )
        for page in pages
    ]


def _is_running(piece: Piece, running: set[str], beside: Sequence[Piece]) -> bool:
    key = _running_key(piece)
    if key and _PAGE_NUMBER.fullmatch(piece.text):
        # A number alone at the edge of the page, and nothing of a text further out.
        at, longer = piece.place, [one.place for one in beside if one.letters > 3 * piece.letters]
        if at.bottom <= MARGIN:
            return not any(one.top < at.top - 0.01 for one in longer)
        return not any(one.bottom > at.bottom + 0.01 for one in longer)
    return key in running


def _running_key(piece: Piece) -> str:
    """What is alike on the pages that carry it; empty away from the margins."""
    box = piece.place
    words = re.sub(r"[0-9]+", "#", piece.text)
    if piece.turn and (piece.box.right <= SIDE_MARGIN or piece.box.left >= 1 - SIDE_MARGIN):
        return f"side {words}"
    if box.bottom > MARGIN and box.top < 1 - MARGIN:
        return ""
    return f"{'top' if box.bottom <= MARGIN else 'bottom'} {words}"


def _in_order(pieces: list[Piece]) -> list[tuple[Piece, int]]:
    """Pieces with their column (0: over the whole width), in reading order."""
    gutter = _gutter(pieces)
    if gutter is None:
        return [(piece, 0) for piece in _edges_last(pieces)]
    table = wide_tables(pieces, gutter)
    sides = {
        number: 0 if number in table else _side(piece, gutter)
        for number, piece in enumerate(pieces)
    }
    tops = {n: table.get(n, piece.place.top) for n, piece in enumerate(pieces)}
    wide = sorted(tops[number] for number, side in sides.items() if side == 0)
    groups: dict[tuple[int, int], list[int]] = {}
    for number, side in sides.items():
        band = 2 * bisect_left(wide, tops[number]) + (side == 0)
        groups.setdefault((band, side), []).append(number)
    first = 2 if sum(piece.leftward for piece in pieces) > len(pieces) / 2 else 1
    keyed = sorted(groups.items(), key=lambda one: (one[0][0], one[0][1] not in (0, first)))
    return [
        (piece, side)
        for (_, side), numbers in keyed
        for piece in (_across if table.keys() >= set(numbers) else _downwards)(
            [pieces[number] for number in numbers]
        )
    ]


def _edges_last(pieces: list[Piece]) -> list[Piece]:
    """One column in the order of the stream, with what stands at the page's foot at its end."""
    ordered = sorted(
        pieces, key=lambda one: (one.place.bottom > MARGIN) * (1 + (one.place.top >= 1 - MARGIN))
    )
    steps = [b.place.top - a.place.top for a, b in pairwise(ordered)]
    # pdfium gives the lines of some turned pages from the last to the first.
    upwards = sum(step < -0.005 for step in steps) > sum(step > 0.005 for step in steps)
    return _downwards(ordered) if upwards else ordered


def _downwards(pieces: list[Piece]) -> list[Piece]:
    """The order of the content stream, unless that jumps up the page."""
    jumps = any(b.place.top < a.place.top - 0.01 for a, b in pairwise(pieces))
    if not jumps:
        return pieces
    return [
        piece
        for row in printed_rows([one.place for one in pieces])
        for piece in _across([pieces[number] for number in row])
    ]


def _across(pieces: list[Piece]) -> list[Piece]:
    leftward = sum(piece.leftward for piece in pieces) > len(pieces) / 2
    return sorted(pieces, key=lambda one: -one.place.right if leftward else one.place.left)


def _side(piece: Piece, gutter: float) -> int:
    """1 left of the gutter, 2 right of it, 0 across it."""
    if piece.place.right <= gutter:
        return 1
    return 2 if piece.place.left >= gutter else 0


def _gutter(pieces: list[Piece]) -> float | None:
    """Where two columns part: the place that the fewest lines cross; None for one column."""
    ranked: list[tuple[int, float, float]] = []
    for place in (step / 100 for step in range(35, 66)):
        sides = Counter(_side(piece, place) for piece in pieces)
        if min(sides[1], sides[2]) >= COLUMN_LINES and sides[0] <= CROSSING_SHARE * len(pieces):
            ranked.append((sides[0], abs(place - 0.5), place))
    if not ranked:
        return None
    chosen = min(ranked)[2]
    left = [one for one in pieces if _side(one, chosen) == 1 and len(one.text) > 20]
    right = [one for one in pieces if _side(one, chosen) == 2 and len(one.text) > 20]
    # Prose on both sides, at the same heights; a table's columns are short words.
    if min(len(left), len(right)) < COLUMN_LINES:
        return None
    top = max(min(one.place.top for one in left), min(one.place.top for one in right))
    bottom = min(max(one.place.bottom for one in left), max(one.place.bottom for one in right))
    return chosen if bottom > top else None


def _printed(pieces: Sequence[tuple[Piece, int]]) -> list[Row]:
    rows: list[tuple[int, list[Piece]]] = []
    for piece, column in pieces:
        if rows and rows[-1][0] == column and _goes_on(rows[-1][1], piece):
            rows[-1][1].append(piece)
        else:
            rows.append((column, [piece]))
    return [row_of(row, column) for column, row in rows]


def _goes_on(row: Sequence[Piece], piece: Piece) -> bool:
    """Whether ``piece`` stands beside the last one of ``row``, on its line."""
    last = row[-1].place
    line = max(row, key=lambda one: (one.size, one.letters)).place
    box = piece.place
    if row[-1].turn != piece.turn:
        return False
    onward = box.left >= last.right - 0.01
    onward = onward or (piece.leftward and box.right <= last.left + 0.01)
    if len(row) == 1 and SIGN.fullmatch(row[0].text):
        return onward and box.top < last.bottom and box.bottom > last.top
    middle, own = (box.top + box.bottom) / 2, (line.top + line.bottom) / 2
    return onward and (line.top < middle < line.bottom or box.top < own < box.bottom)


def _notes_last(rows: list[Row], body: float) -> list[Row]:
    """Footnotes of a left column after the right one, so that the text goes on at once."""
    kept: list[Row] = []
    notes: list[Row] = []
    for column, run in groupby(rows, key=lambda row: row.column):
        lines = list(run)
        first = len(lines)
        while first and lines[first - 1].size < NOTE_SIZE * body and not lines[first - 1].cells:
            first -= 1
        marked = first < len(lines) and first > 0 and SIGN.match(lines[first].text)
        kept += lines[:first] if marked and column else lines
        notes += lines[first:] if marked and column else []
    return kept + notes
