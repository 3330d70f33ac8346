"""Finds the tables across the columns of a page, and the cells of a table's rows."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise

from wellread.ingest.loaders.pdf.pdf_layer import Piece
from wellread.types import Box

MIN_CELL_GAP = 0.02  # share of the page's width; a gap between two table cells
MAX_PIECE_GAP = 0.01  # between two pieces of a cell
MIN_TABLE_GAPS = 2  # gaps in a table row
MAX_CELL_CHARS = 20  # of a cell of a table across columns
MAX_CELL_OFFSET = 0.006  # share of the width by which the cells of a column may be out of line
MAX_COMPARED = 6  # rows of a table, besides its first, that the next row is compared with
MAX_SINGLE_CELLS = 3  # rows with a single cell within a table, of cells on several lines
MAX_STEPS = 1.3  # of a row of a table, in usual distances, with single cells before it
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


def wide_tables(pieces: Sequence[Piece], gutter: float) -> dict[int, float]:
    """Return the pieces (by index) of tables across columns, with the top of each one's row.

    Text beside a table shows as a long piece. Of two tables side by side, the content stream (the
    order of the pieces) has the left one first.
    """
    boxes = [piece.upright for piece in pieces]
    rows = printed_rows(boxes)
    sides = [
        ([n for n in row if boxes[n].right <= gutter], [n for n in row if boxes[n].right > gutter])
        for row in rows
    ]
    allowed = {
        at for at, row in enumerate(rows) if max(len(pieces[n].text) for n in row) <= MAX_CELL_CHARS
    }
    tops: dict[int, float] = {}
    for table in find_tables([[pieces[n] for n in row] for row in rows], allowed):
        both = [sides[at] for at in table if all(sides[at])]
        in_order = [max(right) < min(below) for (_, right), (below, _) in pairwise(both)]
        wide = sum(len(left) + len(right) > MIN_TABLE_GAPS for left, right in both)
        if wide > 1 and 2 * sum(in_order) > len(in_order):
            tops |= {n: min(boxes[m].top for m in rows[at]) for at in table for n in rows[at]}
    return tops


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


def find_tables(rows: Sequence[Sequence[Piece]], allowed: Container[int]) -> list[range]:
    """Return the runs of rows that are tables, of those whose numbers are ``allowed``.

    A row belongs to the table above when none of its cells spans two columns. Of two cells, one
    must be aligned to the column, because lines of text have gaps too. Single cells belong to a
    table when they are within.
    """
    tables: list[range] = []
    number = 0
    while number < len(rows):
        end = number + 1
        while number in allowed and end < len(rows) and len(cells_of(rows[end - 1])) > 1:
            table = [rows[number], *rows[max(number + 1, end - MAX_COMPARED) : end]]
            steps = (at for at in range(MAX_SINGLE_CELLS + 1) if end + at in allowed)
            step = next((at for at in steps if _continues(rows[end : end + at + 1], table)), None)
            if step is None:
                break
            end += step + 1
        if end - number > 1:
            tables.append(range(number, end))
        number = end
    return tables


def _continues(rows: Sequence[Sequence[Piece]], table: Sequence[Sequence[Piece]]) -> bool:
    """Whether a row belongs to the table above it, and the narrow single cells between them."""
    *singles, row = rows
    cells, columns = [_edges(cell) for cell in cells_of(row)], columns_of(table)
    *_, before, top = (line[0].upright.top for line in (row, *table[-2:]))
    step = row[0].upright.top - top
    is_near = row[0].page == table[-1][0].page and 0 < step < MAX_ROW_DISTANCE
    if len(cells) < 2 or not is_near:
        return False
    wide = 2 * (columns[-1][1] - columns[0][0]) / 3
    between = [cells_of(single) for single in singles]
    if any(len(line) > 1 or _edges(line[0])[1] - _edges(line[0])[0] > wide for line in between):
        return False
    if singles and len(table) > 1 and step > MAX_STEPS * len(rows) * (top - before):
        return False
    touched = [sum(_overlap(column, cell) for column in columns) for cell in cells]
    if len(cells) > MIN_TABLE_GAPS:
        return 2 * touched.count(1) >= len(cells)
    (left, right), nearest = cells[1], 1.0
    for first, last in (_edges(cell) for line in table for cell in cells_of(line)):
        middle = abs(left + right - first - last) / 2
        nearest = min(nearest, abs(left - first), middle, abs(right - last))
    return max(touched) < 2 and nearest < MAX_CELL_OFFSET


def _edges(cell: Cell) -> tuple[float, float]:
    left = cell[0].upright.left  # letters cut at the edge of the page may have no width left
    return left, max(left + 0.0001, *(piece.upright.right for piece in cell))


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return min(a[1], b[1]) > max(a[0], b[0])
