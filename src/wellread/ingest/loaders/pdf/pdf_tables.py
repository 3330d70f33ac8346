"""Finds the tables across the columns of a page, and the cells of a table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from wellread.ingest.loaders.pdf.pdf_layer import Piece
from wellread.types import Box

MIN_CELL_GAP = 0.02  # share of the page's width; a gap between two table cells
MAX_PIECE_GAP = 0.01  # between two pieces of a cell
MIN_TABLE_GAPS = 2  # gaps in a table row
MIN_TABLE_ROWS = 2  # rows of a table across both columns
MIN_LEFT_CELLS = 2  # cells left of the gutter in at least one row of a small table
MIN_PROSE_SHARE = 0.55  # share of a column's width; longer pieces are prose
MAX_ROW_DISTANCE = 0.06  # share of the page's height between two rows of a table


def printed_rows(boxes: Sequence[Box]) -> list[list[int]]:
    """Return the indices of ``boxes`` grouped by line, from the top."""
    rows: list[list[int]] = []
    line: Box | None = None
    for number in sorted(range(len(boxes)), key=lambda n: boxes[n].top + boxes[n].bottom):
        box = boxes[number]
        middle = (box.top + box.bottom) / 2
        if line is not None and line.top < middle < line.bottom:
            rows[-1].append(number)
            if box.bottom - box.top > line.bottom - line.top:
                line = box
        else:
            rows.append([number])
            line = box
    return rows


def wide_tables(pieces: Sequence[Piece], gutter: float, width: float) -> dict[int, float]:
    """Return the pieces (by index) of tables across both columns, with the top of each one's row.

    A row of such a table has at least three pieces, with some on both sides of the gutter, and no
    piece as long as prose. Text beside a table shows as a piece as long as prose.
    """
    boxes = [piece.upright for piece in pieces]
    rows = printed_rows(boxes)
    longest = MIN_PROSE_SHARE * width
    kinds = [_row_kind([boxes[number] for number in row], gutter, longest) for row in rows]
    tops: dict[int, float] = {}
    for begin, end in _table_runs(kinds, [_top(row, boxes) for row in rows]):
        table = rows[begin:end]
        left_cells = max(sum(boxes[n].right <= gutter for n in row) for row in table)
        if left_cells < MIN_LEFT_CELLS and end - begin < 2 * MIN_TABLE_ROWS:
            continue  # single words beside a table in the right column
        if not _is_read_by_row(table, boxes, gutter):
            continue  # two tables side by side
        for row in table:
            tops |= dict.fromkeys(row, _top(row, boxes))
    return tops


def _is_read_by_row(rows: Sequence[Sequence[int]], boxes: Sequence[Box], gutter: float) -> bool:
    """Whether the content stream (the order of the pieces) goes row by row from left to right.

    It does if the right cells of a row come before the left cells of the next.
    """
    lefts = [[n for n in row if boxes[n].right <= gutter] for row in rows]
    rights = [[n for n in row if boxes[n].right > gutter] for row in rows]
    both = [(left, right) for left, right in zip(lefts, rights, strict=True) if left and right]
    in_order = [max(right) < min(next_left) for (_, right), (next_left, _) in pairwise(both)]
    return 2 * sum(in_order) > len(in_order)


def _top(row: Sequence[int], boxes: Sequence[Box]) -> float:
    return min(boxes[number].top for number in row)


def _row_kind(row: Sequence[Box], gutter: float, prose_width: float) -> str:
    """Return ``wide`` for a row across both columns, else ``prose`` or ``short``."""
    across = len(row) == 1 and row[0].left < gutter < row[0].right
    if not across and any(box.right - box.left >= prose_width for box in row):
        return "prose"
    sides = {box.right <= gutter for box in row}
    return "wide" if len(row) > MIN_TABLE_GAPS and len(sides) > 1 else "short"


def _table_runs(kinds: Sequence[str], tops: Sequence[float]) -> list[tuple[int, int]]:
    """Return begin and end of each run of nearby rows that begins and ends with a wide row."""
    numbers = [number for number, kind in enumerate(kinds) if kind == "wide"]
    runs: list[tuple[int, int]] = []
    for number in numbers:
        is_near = runs and tops[number] - tops[runs[-1][1] - 1] <= MAX_ROW_DISTANCE
        if is_near and "prose" not in kinds[runs[-1][1] : number]:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    wide = [sum(kind == "wide" for kind in kinds[begin:end]) for begin, end in runs]
    return [run for run, count in zip(runs, wide, strict=True) if count >= MIN_TABLE_ROWS]


Cell = tuple[Piece, ...]


def cells_of(pieces: Sequence[Piece]) -> list[Cell]:
    """Return the pieces of a row as cells, which have gaps between them, from the left."""
    cells: list[Cell] = []
    for piece in sorted(pieces, key=lambda piece: piece.upright.left):
        if cells and piece.upright.left - cells[-1][-1].upright.right < MAX_PIECE_GAP:
            cells[-1] = (*cells[-1], piece)
        else:
            cells.append((piece,))
    return cells


def columns_of(rows: Sequence[Sequence[Piece]]) -> list[tuple[float, float]]:
    """Return the left and right edges of columns: cells above one another."""
    columns: list[tuple[float, float]] = []
    lines = sorted(map(cells_of, rows), key=len, reverse=True)
    for edges in (_edges(cell) for line in lines for cell in line):
        touched = [at for at, column in enumerate(columns) if _overlap(column, edges)]
        if not touched:
            columns.append(edges)
        elif len(touched) == 1:
            left, right = columns[touched[0]]
            columns[touched[0]] = min(left, edges[0]), max(right, edges[1])
    return sorted(columns)


def table_cells(rows: Sequence[Sequence[Piece]]) -> list[list[Cell]]:
    """Return the cells of a table's rows by column; an empty cell keeps its place.

    A cell over several columns belongs to the first.
    """
    columns = columns_of(rows)
    table: list[list[Cell]] = []
    for row in rows:
        table.append([()] * len(columns))
        for cell in cells_of(row):
            at = next(at for at, column in enumerate(columns) if _overlap(column, _edges(cell)))
            table[-1][at] += cell
    if 2 * sum(piece.right_to_left for row in rows for piece in row) > sum(map(len, rows)):
        table = [row[::-1] for row in table]
    return table


def fits(row: Sequence[Piece], columns: Sequence[tuple[float, float]]) -> bool:
    """Whether every cell of ``row`` stands in a single column."""
    cells = [_edges(cell) for cell in cells_of(row)]
    return all(sum(_overlap(column, cell) for column in columns) == 1 for cell in cells)


def _edges(cell: Cell) -> tuple[float, float]:
    return cell[0].upright.left, max(piece.upright.right for piece in cell)


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return min(a[1], b[1]) > max(a[0], b[0])
