"""Executes a catalogue query, also one described by names in plain words.

A language model describes a query with ``CatalogueRequest``. Its names of things, relations and
fields are looked up in the collections; an unknown name raises an error that lists the known ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from wellread.ask.aggregate.counts import (
    DATES,
    OTHER_PARTS,
    count_result,
    coverage,
    existence_result,
    missing,
)
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

MOST_ROWS = 1_000
MOST_NAMES, MOST_HOPS = 20, 4

Named = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Names = Annotated[tuple[Named, ...], Field(max_length=MOST_NAMES)]


class RequestPart(BaseModel):
    """Base of request bodies; accepts snake or camel case and rejects unknown fields."""

    # A misspelt limit must not be taken for none.
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True
    )


class AboutBody(RequestPart):
    """What documents have to be about."""

    names: Annotated[tuple[Named, ...], Field(min_length=1, max_length=MOST_NAMES)]
    naming: bool = Field(default=False, description="they name it; a relation to it is not enough")
    either: bool = Field(default=False, description="one of the names is enough")


class HopBody(RequestPart):
    """One step through the graph; without relations, over any relation."""

    relations: Names = ()
    side: Direction = Field(default="out", description="from the entity, to it, or both")
    types: Names = Field(default=(), description="of what stands at its end")

    def hop(self) -> Hop:
        """The same for the catalogue."""
        return Hop(
            senses=tuple(Sense(type=name, side=self.side) for name in self.relations),
            types=frozenset(self.types),
        )


class RelatedBody(RequestPart):
    """From where to go through the graph, and over what."""

    names: Annotated[tuple[Named, ...], Field(min_length=1, max_length=MOST_NAMES)]
    hops: Annotated[tuple[HopBody, ...], Field(max_length=MOST_HOPS)] = ()
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
    of: Named = Field(default="documents", description="papers, authors, a type of entity, …")
    about: AboutBody | None = None
    related: RelatedBody | None = None
    where: WhereBody = WhereBody()
    by: Annotated[tuple[Named, ...], Field(max_length=2)] = ()
    order: Order = ""
    limit: int = Field(default=100, ge=1, le=MOST_ROWS, description="most rows")


BY_THE_WORD = 0.75  # that the first text with a word is the first that is about the thing
_FORMS = {
    "count": count_result,
    "exists": existence_result,
    "missing": missing,
    "coverage": coverage,
    "trend": trends,
    "walk": traverse,
    "path": traverse,
}


def execute(
    kb: KnowledgeBase, query: CatalogueQuery, asked: Analysis | None = None
) -> AggregateResult | None:
    """The result of ``query``; None when the catalogue cannot answer it."""
    if query.order == "newest" and query.about:
        query = replace(query, order="latest")  # of those, and not of all there are
    if not query.fits:
        return None
    where = query.where
    if query.order == "newest":
        where = tuple(replace(one, published_from=None, published_to=None) for one in where)
    scope = scope_of(kb, where)
    if query.of.filters != Filters():
        scope = scope.within(query.of.filters)
    if query.form != "list":
        result = _FORMS[query.form](scope, query)
    elif query.order == "newest":
        result = newest(scope, query)
    elif query.order == "relevance" and asked:
        result = entity_list(scope, query, asked)
    else:
        result = count_result(scope, query)
    if result is None:
        return None
    result = replace(
        result,
        relaxed=(*query.relaxed, *result.relaxed),
        notes=(*query.notes, *result.notes),
    )
    return result if query.order == "newest" else _cut(_ordered(result, query.order), query)


def _ordered(result: AggregateResult, order: Order) -> AggregateResult:
    """The rows in the requested order; documents arrive oldest first."""
    rows = list(result.rows)
    if order == "name":
        rows.sort(key=lambda row: row.cells[0].casefold())
    elif order in ("most", "fewest"):
        rows.sort(key=lambda row: len(row.document_ids), reverse=order == "most")
    elif order == "latest":
        rows.reverse()
    return replace(result, rows=tuple(rows))


def _cut(result: AggregateResult, query: CatalogueQuery) -> AggregateResult | None:
    """The first rows, up to the query's limit; said in words where they go by date.

    None where a row that may be among the first has no date: nobody knows which they are.
    """
    limit, many = query.limit, len(result.rows)
    if limit is None:
        return result
    rows, whole = result.rows[:limit], result.number or 0
    if many > limit:
        method = f"{result.method}; the first {limit:,} of {many:,} rows"
        result = replace(result, rows=rows, method=method)
    edge = {"oldest": "first", "latest": "last"}.get(query.order)
    if not edge:
        return result
    if "Date" in result.columns and (len(rows) > 1 or whole > len(rows)):
        place = result.columns.index("Date")
        if not all(row.cells[place] for row in rows):
            return None
    if whole <= len(rows):
        return result
    these = f"the {edge} is" if len(rows) == 1 else f"the {edge} {len(rows)} are"
    sure = min(result.certainty, BY_THE_WORD)
    return replace(result, sentence=f"{result.sentence[:-1]}; {these}:", certainty=sure)


MOST_NAMED = 30  # of what is allowed, in an error


def query_of(kb: KnowledgeBase, asked: CatalogueRequest) -> CatalogueQuery:
    """The query that the fields describe, over everything that may be seen."""
    collections = scope_of(kb, ()).collections
    vocabulary = vocabulary_of(kb, collections)
    usual = OTHER_PARTS if asked.form == "coverage" else (*DATES, *FIELDS)
    divisions = [*usual, *vocabulary.dimensions]
    _check("by", asked.by, PERIODS if asked.form == "trend" else divisions)
    about, related = asked.about, asked.related
    query = CatalogueQuery(
        form=asked.form,
        of=_noun(asked.of, nouns(vocabulary)),
        about=Topic(
            names=tuple(Name(phrase=phrase) for phrase in about.names),
            every=not about.either,
            naming=about.naming,
        )
        if about
        else None,
        related=_walk(kb, related, collections) if related else None,
        by=asked.by,
        order=asked.order,
        limit=asked.limit,
    )
    if not query.fits:
        raise QueryError(f"form: “{asked.form}” does not go with the other fields")
    return query


def _walk(kb: KnowledgeBase, related: RelatedBody, collections: Sequence[str]) -> Walk:
    graph, types = kb.catalogue.graph, vocabulary_of(kb, collections).entity_types
    for name in related.names:
        if not collections or not graph.resolve(collections, name):
            raise QueryError(f"related: no entity is called “{name}”")
    known: dict[str, None] = {}
    for kind in graph.relation_types(collections) if collections else ():
        known |= {kind.type: None, kind.inverse: None}
    relations = [name for hop in related.hops for name in hop.relations]
    _check("related", relations, [name for name in known if not name.startswith("←")])
    _check("related", (name for hop in related.hops for name in hop.types), sorted(types))
    return Walk(
        starts=tuple(Name(phrase=name) for name in related.names),
        hops=tuple(hop.hop() for hop in related.hops),
        all_of=related.every,
    )


def _noun(word: str, known: dict[str, Noun]) -> Noun:
    noun = known.get(spelling(word))
    if noun is None:
        _check("of", (word,), sorted({one.many for one in known.values()}))
        raise QueryError(f"of: nothing is called “{word}”")
    return noun


def _check(name: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise an error for a query that the settings do not allow."""
    there = list(allowed)
    for one in given:
        if one not in there:
            shown = ", ".join(there[:MOST_NAMED]) or "nothing"
            more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
            raise QueryError(f"{name}: “{one}” is not known", hint=f"allowed: {shown}{more}")
