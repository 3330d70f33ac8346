"""The results of walks through the graph: every answer with its way, in words and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellread.ask.aggregate.graph import verbalize
from wellread.ask.aggregate.graph.walk import Attributes, Reached, Walked, connect, walk
from wellread.ask.aggregate.holding import nodes_of
from wellread.ask.aggregate.query import CatalogueQuery, Walk
from wellread.ask.aggregate.result import AggregateResult, Row
from wellread.ask.aggregate.scope import Scope
from wellread.questions import Constraint
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.relation_network import Path
from wellread.types import Filters

STRATEGY = "graph"
MOST_PATHS = 200  # kept with an answer; its rows hold every answer whatever their number

Nodes = Sequence[Sequence[EntityNode]]  # for each name what it may mean


def walked(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """What the walk or the path of the query leads to; None when a name is in no graph."""
    asked = query.related
    starts = [nodes_of(scope, name) for name in asked.starts] if asked else []
    if asked is None or not any(starts):
        return None
    if query.form == "path":
        return _connected(scope, asked, starts) if all(starts) else None
    made = walk(scope.kb.catalogue.graph, asked, starts, _attributes(scope, asked, starts))
    reached, relaxed = _within_limits(scope, query, made.reached)
    if not reached:
        return _nothing(asked, starts)
    return replace(_answers(asked, made, reached), relaxed=relaxed)


def _attributes(scope: Scope, asked: Walk, starts: Nodes) -> Attributes:
    """The documents of each value of the dimensions that the hops go over."""
    wanted = {hop.attribute for hop in asked.hops if hop.attribute}
    if not wanted:
        return {}
    inside = tuple(dict.fromkeys(node.collection for group in starts for node in group))
    found: dict[str, dict[str, list[str]]] = {}
    taxonomy = scope.kb.catalogue.censuses.taxonomy([Filters(collections=inside)])
    for (dimension, value), held in taxonomy.items():
        if dimension in wanted:
            found.setdefault(dimension, {})[value] = held
    return found


def _connected(scope: Scope, asked: Walk, starts: Nodes) -> AggregateResult:
    """Whether and how two entities are connected."""
    made = connect(scope.kb.catalogue.graph, asked, starts)
    far = "the shortest ways of at most four steps"
    if asked.hops:
        sentence = verbalize.existence_sentence(asked, made)
        method = f"relation {verbalize.hop_words(asked.hops)}, else {far}"
    else:
        sentence = verbalize.connection_sentence(made)
        method = f"{far}, over any relation in either direction"
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=sentence,
        columns=("ends", "how"),
        rows=tuple(
            Row(
                cells=(f"{path.start.title} – {path.steps[-1].name}", verbalize.path_text(path)),
                document_ids=tuple(
                    dict.fromkeys(known for node in _nodes_of(path) for known in node.documents)
                ),
            )
            for path in made.paths
        ),
        method=method,
        paths=made.paths,
        subjects=tuple(node for group in made.starts for node in group),
        others=tuple(node for path in made.paths for node in _nodes_of(path)),
    )


def _answers(asked: Walk, made: Walked, reached: Sequence[Reached]) -> AggregateResult:
    """Everything that the hops led to."""
    notes = []
    unknown = [one.name for one in reached if one.node is None]
    if unknown:
        notes.append(f"named by a relation, but without an entry yet: {verbalize.listing(unknown)}")
    notes += _several_meanings(made)
    if made.cut:
        notes.append("there was too much to follow all of it; the result is not complete")
    subjects = tuple(node for group in made.starts for node in group)
    paths = [path for one in reached for path in one.paths[:1]]
    paths += [path for one in reached for path in one.paths[1:]]
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=verbalize.hops_sentence(asked, made.starts, reached),
        number=len(reached),
        columns=("name", "how"),
        rows=tuple(
            Row(
                cells=(one.name, verbalize.how_text(one)),
                document_ids=one.node.documents if one.node else _tellers(one),
            )
            for one in reached
        ),
        method=f"from {verbalize.listing([node.title for node in subjects])} over "
        f"{verbalize.hop_words(asked.hops)}",
        paths=tuple(paths[:MOST_PATHS]),
        notes=tuple(notes),
        subjects=subjects,
        others=tuple(one.node for one in reached if one.node is not None),
    )


def _nothing(asked: Walk, starts: Nodes) -> AggregateResult:
    """That the hops lead to nothing."""
    subjects = tuple(node for group in starts for node in group)
    names = verbalize.listing([node.title for node in subjects])
    over = verbalize.hop_words(asked.hops)
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=f"The knowledge graph has nothing for {names} over {over}.",
        number=0,
        columns=("name", "how"),
        method=f"from {names} over {over}",
        absent=True,
        subjects=subjects,
    )


def _tellers(one: Reached) -> tuple[str, ...]:
    """The documents that name what is not there yet."""
    last = [path.steps[-2].node if path.steps[1:] else path.start for path in one.paths]
    return tuple(dict.fromkeys(known for node in last if node for known in node.documents))


def _several_meanings(walked: Walked) -> list[str]:
    return [
        f"“{group[0].title}” is the name of {verbalize.listing([_sort(node) for node in group])}; "
        "all were followed"
        for group in walked.starts
        if len(group) > 1
    ]


def _sort(node: EntityNode) -> str:
    return f"a {node.type} ({node.id})" if node.type else node.id


def _within_limits(
    scope: Scope, query: CatalogueQuery, reached: Sequence[Reached]
) -> tuple[list[Reached], tuple[Constraint, ...]]:
    """The answers that meet the limits, and the soft ones of them where any does."""
    kept = list(reached)
    if scope.limited:
        kept = _meeting(scope, kept, ())
    relaxed: list[Constraint] = []
    for constraint in query.soft:
        fitting = _meeting(scope, kept, [constraint.filters])
        if fitting or not kept:
            kept = fitting
        else:
            relaxed.append(constraint)
    return kept, tuple(relaxed)


def _meeting(scope: Scope, reached: Sequence[Reached], more: Sequence[Filters]) -> list[Reached]:
    allowed = {entry.id for entry in scope.kb.catalogue.censuses.entries([*scope.limits, *more])}
    return [one for one in reached if one.node and allowed & set(one.node.documents)]


def _nodes_of(path: Path) -> list[EntityNode]:
    return [path.start, *(step.node for step in path.steps if step.node is not None)]
