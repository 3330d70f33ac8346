"""Counting and listing: worked out from the catalogue as a whole, with every row of the result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from wellread.ask.aggregate.count import Count, Result
from wellread.ask.aggregate.count_documents import count_documents, count_mentions, count_passages
from wellread.ask.aggregate.count_entities import (
    count_entities,
    count_relation_types,
    count_relations,
)
from wellread.ask.aggregate.count_values import count_stories, count_values
from wellread.ask.aggregate.countable_nouns import What
from wellread.ask.aggregate.read_request import read_request
from wellread.ask.aggregate.relation_words import relation_words
from wellread.ask.aggregate.rows import there_are
from wellread.ask.aggregate.scope import in_words, scope_of
from wellread.ask.retrieve.retrieval import AggregateResult, Retrieval
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.types import Filters

logger = logging.getLogger(__name__)

STRATEGY = "counted in the catalogue"


def counts(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """The exact count or the whole list; None when it is not of something the catalogue knows.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
    whole = scope_of(kb, analysis)
    vocabulary = vocabulary_of(kb, whole.collections)
    relations = relation_words(kb.catalogue.graph, whole.collections)
    request = read_request(analysis, vocabulary, relations)
    if request is None:
        logger.info("the catalogue does not know what is to be counted: %r", analysis.question)
        return None
    scope = scope_of(kb, analysis, without=[request.place])
    given = tuple(part for limit in request.limits for part in in_words(limit))
    conditions = tuple(dict.fromkeys((*scope.said, *given)))
    for limit in (request.noun.filters, *request.limits):
        scope = scope.within(limit) if limit != Filters() else scope
    if request.topic:
        conditions = (request.topic.said, *conditions)
    if request.relation:
        names = " and ".join(dict.fromkeys(f"“{one.title}”" for one in request.relation.entities))
        relation = request.relation.words
        ordered = f"{names} {relation}" if request.relation.side == "out" else f"{relation} {names}"
        conditions = (f"({ordered})", *conditions)
    count = Count(request=request, scope=scope, conditions=conditions)
    result = _COUNTERS[request.noun.what](count)
    return Retrieval(strategy=STRATEGY, tally=_tally(count, result)) if result else None


def _tally(count: Count, result: Result) -> AggregateResult:
    number = len(result.rows) if result.number is None else result.number
    noun = count.noun
    return AggregateResult(
        kind="list" if count.request.listed else "count",
        sentence=result.sentence or there_are(number, noun.one, noun.many, count.conditions),
        number=number,
        columns=result.columns,
        rows=result.rows,
        method=f"{result.method}; in {count.scope.where}",
    )


_COUNTERS: Mapping[What, Callable[[Count], Result | None]] = {
    "documents": count_documents,
    "entities": count_entities,
    "values": count_values,
    "author": count_values,
    "speaker": count_values,
    "language": count_values,
    "collection": count_values,
    "kind": count_values,
    "source_type": count_values,
    "entity_types": count_values,
    "dimensions": count_values,
    "stories": count_stories,
    "mentions": count_mentions,
    "relations": count_relations,
    "relation_types": count_relation_types,
    "passages": count_passages,
}
