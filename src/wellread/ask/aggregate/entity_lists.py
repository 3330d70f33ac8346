"""Lists entities by relevance, in groups, each with a line of description.

A search in the entities' own texts ranks them. When only types and taxonomy values are requested,
every entity that has them is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellread.ask.aggregate.query import (
    DEFAULT_CERTAINTY,
    AggregateResult,
    CatalogueQuery,
    EntityKey,
    Row,
    Scope,
)
from wellread.ask.aggregate.walk_result import listing, node_key
from wellread.ask.retrieve.search import search_within
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.sentences import sentence_spans
from wellread.text.tokens import plural
from wellread.types import Filters, Hit
from wellread.values.question import Analysis, Constraint

STRATEGY = "entities by group"
MAX_PASSAGES = 40  # passages of entities that a search returns
MAX_RANKED = 25  # entities found by search; all that have the requested type or value are listed
MIN_SCORE_SHARE = 0.5  # an entity found by search needs this part of the best score
RANKED_CERTAINTY = 0.6  # that the entities ranked first are those that were asked for
MAX_LINE_CHARS = 160  # longer lines about an entity are cut

Pair = tuple[str, str]  # dimension and value


def entity_list(scope: Scope, query: CatalogueQuery, analysis: Analysis) -> AggregateResult | None:
    """Return the entities that fit the query, best first; None if there are none."""
    kb = scope.kb
    nodes, relaxed = _entities_within_limits(scope, query)
    if not nodes:
        return None
    entity_values = _entity_values(kb, nodes)
    values = [pair for filters in query.where for pair in filters.taxonomy]
    exhaustive = bool(values or query.of.names) and not query.about
    text = analysis.subject or analysis.question
    if query.about:
        text = query.about.names[0].phrase
    ranked, failures = _rank(kb, analysis, nodes, text)
    if exhaustive:
        listed = list({node_key(node): node for node in (*ranked, *nodes)}.values())
    else:
        best = max((hit.score for hit in ranked.values()), default=0.0)
        matches = [node for node, hit in ranked.items() if hit.score >= MIN_SCORE_SHARE * best]
        listed = matches[:MAX_RANKED]
    if not listed:
        return None
    hits = [ranked[node] for node in listed if node in ranked]
    grouped = _group(listed, entity_values, {dimension for dimension, _ in values})
    return replace(
        _result(kb, grouped, _method_text(query, values, exhaustive=exhaustive)),
        certainty=DEFAULT_CERTAINTY if exhaustive else RANKED_CERTAINTY,
        hits=tuple(hits[: kb.settings.retrieval.top_k]),
        relaxed=relaxed,
        failures=failures,
    )


def _entities_within_limits(
    scope: Scope, query: CatalogueQuery
) -> tuple[list[EntityNode], tuple[Constraint, ...]]:
    """Return the entities within the limits, and the soft limits ignored as they leave none."""
    types = query.of.names
    nodes = [node for node in scope.entities() if not types or node.type in types]
    soft = [constraint.filters for constraint in query.soft]
    for limits, relaxed in (([*scope.limits, *soft], ()), (scope.limits, query.soft)):
        filters = [*limits, Filters(kinds=("entity",))]
        document_ids = {entry.id for entry in scope.kb.catalogue.listings.entries(filters)}
        matching = [node for node in nodes if document_ids & set(node.documents)]
        if matching:
            return matching, relaxed
    return [], ()


def _entity_values(
    kb: KnowledgeBase, nodes: Sequence[EntityNode]
) -> Mapping[EntityKey, list[Pair]]:
    """The taxonomy values of each entity by (collection, entity id)."""
    scope = tuple(dict.fromkeys(node.collection for node in nodes))
    values_by_document: dict[str, list[Pair]] = {}
    if scope:
        for pair, ids in kb.catalogue.listings.taxonomy([Filters(collections=scope)]).items():
            for document_id in ids:
                values_by_document.setdefault(document_id, []).append(pair)
    return {
        node_key(node): [
            pair
            for document_id in node.documents
            for pair in values_by_document.get(document_id, ())
        ]
        for node in nodes
    }


def _rank(
    kb: KnowledgeBase, analysis: Analysis, nodes: Sequence[EntityNode], text: str
) -> tuple[dict[EntityNode, Hit], tuple[str, ...]]:
    """Rank entities by a search in their own texts; return each with its best hit, and failures."""
    by_document = {document_id: node for node in nodes for document_id in node.documents}
    within = replace(
        analysis,
        constraints=(),
        filters=replace(analysis.filters, kinds=("entity",), document_ids=tuple(by_document)),
    )
    search = search_within(kb, within, text, MAX_PASSAGES)
    best: dict[EntityNode, Hit] = {}
    for hit in search.hits:
        if node := by_document.get(hit.document.id):
            best.setdefault(node, hit)
    ranked = sorted(best, key=lambda node: (-best[node].score, node.title.casefold()))
    return {node: best[node] for node in ranked}, search.failures


def _group(
    listed: Sequence[EntityNode], entity_values: Mapping[EntityKey, list[Pair]], excluded: set[str]
) -> dict[str, list[EntityNode]]:
    """Group the entities by type if there are several, else by the most useful dimension."""
    groups: dict[str, list[EntityNode]] = {}
    types = {node.type for node in listed}
    if len(types) > 1:
        for node in listed:
            groups.setdefault(node.type or "without a type", []).append(node)
        return groups
    values_by_dimension: dict[str, set[str]] = {}
    for node in listed:
        for dimension, value in entity_values.get(node_key(node), ()):
            values_by_dimension.setdefault(dimension, set()).add(value)
    # Best are about as many groups as there are entities in each.
    candidates = [
        (abs(len(values) - len(listed) ** 0.5), dimension)
        for dimension, values in values_by_dimension.items()
        if dimension not in excluded and 1 < len(values) < max(3, len(listed))
    ]
    if not candidates:
        return {next(iter(types)) or "entities": list(listed)}
    chosen = min(candidates)[1]
    for node in listed:
        values = (value for name, value in entity_values.get(node_key(node), ()) if name == chosen)
        groups.setdefault(next(values, "other"), []).append(node)
    return groups


def _result(
    kb: KnowledgeBase, grouped: Mapping[str, Sequence[EntityNode]], method: str
) -> AggregateResult:
    listed = [(group, node) for group, members in grouped.items() for node in members]
    nodes = [node for _, node in listed]
    about = _first_sentences(kb, nodes)
    totals = kb.catalogue.graph.mention_totals(
        tuple(dict.fromkeys(node.collection for node in nodes))
    )
    rows = [
        Row(
            cells=(
                group,
                node.title,
                about.get(node.document_id, ""),
                str(total.documents) if (total := totals.get(node_key(node))) else "0",
            ),
            document_ids=node.documents,
        )
        for group, node in listed
    ]
    parts = listing([node.title for node in nodes])
    if len(grouped) > 1:
        parts = "; ".join(
            f"{group}: {listing([node.title for node in members])}"
            for group, members in grouped.items()
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


def _method_text(query: CatalogueQuery, values: Sequence[Pair], *, exhaustive: bool) -> str:
    limits = [f"of the type {' or '.join(sorted(query.of.names))}"] if query.of.names else []
    limits += [f"{dimension}: {value}" for dimension, value in values]
    description = f"entities {', '.join(limits)}" if limits else "entities"
    if exhaustive:
        return f"all {description}"
    return f"{description}, ranked by search in their own texts"


def _first_sentences(kb: KnowledgeBase, nodes: Sequence[EntityNode]) -> dict[str, str]:
    """Return the first sentence about each entity, by document id; headings are ignored."""
    sentences: dict[str, str] = {}
    for passage in kb.catalogue.passages_of([node.document_id for node in nodes]):
        if passage.document_id not in sentences:
            line = _first_sentence(passage.text)
            if line:
                sentences[passage.document_id] = line
    return sentences


def _first_sentence(text: str) -> str:
    for span in sentence_spans(text):
        line = " ".join(span.of(text).split())
        if line.startswith("#") or line[-1:] not in ".!?:;”\"')":
            continue
        if len(line) <= MAX_LINE_CHARS:
            return line
        return line[:MAX_LINE_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    return ""
