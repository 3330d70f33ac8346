"""The coverage as a heat map; each cell opens its documents and the questions asked there."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from wellread.ask.aggregate.counts import DATES
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.learning.coverage_grid import Grid, coverage_grid
from wellread.library.named_things import listed
from wellread.serve.api.coverage_api import CoverageLimits
from wellread.serve.features.bodies import Body
from wellread.serve.features.document_views import DocumentBody, documents_body
from wellread.serve.features.learning.coverage_views import (
    MOST_GAPS,
    AskedOfBody,
    CoverageBody,
    CoverageCellBody,
    cell_words,
    coverage_body,
    coverage_sentence,
    gap_words,
    left_out,
    most_filled,
)
from wellread.serve.guards.asking_rights import Kb
from wellread.serve.web.answer_parts import limit_choices
from wellread.serve.web.charts import bar_chart
from wellread.serve.web.rendering import PageFormat, shown
from wellread.types import Filters

router = APIRouter(include_in_schema=False)
MOST_DOCUMENTS, MOST_ASKED = 50, 20
LEVELS = (1, 2, 4, 8, 16)  # least number of documents of each shade
MOST_BARS = 60
# Dimensions that are parameters of the lists of documents by themselves.
PARAMETERS = ("kind", "collection", "source_type", "language", "author", "speaker")


class CoveragePageQuery(CoverageLimits, PageFormat):
    """The coverage; with ``row`` and ``column`` one cell of it."""

    row: str = ""
    column: str = ""


class CellPageBody(Body):
    """One cell: documents and questions, the first of them."""

    by: tuple[str, ...]
    cell: CoverageCellBody
    documents: tuple[DocumentBody, ...]
    asked: tuple[AskedOfBody, ...]


@router.get("/coverage")
def coverage_page(
    kb: Kb, request: Request, asked: Annotated[CoveragePageQuery, Query()]
) -> Response:
    """The heat map, the gaps and how it grew; or a cell.

    Raises:
        QueryError, UnknownCollectionError: as ``coverage_grid``.
        UnknownNameError: there is no such cell.
    """
    grid = coverage_grid(kb, asked.filters(), asked.dimensions, owner=kb.asker.owner)
    if asked.row or asked.column:
        return _cell_page(kb, request, asked, grid)
    body = coverage_body(kb, grid)
    rows, columns = most_filled(body)
    cells = {(one.row, one.column): one for one in body.cells}
    return shown(
        request,
        "coverage.html",
        body,
        asked=asked,
        given=_given(asked, grid),
        choices=limit_choices(kb),
        sentence=coverage_sentence(body),
        columns=columns,
        lines=[(row, [_drawn(cells[row, column]) for column in columns]) for row in rows],
        left_out=left_out(body, rows, columns),
        gaps=[(one, gap_words(one)) for one in body.gaps[:MOST_GAPS]],
        charts=_charts(body),
    )


def _cell_page(
    kb: KnowledgeBase, request: Request, asked: CoveragePageQuery, grid: Grid
) -> Response:
    cell = grid.cell(asked.row, asked.column)
    if cell is None:
        raise UnknownNameError(
            f"there is no cell {asked.row!r} × {asked.column!r}", hint="/coverage shows them all"
        )
    first = Filters(document_ids=cell.document_ids[:MOST_DOCUMENTS] or ("",))
    page = listed(kb, first, limit=MOST_DOCUMENTS)
    body = CellPageBody(
        by=grid.by,
        cell=CoverageCellBody.of(cell, documents=len(cell.document_ids), questions=len(cell.asked)),
        documents=documents_body(page, 0).documents,
        asked=tuple(AskedOfBody.of(grid.asked[place]) for place in cell.asked[:MOST_ASKED]),
    )
    limits = _library(asked, grid, cell.row, cell.column)
    return shown(request, "coverage_cell.html", body, given=_given(asked, grid), limits=limits)


def _given(asked: CoveragePageQuery, grid: Grid) -> dict[str, object]:
    """What the links of the page keep."""
    plain = asked.model_dump(by_alias=True, exclude_defaults=True, exclude={"row", "column"})
    return {**plain, "by": list(grid.by)}


def _drawn(cell: CoverageCellBody) -> tuple[CoverageCellBody, str, int]:
    """The cell, what it says, and its shade."""
    return cell, cell_words(cell), sum(cell.documents >= least for least in LEVELS)


def _charts(body: CoverageBody) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for title, months in (("added", body.added), ("published", body.published)):
        if len(months) > 1:
            bars = [(one.month, one.covered) for one in months[-MOST_BARS:]]
            found.append((title, bar_chart(bars)))
    return found


def _library(
    asked: CoveragePageQuery, grid: Grid, row: str, column: str
) -> dict[str, list[str] | str]:
    """The parameters under which the library lists the cell; empty when it cannot."""
    plain = asked.model_dump(
        by_alias=True, exclude_defaults=True, exclude={"row", "column", "by", "format", "topic"}
    )
    found: dict[str, list[str] | str] = {**plain}
    if asked.collections:
        found["collection"] = list(asked.collections)
    named: set[str] = set()
    for name, value in zip(grid.by, (row, column), strict=True):
        key = "from" if name in DATES else name if name in PARAMETERS else "taxonomy"
        # A second value of a parameter would widen the list where the cell narrows it.
        if name == "entity_types" or key in named or (key in found and key != "taxonomy"):
            return {}
        if key == "from":
            named.add(key)
            found |= {"from": value, "to": value}
        elif key == "taxonomy":
            held = found.get("taxonomy", [])
            if any(pair.partition("=")[0] == name for pair in held):
                return {}
            found["taxonomy"] = [*held, f"{name}={value}"]
        else:
            named.add(key)
            found[key] = [value]
    return found
