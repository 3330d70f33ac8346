"""Counts, lists, gaps, coverage, trends and walks that are asked for by fields."""

from __future__ import annotations

from pydantic import Field
from rich.console import Console

from wellread.ask.aggregate.execute import CatalogueRequest, worked_out
from wellread.ask.aggregate.queries.result import AggregateResult
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import table
from wellread.text.words import harmless

LONGEST_CELL = 120


class CatalogueRowBody(Body):
    """A row, and the ids of the documents that it rests on."""

    cells: tuple[str, ...]
    documents: tuple[str, ...]


class CatalogueResponse(Body):
    """The result in a sentence, as rows, and how it was worked out."""

    kind: str
    sentence: str
    number: int | None = Field(description="what was counted; of a list its whole length")
    columns: tuple[str, ...]
    rows: tuple[CatalogueRowBody, ...]
    absent: bool = Field(description="whether nothing of what was asked for is there")
    method: str
    notes: tuple[str, ...]


def catalogue_body(kb: KnowledgeBase, asked: CatalogueRequest) -> CatalogueResponse:
    """The result of the query.

    Raises:
        RequestError: a field cannot be as it is given; the message begins with its name.
        UnknownCollectionError: a collection that does not exist.
    """
    return worked_out_body(worked_out(kb, asked))


def worked_out_body(result: AggregateResult) -> CatalogueResponse:
    """A result of the catalogue."""
    return CatalogueResponse.of(
        result,
        rows=[CatalogueRowBody.of(row, documents=row.document_ids) for row in result.rows],
        notes=(*result.notes, *result.failures),
    )


def print_catalogue(console: Console, body: CatalogueResponse) -> None:
    """The sentence, the rows as a table, and how they came about."""
    console.print(harmless(body.sentence), markup=False)
    if body.rows:
        rows = ([" ".join(cell.split())[:LONGEST_CELL] for cell in row.cells] for row in body.rows)
        console.print(table(body.columns, rows, header_style="bold"))
    for line in (*body.notes, body.method):
        if line:
            console.print(harmless(line), style="dim", markup=False)
