"""Tables of a PDF page: rows of short pieces whose cells stand apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from wellread.ingest.loaders.pdf.pdf_layer import Piece
from wellread.types import Box

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
    both = [
        (
            [n for n in row if places[n].right <= gutter],
            [n for n in row if places[n].right > gutter],
        )
        for row in rows
    ]
    both = [(left, right) for left, right in both if left and right]
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
