"""Fills a catalogue query from plain words: what a form, a program or a language model writes.

Names of things, relations and fields are looked up in what the collections hold; one that is not
there is refused with those that are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wellread.ask.aggregate.execute import execute
from wellread.ask.aggregate.nouns import Noun, nouns, spelling
from wellread.ask.aggregate.query import (
    PERIODS,
    CatalogueQuery,
    Form,
    Hop,
    Name,
    Order,
    QueryError,
    Topic,
    Walk,
)
from wellread.ask.aggregate.result import AggregateResult
from wellread.ask.aggregate.scope import scope_of
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.aggregates import FIELDS
from wellread.types import Filters

MOST_NAMED = 30  # of what is allowed, in an error
DATES = ("year", "month")


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
    divisions = [*([] if fields.form == "coverage" else [*DATES, *FIELDS]), *dimensions]
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
