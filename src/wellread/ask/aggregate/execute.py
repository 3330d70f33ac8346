"""Works out a catalogue query, the one way from its fields to rows; also from plain words.

A form, a program or a language model writes words (``QueryFields``). Names of things, relations
and fields are looked up in what the collections hold; one that is not there is refused with those
that are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from wellread.ask.aggregate.counts import counted
from wellread.ask.aggregate.coverage import DATES, OTHER_PARTS, coverage
from wellread.ask.aggregate.entity_lists import entity_list
from wellread.ask.aggregate.gaps import exists, missing
from wellread.ask.aggregate.newest import newest
from wellread.ask.aggregate.queries.query import (
    PERIODS,
    CatalogueQuery,
    Form,
    Hop,
    Name,
    Noun,
    Order,
    QueryError,
    Topic,
    Walk,
    nouns,
    spelling,
)
from wellread.ask.aggregate.queries.result import AggregateResult, Scope, scope_of
from wellread.ask.aggregate.trends import trends
from wellread.ask.aggregate.walk_result import walked
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.store.catalogue.documents.aggregates import FIELDS
from wellread.types import Filters

BY_THE_WORD = 0.75  # that the first text with a word is the first that is about the thing

_FORMS = {
    "count": counted,
    "exists": exists,
    "missing": missing,
    "coverage": coverage,
    "trend": trends,
    "walk": walked,
    "path": walked,
}


def execute(
    kb: KnowledgeBase, query: CatalogueQuery, asked: Analysis | None = None
) -> AggregateResult | None:
    """The result of ``query``; None where the catalogue has nothing to tell of it.

    Args:
        asked: the question that the query was read from, by whose words entities are ranked.

    Raises:
        UnknownCollectionError: a limit names a collection that does not exist.
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    if query.order == "newest" and (query.about or query.related):
        query = replace(query, order="latest")  # of those, and not of all there are
    dated = query.order == "newest"
    where = [replace(one, published_from=None, published_to=None) for one in query.where]
    scope = scope_of(kb, where if dated else query.where)
    if query.of.filters != Filters():
        scope = scope.within(query.of.filters)
    result = _worked_out(scope, query, asked)
    if result is None:
        return None
    result = replace(
        result,
        relaxed=(*query.relaxed, *result.relaxed),
        notes=(*query.notes, *result.notes),
    )
    if query.order == "newest":
        return result
    return _edge(_cut(_ordered(result, query.order), query.limit), query)


def _edge(result: AggregateResult, query: CatalogueQuery) -> AggregateResult:
    """The result with the word for the rows that are left of those in the order of dates."""
    told = {"oldest": "first", "latest": "last"}.get(query.order, "")
    many = len(result.rows)
    if not told or query.limit is None or (result.number or 0) <= many:
        return result
    these = f"the {told} is" if many == 1 else f"the {told} {many} are"
    sure = min(result.certainty, BY_THE_WORD)
    return replace(result, sentence=f"{result.sentence[:-1]}; {these}:", certainty=sure)


def _worked_out(
    scope: Scope, query: CatalogueQuery, asked: Analysis | None
) -> AggregateResult | None:
    if query.form != "list":
        return _FORMS[query.form](scope, query)
    if query.order == "newest":
        return newest(scope, query)
    if query.order == "relevance":
        return entity_list(scope, query, asked)
    return counted(scope, query)


def _ordered(result: AggregateResult, order: Order) -> AggregateResult:
    """The rows in the asked order; they come in the natural one, of documents the oldest first."""
    rows = list(result.rows)
    if order == "name":
        rows.sort(key=lambda row: row.cells[0].casefold())
    elif order in ("most", "fewest"):
        rows.sort(key=lambda row: len(row.document_ids), reverse=order == "most")
    elif order == "latest":
        rows.reverse()
    return replace(result, rows=tuple(rows))


def _cut(result: AggregateResult, limit: int | None) -> AggregateResult:
    if limit is None or len(result.rows) <= limit:
        return result
    method = f"{result.method}; the first {limit:,} of {len(result.rows):,} rows"
    return replace(result, rows=result.rows[:limit], method=method)


