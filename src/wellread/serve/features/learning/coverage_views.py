"""The coverage as a body, as a table on the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field
from rich.console import Console
from rich.table import Column
from rich.text import Text

from wellread.ask.aggregate.queries.result import amount
from wellread.kb import KnowledgeBase
from wellread.learning.coverage_grid import Cell, Grid
from wellread.learning.coverage_trend import coverage_trend
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import right, table
from wellread.text.words import harmless

MOST_SHOWN = 40  # values of a dimension in a table; JSON has all
MOST_GAPS = 20  # named in words
MOST_MONTHS = 12


class CoverageCellBody(Body):
    """The documents that have both values, and how many there are to be."""

    row: str
    column: str
    documents: int
    target: int = Field(description="0: the cell does not count")
    covered: bool
    questions: int = Field(description="questions asked whose answers rest on a document of it")


class CoveredMonthBody(Body):
    """How much there was at the end of a month."""

    month: str
    documents: int
    covered: int


class CoverageBody(Body):
    """The cells of two dimensions, what is covered of them, and how that grew."""

    by: tuple[str, ...]
    dimensions: tuple[str, ...] = Field(description="all that `by` may name")
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[CoverageCellBody, ...] = Field(description="row by row")
    gaps: tuple[CoverageCellBody, ...] = Field(description="below their target, the worst first")
    covered: int
    wanted: int = Field(description="cells that have a target")
    share: float | None = Field(description="covered of wanted; null when no cell has a target")
    documents: int
    placed: int = Field(description="documents that are in a cell")
    added: tuple[CoveredMonthBody, ...] = Field(description="by when documents were added here")
    published: tuple[CoveredMonthBody, ...] = Field(description="by when they were published")


class AskedOfBody(Body):
    """A question whose answer rests on a document of the cell."""

    answer_id: str
    question: str
    created_at: datetime


def coverage_body(kb: KnowledgeBase, grid: Grid) -> CoverageBody:
    """The whole coverage.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    wanted = grid.wanted
    covered = sum(cell.covered for cell in wanted)
    return CoverageBody.of(
        grid,
        cells=[_cell(one) for one in grid.cells],
        gaps=[_cell(one) for one in grid.gaps],
        covered=covered,
        wanted=len(wanted),
        share=covered / len(wanted) if wanted else None,
        added=coverage_trend(kb, grid, "added"),
        published=coverage_trend(kb, grid, "published"),
    )


def _cell(cell: Cell) -> CoverageCellBody:
    return CoverageCellBody.of(cell, documents=len(cell.document_ids), questions=len(cell.asked))


def coverage_sentence(body: CoverageBody) -> str:
    """``13 of 25 cells of sectors × scales are covered (52 %).``"""
    if not body.wanted:
        return f"No cell of {' × '.join(body.by)} has a target, so nothing is covered or missing."
    share = f"{body.share:.0%}".replace("%", " %") if body.share is not None else ""
    return (
        f"{body.covered:,} of {amount(body.wanted, 'cell', 'cells')} of {' × '.join(body.by)} "
        f"{'is' if body.covered == 1 else 'are'} covered ({share}); "
        f"{body.placed:,} of {amount(body.documents, 'document', 'documents')} "
        f"{'is' if body.placed == 1 else 'are'} in a cell."
    )


def gap_words(cell: CoverageCellBody) -> str:
    """``energy × regional: no document, 1 is wanted``."""
    held = amount(cell.documents, "document", "documents") if cell.documents else "no document"
    return f"{cell.row} × {cell.column}: {held}, {cell.target:,} wanted"


def most_filled(body: CoverageBody) -> tuple[list[str], list[str]]:
    """The rows and columns that a table shows: all, or of many those with most documents."""
    rows: dict[str, int] = dict.fromkeys(body.rows, 0)
    columns: dict[str, int] = dict.fromkeys(body.columns, 0)
    for cell in body.cells:
        rows[cell.row] += cell.documents
        columns[cell.column] += cell.documents
    return _most(rows), _most(columns)


