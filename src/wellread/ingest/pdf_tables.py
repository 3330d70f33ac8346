"""Rows of a PDF table: lines whose cells stand apart are kept as lines."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.types import Box

CELL_GAP = 0.02  # share of the page's width between two cells of a table
TABLE_GAPS = 2  # such gaps on a line make it a row of a table


def same_row(before: tuple[int, Box], after: tuple[int, Box]) -> bool:
    """Whether ``after`` (page and box) stands to the right of ``before`` on one line."""
    (page, left), (next_page, right) = before, after
    level = page == next_page and left.top < (right.top + right.bottom) / 2 < left.bottom
    return level and right.left >= left.right - 0.01


def table_cells(places: Sequence[tuple[int, Box]]) -> set[int]:
    """Indices of the places (page and box, in reading order) that stand in rows of a table."""
    found: set[int] = set()
    begun = gaps = 0  # where the row begins, and how many wide gaps it has
    for index in range(1, len(places)):
        before, place = places[index - 1], places[index]
        if not same_row(before, place):
            begun, gaps = index, 0
        elif place[1].left - before[1].right >= CELL_GAP:
            gaps += 1
        if gaps >= TABLE_GAPS:
            found.update(range(begun, index + 1))
    return found