MOST_NAMED = 30  # of what is allowed, in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFields:
    """The fields of a catalogue query in words.

    Attributes:
        of: a noun: a kind of document, a type of entity, a field ("papers", "authors").
        about: names or phrases; ``naming`` asks that they are named, ``either`` for one of them.
        starts: of a walk, a path, or what is related: names of entities.
        hops: from there; types and relations as the catalogue has them.
        all_of: whether what is reached must be reached from every start.
    """

    form: Form
    of: str = "documents"
    about: tuple[str, ...] = ()
    naming: bool = False
    either: bool = False
    starts: tuple[str, ...] = ()
    hops: tuple[Hop, ...] = ()
    all_of: bool = False
    where: Filters = field(default_factory=Filters)
    by: tuple[str, ...] = ()
    order: Order = ""
    limit: int | None = None


def query_of(kb: KnowledgeBase, fields: QueryFields) -> CatalogueQuery:
    """The query that ``fields`` describe.

    Raises:
        QueryError: a field names what is not there, or some do not go together.
        UnknownCollectionError: a limit names a collection that does not exist.
    """
    collections = scope_of(kb, (fields.where,)).collections
    vocabulary = vocabulary_of(kb, collections)
    dimensions = vocabulary.dimensions
    usual = OTHER_PARTS if fields.form == "coverage" else (*DATES, *FIELDS)
    divisions = [*usual, *dimensions]
    _check("by", fields.by, PERIODS if fields.form == "trend" else divisions)
    _check("where", (name for name, _ in fields.where.taxonomy), dimensions)
    related = None
    if fields.starts or fields.hops:
        related = _walk(kb, fields, collections, vocabulary.entity_types)
    names = tuple(Name(phrase=phrase) for phrase in fields.about)
    return CatalogueQuery(
        form=fields.form,
        of=_noun(fields.of, nouns(vocabulary)),
        about=Topic(names=names, every=not fields.either, naming=fields.naming) if names else None,
        related=related,
        where=(fields.where,),
        by=fields.by,
        order=fields.order,
        limit=fields.limit,
    )


def worked_out(kb: KnowledgeBase, fields: QueryFields) -> AggregateResult:
    """The result of the query that ``fields`` describe.

    Raises:
        QueryError, UnknownCollectionError: as ``query_of``.
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    result = execute(kb, query_of(kb, fields))
    nothing = "The catalogue has nothing to tell of this."
    return result or AggregateResult(kind="list", sentence=nothing, number=0, absent=True)


def _walk(
    kb: KnowledgeBase, fields: QueryFields, collections: Sequence[str], types: Iterable[str]
) -> Walk:
    graph = kb.catalogue.graph
    for name in fields.starts:
        if not collections or not graph.resolve(collections, name):
            raise QueryError(f"related: no entity is called “{name}”")
    known: dict[str, None] = {}
    for kind in graph.relation_kinds(collections) if collections else ():
        known |= {kind.type: None, kind.inverse: None}
    relations = [sense.type for hop in fields.hops for sense in hop.senses]
    _check("related", relations, [name for name in known if not name.startswith("←")])
    _check("related", (name for hop in fields.hops for name in hop.types), sorted(types))
    return Walk(
        starts=tuple(Name(phrase=name) for name in fields.starts),
        hops=fields.hops or ((Hop(senses=()),) if fields.form in ("count", "list") else ()),
        all_of=fields.all_of,
    )


def _noun(word: str, known: dict[str, Noun]) -> Noun:
    noun = known.get(spelling(word))
    if noun is None:
        _check("of", (word,), sorted({one.many for one in known.values()}))
        raise QueryError(f"of: nothing is called “{word}”")
    return noun


def _check(name: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Refuse what is not allowed.

    Raises:
        QueryError: names the field and what is allowed.
    """
    there = list(allowed)
    for one in given:
        if one not in there:
            shown = ", ".join(there[:MOST_NAMED]) or "nothing"
            more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
            raise QueryError(f"{name}: “{one}” is not known", hint=f"allowed: {shown}{more}")