def _most(sizes: dict[str, int]) -> list[str]:
    kept = set(sorted(sizes, key=lambda value: -sizes[value])[:MOST_SHOWN])
    return [value for value in sizes if value in kept]


def left_out(body: CoverageBody, rows: Sequence[str], columns: Sequence[str]) -> str:
    """What a table does not show, in words; empty when it shows all."""
    if len(rows) == len(body.rows) and len(columns) == len(body.columns):
        return ""
    return (
        f"Shown are the {len(rows):,} of {len(body.rows):,} rows and the {len(columns):,} of "
        f"{len(body.columns):,} columns with most documents; JSON has all."
    )


def cell_words(cell: CoverageCellBody) -> str:
    """``3``; below the target ``1/2``; a cell that does not count in brackets."""
    if not cell.target:
        return f"({cell.documents})" if cell.documents else "–"
    return f"{cell.documents:,}" if cell.covered else f"{cell.documents:,}/{cell.target:,}"


def print_coverage_report(console: Console, body: CoverageBody) -> None:
    """The table, the share, the gaps, and the last months."""
    console.print(harmless(coverage_sentence(body)), markup=False)
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in body.cells}
    lines: list[list[str | Text]] = []
    for row in rows:
        held = [cells[row, column] for column in columns]
        styled = [Text(cell_words(one), style="" if one.covered else "bold red") for one in held]
        lines.append([row, *styled])
    if lines and columns:
        heads: list[str | Column] = [
            harmless(f"{body.by[0]} \\ {body.by[1]}"),
            *(right(harmless(c)) for c in columns),
        ]
        console.print(table(heads, lines, header_style="bold"))
    if said := left_out(body, rows, columns):
        console.print(said, style="dim", markup=False)
    if body.gaps:
        console.print(Text(f"Gaps ({len(body.gaps):,})", style="bold"))
        for one in body.gaps[:MOST_GAPS]:
            console.print(f"  {harmless(gap_words(one))}", markup=False)
        if len(body.gaps) > MOST_GAPS:
            console.print(f"  and {len(body.gaps) - MOST_GAPS:,} more", style="dim")
    if body.added:
        console.print(Text("Over time, by when documents were added", style="bold"))
        months = [
            [o.month, f"{o.documents:,}", f"{o.covered:,}"] for o in body.added[-MOST_MONTHS:]
        ]
        console.print(table(["Month", right("Documents"), right("Covered cells")], months))


def coverage_markdown(body: CoverageBody) -> str:
    """The coverage as a Markdown report."""
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in body.cells}
    lines = [f"# Coverage: {_plain(' × '.join(body.by))}", "", _plain(coverage_sentence(body)), ""]
    if rows and columns:
        lines += [_row([f"{body.by[0]} × {body.by[1]}", *columns])]
        lines += ["|---|" + "---:|" * len(columns)]
        lines += [_row([row, *(cell_words(cells[row, one]) for one in columns)]) for row in rows]
        lines += ["", *([f"{said}", ""] if (said := left_out(body, rows, columns)) else [])]
    lines += ["## Gaps", ""]
    lines += [f"- {_plain(gap_words(one))}" for one in body.gaps] or ["None."]
    for title, months in (("added", body.added), ("published", body.published)):
        if months:
            lines += ["", f"## Over time, by when documents were {title}", ""]
            lines += [_row(["Month", "Documents", "Covered cells"]), "|---|---:|---:|"]
            lines += [_row([o.month, f"{o.documents:,}", f"{o.covered:,}"]) for o in months]
    return "\n".join(lines) + "\n"


def _row(values: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(value).replace('|', chr(92) + '|') for value in values)} |"


def _plain(text: str) -> str:
    """Words of sources on one line, without what would be markup."""
    words = " ".join(harmless(text).split())
    return words.replace("<", "&lt;").replace("[", "\\[").replace("`", "\\`")
