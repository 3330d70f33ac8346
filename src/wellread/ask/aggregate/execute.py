"""Executes a catalogue query; makes one from a request that names everything in plain words.

A language model describes a query with ``CatalogueRequest``. Its names of things, relations and
fields are looked up in the collections; an unknown name raises an error that lists the known ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from wellread.ask.aggregate.counts import DATES, OTHER_PARTS, count_result, existence_result
from wellread.ask.aggregate.coverage import coverage, missing
from wellread.ask.aggregate.entity_lists import entity_list
from wellread.ask.aggregate.query import (
    PERIODS,
    AggregateResult,
    CatalogueQuery,
    Form,
    Hop,
    Name,
    Noun,
    Order,
    QueryError,
    Sense,
    Topic,
    Walk,
    nouns,
    scope_of,
    spelling,
)
from wellread.ask.aggregate.trends import newest, trends
from wellread.ask.aggregate.walk_result import traverse
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.listings import FIELDS
from wellread.store.catalogue.documents.relation_network import Direction
from wellread.types import Filters, Kind
from wellread.values.question import Analysis

MAX_ROWS = 1_000
MAX_NAMES, MAX_HOPS = 20, 4
MOST_NAMED = 30  # allowed names that an error lists

NameText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Names = Annotated[tuple[NameText, ...], Field(max_length=MAX_NAMES)]


class RequestPart(BaseModel):
    """Base of request bodies; accepts snake or camel case and rejects unknown fields."""

    # A misspelt limit must not be taken for none.
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True
    )


class AboutBody(RequestPart):
    """What documents have to be about."""

    names: Annotated[tuple[NameText, ...], Field(min_length=1, max_length=MAX_NAMES)]
    naming: bool = Field(default=False, description="they name it; a relation to it is not enough")
    either: bool = Field(default=False, description="one of the names is enough")


class HopBody(RequestPart):
    """One step through the graph; without relations, over any relation."""

    relations: Names = ()
    side: Direction = Field(default="out", description="from the entity, to it, or both")
    types: Names = Field(default=(), description="of what stands at its end")

    def hop(self) -> Hop:
        """Return the hop as a catalogue query has it."""
        return Hop(
            senses=tuple(Sense(type=name, side=self.side) for name in self.relations),
            types=frozenset(self.types),
        )


class RelatedBody(RequestPart):
    """From where to go through the graph, and over what."""

    names: Annotated[tuple[NameText, ...], Field(min_length=1, max_length=MAX_NAMES)]
    hops: Annotated[tuple[HopBody, ...], Field(max_length=MAX_HOPS)] = ()
    every: bool = Field(default=False, description="reached from every name, not from one")


class WhereBody(RequestPart):
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


class CatalogueRequest(RequestPart):
    """A request over the whole catalogue, unranked and complete."""

    form: Form
    of: NameText = Field(default="documents", description="papers, authors, a type of entity, …")
    about: AboutBody | None = None
    related: RelatedBody | None = None
    where: WhereBody = WhereBody()
    by: Annotated[tuple[NameText, ...], Field(max_length=2)] = ()
    order: Order = ""
    limit: int = Field(default=100, ge=1, le=MAX_ROWS, description="most rows")


MENTION_CERTAINTY = 0.75  # that the first text with a word is the first about the thing
_RESULT_OF_FORM = {
    "count": count_result,
    "exists": existence_result,
    "missing": missing,
    "coverage": coverage,
    "trend": trends,
    "walk": traverse,
    "path": traverse,
}


def execute(
    kb: KnowledgeBase, query: CatalogueQuery, analysis: Analysis | None = None
) -> AggregateResult | None:
    """Return the result of ``query``; None if the catalogue cannot answer it."""
    if query.order == "newest" and query.about:
        query = replace(query, order="latest")  # the newest on the topic, not of all
    if not query.fits:
        return None
    where = query.where
    if query.order == "newest":
        # ``newest`` applies the dates itself: to stories by their items.
        where = tuple(replace(limit, published_from=None, published_to=None) for limit in where)
    scope = scope_of(kb, where)
    if query.of.filters != Filters():
        scope = scope.within(query.of.filters)
    if query.form != "list":
        result = _RESULT_OF_FORM[query.form](scope, query)
    elif query.order == "newest":
        result = newest(scope, query)
    elif query.order == "relevance" and analysis:
        result = entity_list(scope, query, analysis)
    else:
        result = count_result(scope, query)
    if result is None:
        return None
    result = replace(
        result,
        relaxed=(*query.relaxed, *result.relaxed),
        notes=(*query.notes, *result.notes),
    )
    return result if query.order == "newest" else _limit_rows(_sorted(result, query.order), query)


def _sorted(result: AggregateResult, order: Order) -> AggregateResult:
    """Return the result with its rows in the requested order; documents arrive oldest first."""
    rows = list(result.rows)
    if order == "name":
        rows.sort(key=lambda row: row.cells[0].casefold())
    elif order in ("most", "fewest"):
        rows.sort(key=lambda row: len(row.document_ids), reverse=order == "most")
    elif order == "latest":
        rows.reverse()
    return replace(result, rows=tuple(rows))


def _limit_rows(result: AggregateResult, query: CatalogueQuery) -> AggregateResult | None:
    """Return the first rows, up to the query's limit; the sentence says so if they go by date.

    None if a row without a date may be among the first.
    """
    limit, row_count = query.limit, len(result.rows)
    if limit is None:
        return result
    rows, total = result.rows[:limit], result.number or 0
    if row_count > limit:
        method = f"{result.method}; the first {limit:,} of {row_count:,} rows"
        result = replace(result, rows=rows, method=method)
    edge = {"oldest": "first", "latest": "last"}.get(query.order)
    if not edge:
        return result
    if "Date" in result.columns and (len(rows) > 1 or total > len(rows)):
        date_column = result.columns.index("Date")
        if not all(row.cells[date_column] for row in rows):
            return None
    if total <= len(rows):
        return result
    subject = f"the {edge} is" if len(rows) == 1 else f"the {edge} {len(rows)} are"
    certainty = min(result.certainty, MENTION_CERTAINTY)
    return replace(result, sentence=f"{result.sentence[:-1]}; {subject}:", certainty=certainty)


def query_of(kb: KnowledgeBase, request: CatalogueRequest) -> CatalogueQuery:
    """Return the query that a request describes, over everything that may be seen."""
    collections = scope_of(kb, ()).collections
    vocabulary = vocabulary_of(kb, collections)
    standard_divisions = OTHER_PARTS if request.form == "coverage" else (*DATES, *FIELDS)
    divisions = [*standard_divisions, *vocabulary.dimensions]
    _check_allowed("by", request.by, PERIODS if request.form == "trend" else divisions)
    about, related = request.about, request.related
    query = CatalogueQuery(
        form=request.form,
        of=_noun_called(request.of, nouns(vocabulary)),
        about=Topic(
            names=tuple(Name(phrase=phrase) for phrase in about.names),
            every=not about.either,
            naming=about.naming,
        )
        if about
        else None,
        related=_walk_of(kb, related, collections) if related else None,
        by=request.by,
        order=request.order,
        limit=request.limit,
    )
    if not query.fits:
        raise QueryError(f"form: “{request.form}” does not go with the other fields")
    return query


def _walk_of(kb: KnowledgeBase, related: RelatedBody, collections: Sequence[str]) -> Walk:
    graph, types = kb.catalogue.graph, vocabulary_of(kb, collections).entity_types
    for name in related.names:
        if not collections or not graph.resolve(collections, name):
            raise QueryError(f"related: no entity is called “{name}”")
    relation_names: dict[str, None] = {}
    for relation_type in graph.relation_types(collections) if collections else ():
        relation_names |= {relation_type.type: None, relation_type.inverse: None}
    relations = [name for hop in related.hops for name in hop.relations]
    # An arrow marks the inverse of a relation that has no name for it.
    allowed = [name for name in relation_names if not name.startswith("←")]
    _check_allowed("related", relations, allowed)
    _check_allowed("related", (name for hop in related.hops for name in hop.types), sorted(types))
    return Walk(
        starts=tuple(Name(phrase=name) for name in related.names),
        hops=tuple(hop.hop() for hop in related.hops),
        all_of=related.every,
    )


def _noun_called(word: str, nouns_by_name: dict[str, Noun]) -> Noun:
    noun = nouns_by_name.get(spelling(word))
    if noun is None:
        _check_allowed("of", (word,), sorted({other.many for other in nouns_by_name.values()}))
        raise QueryError(f"of: nothing is called “{word}”")
    return noun


def _check_allowed(name: str, values: Iterable[str], allowed: Iterable[str]) -> None:
    choices = list(allowed)
    for value in values:
        if value not in choices:
            listed = ", ".join(choices[:MOST_NAMED]) or "nothing"
            more = f" and {len(choices) - MOST_NAMED} more" if len(choices) > MOST_NAMED else ""
            raise QueryError(f"{name}: “{value}” is not known", hint=f"allowed: {listed}{more}")
