"""From an analysed question to a plan, with the words that its collections know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from wellread.ask.aggregate.graph.chunks import Lexicon, Word, lexicon_of, noun_of
from wellread.ask.aggregate.graph.graph_plan import Plan, plan_of
from wellread.ask.aggregate.graph.relation_senses import RelationWords
from wellread.ask.aggregate.graph.shortened_names import shortened
from wellread.ask.aggregate.graph.walk import Attributes
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, NamedEntity
from wellread.store.catalogue.graph.entity_graph import Graph
from wellread.store.catalogue.graph.relation_network import RelationKind
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Span


def read(kb: KnowledgeBase, analysis: Analysis) -> Plan | None:
    """What the question asks of the graph; None when it names no entity within the filters.

    A part of a name counts when every word of the question is understood with it.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    inside = analysis.filters.collections
    named = [one for one in analysis.entities if not inside or one.collection in inside]
    vocabulary = vocabulary_of(kb, inside)
    parts = shortened(analysis.question, vocabulary.names, [one.span for one in analysis.entities])
    if parts:
        plan = _plan(kb, analysis, sorted((*named, *parts), key=lambda one: one.span.start))
        if plan is not None and plan.understood and plan.complete:
            return replace(plan, read_as=tuple(_read_as(analysis, part) for part in parts))
    return _plan(kb, analysis, named) if named else None


def _read_as(analysis: Analysis, part: NamedEntity) -> str:
    return f"“{part.span.of(analysis.question)}” was read as “{part.title}”"


def _plan(kb: KnowledgeBase, analysis: Analysis, named: Sequence[NamedEntity]) -> Plan | None:
    scope = list(dict.fromkeys(one.collection for one in named))
    graph = kb.catalogue.graph
    words = kb.catalogue.vocabulary.of(scope)
    lexicon = lexicon_of(
        sorted({name for one in words for name in one.entity_types}),
        sorted({name for one in words for name in one.taxonomy}),
        _relation_words(tuple(graph.relation_kinds(scope))),
    )
    tokens = [
        Word(
            plain=token.plain,
            span=Span(start=token.start, end=token.end),
            named=token.start > 0 and token.written[:1].isupper(),
        )
        for token in tokens_of(analysis.question)
    ]
    meant = [one for name in named for one in _meant(graph, analysis, name, tokens, lexicon)]
    return plan_of(tokens, list(dict.fromkeys(meant)), lexicon)


def _meant(
    graph: Graph, analysis: Analysis, name: NamedEntity, words: Sequence[Word], lexicon: Lexicon
) -> list[NamedEntity]:
    """``name``, or its namesakes of the type that stands before it ("the device Moth")."""
    before = [word.plain for word in words if word.span.end <= name.span.start][-1:]
    types = lexicon.types.get(noun_of(before[0]), frozenset()) if before else frozenset()
    if not types or name.type in types:
        return [name]
    spelled = name.span.of(analysis.question)
    return [
        NamedEntity(
            span=name.span,
            collection=node.collection,
            entity_id=node.id,
            title=node.title,
            type=node.type,
        )
        for node in graph.resolve([name.collection], spelled)
        if node.type in types
    ] or [name]


@lru_cache(maxsize=32)
def _relation_words(kinds: tuple[RelationKind, ...]) -> RelationWords:
    return RelationWords(kinds)


def attributes_of(kb: KnowledgeBase, plan: Plan) -> Attributes:
    """The documents of each value of the dimensions that the plan goes over."""
    wanted = {hop.attribute for hop in plan.hops if hop.attribute}
    if not wanted:
        return {}
    scope = tuple(dict.fromkeys(one.collection for group in plan.starts for one in group))
    found: dict[str, dict[str, list[str]]] = {}
    limits = [Filters(collections=scope)]
    for (dimension, value), held in kb.catalogue.censuses.taxonomy(limits).items():
        if dimension in wanted:
            found.setdefault(dimension, {})[value] = held
    return found
