"""Lists entities by relevance, in groups, each with a line of description.

Three signals rank an entity: its own text matches the words, matching passages name it, and it has
the requested type or taxonomy values. When only types and values are requested, every entity that
has them is listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.ask.aggregate.query import (
    CATALOGUE_SURE,
    AggregateResult,
    CatalogueQuery,
    EntityKey,
    Row,
    Scope,
)
from wellread.ask.aggregate.walk_result import listing
from wellread.ask.retrieve.ranking import Found
from wellread.ask.retrieve.relax import search_within
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.names import plural
from wellread.text.sentences import sentence_spans
from wellread.types import Filters, Hit
from wellread.values.question import Analysis

STRATEGY = "entities by group"
DEEP = 40  # passages looked at, of entities and of everything
MOST_LISTED = 25  # when they are ranked; those with a type or value that is asked for are all
LEAST_FOUND = 0.5  # of the best score of an entity, for one that is only found by search
LEAST_NAMED = 0.5  # of what being named says for the one most named, for one that is only named
RANKED = 0.6  # how sure it is that what is ranked high by search is what was asked for
NAMED_WEIGHT = 0.5  # of being named by passages for the question, beside being found
ABOUT_LENGTH = 160  # characters of the line about an entity

Pair = tuple[str, str]  # dimension and value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """An entity with its ranking signals."""

    node: EntityNode
    score: float
    hit: Hit | None
    strong: bool = False


def entity_list(scope: Scope, query: CatalogueQuery, asked: Analysis) -> AggregateResult | None:
    """The entities that fit, best first; None where there are none."""
    kb = scope.kb
    nodes = _allowed(scope, query)
    if not nodes:
        return None
    assigned = _assigned(kb, nodes)
    values = [pair for filters in query.where for pair in filters.taxonomy]
    exhaustive = bool(values or query.of.names) and not query.about
    text = asked.subject or asked.question
    if query.about:
        text = query.about.names[0].phrase
    ranked, found, others = _ranked(kb, asked, nodes, text)
    if exhaustive:
        known = {_key(one.node) for one in ranked}
        unranked = [node for node in nodes if _key(node) not in known]
        listed = ranked + [_Candidate(node=node, score=0.0, hit=None) for node in unranked]
    else:
        listed = [one for one in ranked if one.strong][:MOST_LISTED]
    if not listed:
        return None
    most = kb.settings.retrieval.top_k
    hits = [one.hit for one in listed if one.hit is not None]
    grouped = _grouped(listed, assigned, {dimension for dimension, _ in values})
    return replace(
        _result(kb, grouped, _method(query, values, exhaustive=exhaustive)),
        certainty=CATALOGUE_SURE if exhaustive else RANKED,
        hits=(*hits, *others[: most // 3])[:most],
        relaxed=found.relaxed,
        failures=found.failures,
    )


def _allowed(scope: Scope, query: CatalogueQuery) -> list[EntityNode]:
    """The entities of the types within the limits.

    Soft limits that leave no entity are left out here; the search for passages tells about them.
    """
    types = query.of.names
    nodes = [node for node in scope.entities() if not types or node.type in types]
    soft = [constraint.filters for constraint in query.soft]
    for limits in ([*scope.limits, *soft], scope.limits):
        wanted = [*limits, Filters(kinds=("entity",))]
        known = {entry.id for entry in scope.kb.catalogue.counts.entries(wanted)}
        found = [node for node in nodes if known & set(node.documents)]
        if found:
            return found
    return []


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
) -> tuple[list[_Candidate], Found, list[Hit]]:
    """The entities that search finds, best first; a search; and passages that name them."""
    by_document = {known: node for node in nodes for known in node.documents}
    within = replace(
        analysis,
        constraints=(),
        filters=replace(analysis.filters, kinds=("entity",), document_ids=tuple(by_document)),
    )
    own = search_within(kb, within, text, DEEP)
    everywhere = search_within(kb, analysis, text, DEEP)
    best: dict[EntityKey, Hit] = {}
    for hit in own.hits:
        node = by_document.get(hit.document.id)
        if node is not None:
            best.setdefault(_key(node), hit)
    named = _naming_scores(kb, everywhere.hits)
    most_found = max((hit.score for hit in best.values()), default=0.0) or 1.0
    most_named = max(named.values(), default=0.0) or 1.0
    found = []
    for node in nodes:
        own_hit = best.get(_key(node))
        shares = (
            own_hit.score / most_found if own_hit else 0.0,
            named.get(_key(node), 0.0) / most_named,
        )
        if any(shares):
            strong = shares[0] >= LEAST_FOUND or shares[1] >= LEAST_NAMED
            score = shares[0] + NAMED_WEIGHT * shares[1]
            found.append(_Candidate(node=node, score=score, hit=own_hit, strong=strong))
    found.sort(key=lambda one: (-one.score, one.node.title.casefold()))
    naming = [hit for hit in everywhere.hits if hit.document.kind != "entity"]
    return found, everywhere, naming


def _naming_scores(kb: KnowledgeBase, hits: Iterable[Hit]) -> dict[EntityKey, float]:
    """How much the documents of the hits speak for each entity that they name.

    That is how many of them name it, times the share that they are of all documents that do: what
    is named everywhere says little.
    """
    documents: dict[str, dict[str, None]] = {}
    for hit in hits:
        if hit.document.kind != "entity":
            documents.setdefault(hit.document.collection, {})[hit.document.id] = None
    if not documents:
        return {}
    totals = kb.catalogue.graph.mention_totals(tuple(documents))
    return {
        (collection, known): count * count / totals[collection, known].documents
        for collection, ids in documents.items()
        for known, count in kb.catalogue.counts.named_in(collection, ids).items()
        if (collection, known) in totals
    }


def _key(node: EntityNode) -> EntityKey:
    return (node.collection, node.id)


def _grouped(
    listed: Sequence[_Candidate], assigned: Mapping[EntityKey, list[Pair]], asked: set[str]
) -> dict[str, list[_Candidate]]:
    """By type when there are several; else by the dimension that divides them best."""
    groups: dict[str, list[_Candidate]] = {}
    types = {one.node.type for one in listed}
    if len(types) > 1:
        for one in listed:
            groups.setdefault(one.node.type or "without a type", []).append(one)
        return groups
    of_dimension: dict[str, set[str]] = {}
    for one in listed:
        for dimension, value in assigned.get(_key(one.node), ()):
            of_dimension.setdefault(dimension, set()).add(value)
    useful = [
        (abs(len(values) - len(listed) ** 0.5), dimension)
        for dimension, values in of_dimension.items()
        if dimension not in asked and 1 < len(values) < max(3, len(listed))
    ]
    if not useful:
        return {next(iter(types)) or "entities": list(listed)}
    chosen = min(useful)[1]
    for one in listed:
        values = (value for name, value in assigned.get(_key(one.node), ()) if name == chosen)
        groups.setdefault(next(values, "other"), []).append(one)
    return groups


def _result(
    kb: KnowledgeBase, grouped: Mapping[str, Sequence[_Candidate]], method: str
) -> AggregateResult:
    """The list with a line about each entity, and how it was made."""
    listed = [(group, one.node) for group, those in grouped.items() for one in those]
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
            f"{group}: {listing([one.node.title for one in those])}"
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
    return f"{asked}, ranked by search in their own texts and by the passages that name them"


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
