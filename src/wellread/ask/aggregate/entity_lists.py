"""Lists entities by relevance, in groups, each with a line of description.

A search in the entities' own texts ranks them. When only types and taxonomy values are requested,
every entity that has them is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellread.ask.aggregate.query import (
    CATALOGUE_SURE,
    AggregateResult,
    CatalogueQuery,
    EntityKey,
    Row,
    Scope,
)
from wellread.ask.aggregate.walk_result import listing
from wellread.ask.retrieve.search import search_within
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import plural
from wellread.types import Filters, Hit
from wellread.values.question import Analysis, Constraint

STRATEGY = "entities by group"
DEEP = 40  # passages of entities that are looked at
MOST_LISTED = 25  # when they are ranked; those with a type or value that is asked for are all
LEAST_FOUND = 0.5  # of the best score, for an entity that is only found by search
RANKED = 0.6  # how sure it is that what is ranked high by search is what was asked for
ABOUT_LENGTH = 160  # characters of the line about an entity

Pair = tuple[str, str]  # dimension and value


def entity_list(scope: Scope, query: CatalogueQuery, asked: Analysis) -> AggregateResult | None:
    """The entities that fit, best first; None where there are none."""
    kb = scope.kb
    nodes, relaxed = _allowed(scope, query)
    if not nodes:
        return None
    assigned = _assigned(kb, nodes)
    values = [pair for filters in query.where for pair in filters.taxonomy]
    exhaustive = bool(values or query.of.names) and not query.about
    text = asked.subject or asked.question
    if query.about:
        text = query.about.names[0].phrase
    ranked, failures = _ranked(kb, asked, nodes, text)
    if exhaustive:
        listed = list({_key(node): node for node in (*ranked, *nodes)}.values())
    else:
        best = max((hit.score for hit in ranked.values()), default=0.0)
        near = [node for node, hit in ranked.items() if hit.score >= LEAST_FOUND * best]
        listed = near[:MOST_LISTED]
    if not listed:
        return None
    hits = [ranked[node] for node in listed if node in ranked]
    grouped = _grouped(listed, assigned, {dimension for dimension, _ in values})
    return replace(
        _result(kb, grouped, _method(query, values, exhaustive=exhaustive)),
        certainty=CATALOGUE_SURE if exhaustive else RANKED,
        hits=tuple(hits[: kb.settings.retrieval.top_k]),
        relaxed=relaxed,
        failures=failures,
    )


def _allowed(
    scope: Scope, query: CatalogueQuery
) -> tuple[list[EntityNode], tuple[Constraint, ...]]:
    """The entities of the types within the limits, and the soft limits that would leave none."""
    types = query.of.names
    nodes = [node for node in scope.entities() if not types or node.type in types]
    soft = [constraint.filters for constraint in query.soft]
    for limits, relaxed in (([*scope.limits, *soft], ()), (scope.limits, query.soft)):
        wanted = [*limits, Filters(kinds=("entity",))]
        known = {entry.id for entry in scope.kb.catalogue.counts.entries(wanted)}
        found = [node for node in nodes if known & set(node.documents)]
        if found:
            return found, relaxed
    return [], ()


def _assigned(kb: KnowledgeBase, nodes: Sequence[EntityNode]) -> Mapping[EntityKey, list[Pair]]:
    """(Collection, entity id) to its taxonomy values."""
    scope = tuple(dict.fromkeys(node.collection for node in nodes))
    of_document: dict[str, list[Pair]] = {}
    if scope:
        for pair, held in kb.catalogue.counts.taxonomy([Filters(collections=scope)]).items():
            for known in held:
                of_document.setdefault(known, []).append(pair)
    return {
        _key(node): [pair for known in node.documents for pair in of_document.get(known, ())]
        for node in nodes
    }


def _ranked(
    kb: KnowledgeBase, analysis: Analysis, nodes: Sequence[EntityNode], text: str
) -> tuple[dict[EntityNode, Hit], tuple[str, ...]]:
    """The entities that a search in their own texts finds, best first, each with its best hit.

    Also what failed in the search.
    """
    by_document = {known: node for node in nodes for known in node.documents}
    within = replace(
        analysis,
        constraints=(),
        filters=replace(analysis.filters, kinds=("entity",), document_ids=tuple(by_document)),
    )
    search = search_within(kb, within, text, DEEP)
    best: dict[EntityNode, Hit] = {}
    for hit in search.hits:
        if node := by_document.get(hit.document.id):
            best.setdefault(node, hit)
    ranked = sorted(best, key=lambda node: (-best[node].score, node.title.casefold()))
    return {node: best[node] for node in ranked}, search.failures


def _key(node: EntityNode) -> EntityKey:
    return (node.collection, node.id)


def _grouped(
    listed: Sequence[EntityNode], assigned: Mapping[EntityKey, list[Pair]], asked: set[str]
) -> dict[str, list[EntityNode]]:
    """By type when there are several; else by the dimension that divides them best."""
    groups: dict[str, list[EntityNode]] = {}
    types = {node.type for node in listed}
    if len(types) > 1:
        for node in listed:
            groups.setdefault(node.type or "without a type", []).append(node)
        return groups
    of_dimension: dict[str, set[str]] = {}
    for node in listed:
        for dimension, value in assigned.get(_key(node), ()):
            of_dimension.setdefault(dimension, set()).add(value)
    useful = [
        (abs(len(values) - len(listed) ** 0.5), dimension)
        for dimension, values in of_dimension.items()
        if dimension not in asked and 1 < len(values) < max(3, len(listed))
    ]
    if not useful:
        return {next(iter(types)) or "entities": list(listed)}
    chosen = min(useful)[1]
    for node in listed:
        values = (value for name, value in assigned.get(_key(node), ()) if name == chosen)
        groups.setdefault(next(values, "other"), []).append(node)
    return groups


def _result(
    kb: KnowledgeBase, grouped: Mapping[str, Sequence[EntityNode]], method: str
) -> AggregateResult:
    """The list with a line about each entity, and how it was made."""
    listed = [(group, node) for group, those in grouped.items() for node in those]
    nodes = [node for _, node in listed]
    about = _about(kb, nodes)
    totals = kb.catalogue.graph.mention_totals(
        tuple(dict.fromkeys(one.collection for one in nodes))
    )
    rows = [
        Row(
            cells=(
                group,
                node.title,
                about.get(node.document_id, ""),
                str(total.documents) if (total := totals.get(_key(node))) else "0",
            ),
            document_ids=node.documents,
        )
        for group, node in listed
    ]
    parts = listing([node.title for node in nodes])
    if len(grouped) > 1:
        parts = "; ".join(
            f"{group}: {listing([node.title for node in those])}"
            for group, those in grouped.items()
        )
    types = {node.type for node in nodes}
    noun = (types.pop() if len(types) == 1 else "") or "entity"
    noun = f"{noun} is" if len(nodes) == 1 else f"{plural(noun)} are"
    return AggregateResult(
        strategy=STRATEGY,
        kind="list",
        sentence=f"{len(nodes):,} {noun} relevant{' – ' if len(grouped) > 1 else ': '}{parts}.",
        number=len(nodes),
        columns=("group", "name", "about", "named in documents"),
        rows=tuple(rows),
        method=method,
    )


def _method(query: CatalogueQuery, values: Sequence[Pair], *, exhaustive: bool) -> str:
    limits = [f"of the type {' or '.join(sorted(query.of.names))}"] if query.of.names else []
    limits += [f"{dimension}: {value}" for dimension, value in values]
    asked = f"entities {', '.join(limits)}" if limits else "entities"
    if exhaustive:
        return f"all {asked}"
    return f"{asked}, ranked by search in their own texts"


def _about(kb: KnowledgeBase, nodes: Sequence[EntityNode]) -> dict[str, str]:
    """Map each document id to the first sentence about the entity, ignoring headings."""
    found: dict[str, str] = {}
    for passage in kb.catalogue.passages_of([node.document_id for node in nodes]):
        if passage.document_id not in found:
            line = _first_sentence(passage.text)
            if line:
                found[passage.document_id] = line
    return found


def _first_sentence(text: str) -> str:
    for span in sentence_spans(text):
        line = " ".join(span.of(text).split())
        if line.startswith("#") or line[-1:] not in ".!?:;”\"')":
            continue
        if len(line) <= ABOUT_LENGTH:
            return line
        return line[:ABOUT_LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    return ""
