"""Counts the entities and relations of the graph."""

from __future__ import annotations

from wellread.ask.aggregate.count import Count, Result, entries_of, nodes_near
from wellread.ask.aggregate.rows import ENTITIES, entity_rows
from wellread.ask.retrieve.retrieval import Row


def count_entities(count: Count) -> Result:
    """Entities of a type or of all, within the limits, about the topic, related as asked."""
    graph = count.scope.kb.catalogue.graph
    nodes = graph.entities(count.scope.collections) if count.scope.collections else []
    if count.request.relation:
        near = {(node.collection, node.id) for node in nodes_near(count)}
        nodes = [node for node in nodes if (node.collection, node.id) in near]
    if count.noun.name:
        nodes = [node for node in nodes if node.type == count.noun.name]
    held = None
    if count.scope.limited or count.request.topic:
        entries, held = entries_of(count)
        inside = {entry.id for entry in entries}
        nodes = [node for node in nodes if inside.intersection(node.documents)]
    kind = f"entities of the type '{count.noun.name}'" if count.noun.name else "all entities"
    limits = ", ".join(count.conditions)
    return Result(
        columns=ENTITIES,
        rows=entity_rows(nodes),
        method=kind + (f" {limits}" if limits else "") + (f": {held.method}" if held else ""),
    )


def count_relations(count: Count) -> Result | None:
    """Relations of all entities by type, or those of one entity."""
    graph, request = count.scope.kb.catalogue.graph, count.request
    if count.scope.limited or request.relation or not count.scope.collections:
        return None
    if request.topic is None:
        edges: dict[str, int] = {}
        for edge in graph.edges(count.scope.collections):
            edges[edge.type] = edges.get(edge.type, 0) + 1
        rows = tuple(Row(cells=(kind, f"{number:,}")) for kind, number in sorted(edges.items()))
        return Result(
            columns=("Relation", "Number"),
            rows=rows,
            method="typed relations between entities, each counted once",
            number=sum(edges.values()),
        )
    near = [
        one
        for term in request.topic.terms
        for entity in term.entities
        for one in graph.neighbours([entity.collection], entity.entity_id)
    ]
    return Result(
        columns=("Name", "Relation"),
        rows=tuple(
            Row(cells=(one.name, one.relation), document_ids=one.node.documents if one.node else ())
            for one in near
        ),
        method="relations of the entity in either direction, also to what has no entry yet",
    )


def count_relation_types(count: Count) -> Result | None:
    """The types of relations."""
    if count.scope.limited or count.request.topic or not count.scope.collections:
        return None
    kinds = count.scope.kb.catalogue.graph.relation_kinds(count.scope.collections)
    return Result(
        columns=("Relation", "Inverse", "Number"),
        rows=tuple(Row(cells=(one.type, one.inverse, f"{one.edges:,}")) for one in kinds),
        method="relation types that are declared or in use",
    )
