"""What is asked of the catalogue by fields: the one schema for interfaces and language models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from wellread.ask.aggregate.queries.query import Form, Hop, Order, Sense
from wellread.store.catalogue.documents.relation_network import Direction
from wellread.text.timecodes import window_of
from wellread.types import Filters, Kind

MOST_ROWS = 1_000
MOST_NAMES, MOST_HOPS = 20, 4

Named = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Names = Annotated[tuple[Named, ...], Field(max_length=MOST_NAMES)]


class Given(BaseModel):
    """Fields by their names or in camel case; an unknown one is an error."""

    # A misspelt limit must not be taken for none.
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True
    )


class AboutBody(Given):
    """What documents have to be about."""

    names: Annotated[tuple[Named, ...], Field(min_length=1, max_length=MOST_NAMES)]
    naming: bool = Field(default=False, description="they name it; a relation to it is not enough")
    either: bool = Field(default=False, description="one of the names is enough")


class HopBody(Given):
    """One step through the graph; without relations or a field, over any relation."""

    relations: Names = ()
    side: Direction = Field(default="out", description="from the entity, to it, or both")
    field: str = Field(default="", description="a field: to all that share a value of it")
    types: Names = Field(default=(), description="of what stands at its end")

    def hop(self) -> Hop:
        """The same for the catalogue."""
        return Hop(
            senses=tuple(Sense(type=name, side=self.side) for name in self.relations),
            attribute=self.field,
            types=frozenset(self.types),
        )


class RelatedBody(Given):
    """From where to go through the graph, and over what."""

    names: Annotated[tuple[Named, ...], Field(min_length=1, max_length=MOST_NAMES)]
    hops: Annotated[tuple[HopBody, ...], Field(max_length=MOST_HOPS)] = ()
    every: bool = Field(default=False, description="reached from every name, not from one")


class WhereBody(Given):
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


class CatalogueRequest(Given):
    """What to work out from everything there is; nothing is ranked or left out."""

    form: Form
    of: Named = Field(default="documents", description="papers, authors, a type of entity, …")
    about: AboutBody | None = None
    related: RelatedBody | None = None
    where: WhereBody = WhereBody()
    by: Annotated[tuple[Named, ...], Field(max_length=2)] = ()
    order: Order = ""
    limit: int = Field(default=100, ge=1, le=MOST_ROWS, description="most rows")
