"""Counts, lists, gaps, coverage, trends and walks that are asked for by fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from rich.console import Console

from wellread.ask.aggregate.execute import QueryFields, worked_out
from wellread.ask.aggregate.queries.query import Form, Hop, Order, Sense
from wellread.ask.aggregate.queries.result import AggregateResult
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import table
from wellread.serve.timecodes import window_of
from wellread.store.catalogue.graph.relation_network import Direction
from wellread.text.words import harmless
from wellread.types import Filters, Kind

MOST_ROWS = 1_000
MOST_NAMES, MOST_HOPS = 20, 4
LONGEST_CELL = 120

Named = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Names = Annotated[tuple[Named, ...], Field(max_length=MOST_NAMES)]


class _Given(BaseModel):
    # A misspelt limit must not be taken for none.
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True
    )


class AboutBody(_Given):
    """What documents have to be about."""

    names: Annotated[tuple[Named, ...], Field(min_length=1, max_length=MOST_NAMES)]
    naming: bool = Field(default=False, description="they name it; a relation to it is not enough")
    either: bool = Field(default=False, description="one of the names is enough")


class HopBody(_Given):
    """One step through the graph; without relations or a field, over any relation."""

    relations: Names = ()
    side: Direction = Field(default="out", description="from the entity, to it, or both")
    field: str = Field(default="", description="a field: to all that share a value of it")
    types: Names = Field(default=(), description="of what stands at its end")


class RelatedBody(_Given):
    """From where to go through the graph, and over what."""

    names: Annotated[tuple[Named, ...], Field(min_length=1, max_length=MOST_NAMES)]
    hops: Annotated[tuple[HopBody, ...], Field(max_length=MOST_HOPS)] = ()
    every: bool = Field(default=False, description="reached from every name, not from one")


class WhereBody(_Given):
    """Limits: the values of one are alternatives, all limits must be met."""

    topics: Names = Field(default=(), description="names of collections")
    kinds: tuple[Kind, ...] = ()
    source_types: Names = ()
    languages: Names = ()
    authors: Names = ()
    speakers: Names = ()
    from_: str = Field(default="", alias="from", description="first day of publication")
    to: str = Field(default="", description="last day of publication")
    fields: dict[str, Names] = Field(default_factory=dict, description="field to its values")

    def filters(self) -> Filters:
        """The same for the catalogue.

        Raises:
            RequestError: a window of time that ends before it begins.
        """
        since, until = window_of(
            self.from_ or None,
            self.to or None,
            hint="swap where.from and where.to",
            empty="where: the time ends before it begins",
        )
        return Filters(
            collections=self.topics,
            kinds=self.kinds,
            source_types=self.source_types,
            languages=self.languages,
            authors=self.authors,
            speakers=self.speakers,
            published_from=since,
            published_to=until,
            taxonomy=tuple((name, one) for name, values in self.fields.items() for one in values),
        )


class CatalogueRequest(_Given):
    """What to work out from everything there is; nothing is ranked or left out."""

    form: Form
    of: Named = Field(default="documents", description="papers, authors, a type of entity, …")
    about: AboutBody | None = None
    related: RelatedBody | None = None
    where: WhereBody = WhereBody()
    by: Annotated[tuple[Named, ...], Field(max_length=2)] = ()
    order: Order = ""
    limit: int = Field(default=100, ge=1, le=MOST_ROWS, description="most rows")

    def query(self) -> QueryFields:
        """The fields as the catalogue reads them."""
        about, related = self.about, self.related
        return QueryFields(
            form=self.form,
            of=self.of,
            about=about.names if about else (),
            naming=about is not None and about.naming,
            either=about is not None and about.either,
            starts=related.names if related else (),
            hops=tuple(map(_hop, related.hops)) if related else (),
            all_of=related is not None and related.every,
            where=self.where.filters(),
            by=self.by,
            order=self.order,
            limit=self.limit,
        )


def _hop(body: HopBody) -> Hop:
    return Hop(
        senses=tuple(Sense(type=name, side=body.side) for name in body.relations),
        attribute=body.field,
        types=frozenset(body.types),
    )


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
    return worked_out_body(worked_out(kb, asked.query()))


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
