"""Follows relations between entities and puts the answers into words, each with its path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice, pairwise

from wellread.ask.aggregate.holding import nodes_of
from wellread.ask.aggregate.query import (
    AggregateResult,
    CatalogueQuery,
    EntityKey,
    Hop,
    Row,
    Scope,
    Walk,
)
from wellread.ask.aggregate.read_queries import related_both_ways
from wellread.store.catalogue.documents.entity_graph import MAX_HOPS, Graph
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.relation_network import Direction, Neighbour, Path
from wellread.text.english import PARTICIPLES, PREPOSITIONS
from wellread.text.tokens import plural
from wellread.types import Filters
from wellread.values.question import Constraint

STRATEGY = "graph"
MAX_NODES_PER_HOP = 5_000  # entities that one hop starts from
MAX_SHORTEST_PATHS = 10
MAX_PATHS_COMPARED = 100  # between two entities, to choose the most informative from
MAX_PATHS = 200  # stored with an answer; its rows list all answers in any case
MAX_NAMES = 12  # of answers in the sentence; the rows list all
MAX_WAYS_PER_ANSWER = 3  # in words, for one answer
SHORTEST_WAYS = "the shortest ways of at most four steps"
_BOTH_SIDES: tuple[Direction, ...] = ("out", "in")
_SIDE_WORDS = {"out": "from it", "in": "to it", "both": "both ways"}
_STATES = frozenset("part member component home".split())

Nodes = Sequence[Sequence[EntityNode]]  # for each name of the question, the entities it may mean
Ways = Sequence[Path]  # the paths that end at one answer
Answers = Mapping[EntityKey, Ways]


def traverse(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """Follow the query's hops, or find paths between its names; None for unknown names."""
    walk = query.related
    starts = [nodes_of(scope, name) for name in walk.starts] if walk else []
    if walk is None or not any(starts):
        return None
    if query.form == "walk":
        return _walk_result(scope, query, walk, starts)
    return _path_result(scope.kb.catalogue.graph, walk, starts) if all(starts) else None


# --- how two names are connected --------------------------------------------------------------


def _path_result(graph: Graph, walk: Walk, starts: Nodes) -> AggregateResult:
    """Whether the relation asked for connects the names; else the shortest paths."""
    hop = walk.hops[0] if walk.hops else None
    direct = _direct_relation(graph, hop, starts) if hop else []
    paths = direct or _shortest_paths(graph, starts)
    ends = {node_key(node) for path in paths for node in (path.start, path.steps[-1].node) if node}
    connected = [[node for node in group if node_key(node) in ends] or group for group in starts]
    if hop:
        sentence = _existence_sentence(hop, connected, paths, direct=bool(direct))
        method = f"relation {_hop_words(walk.hops)}, else {SHORTEST_WAYS}"
    else:
        sentence = _connection_sentence(connected, paths)
        method = f"{SHORTEST_WAYS}, over any relation in either direction"
    nodes_on = [[path.start, *(step.node for step in path.steps if step.node)] for path in paths]
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=sentence,
        columns=("ends", "how"),
        rows=tuple(
            Row(
                cells=(f"{path.start.title} – {path.steps[-1].name}", path_text(path)),
                document_ids=_documents(nodes),
            )
            for path, nodes in zip(paths, nodes_on, strict=True)
        ),
        method=method,
        paths=tuple(paths),
        subjects=tuple(node for group in connected for node in group),
        others=tuple(node for nodes in nodes_on for node in nodes),
    )


def _direct_relation(graph: Graph, hop: Hop, starts: Nodes) -> list[Path]:
    """The first edge from the first name to the second that the hop allows, if any."""
    targets = {node_key(node) for node in starts[1]}
    for start in starts[0]:
        for step in _steps(graph, start, hop):
            if step.node and node_key(step.node) in targets:
                return [Path(start=start, steps=(step,))]
    return []


def _shortest_paths(graph: Graph, starts: Nodes) -> list[Path]:
    """The shortest paths from each name to the next; those through hubs (an index page) last."""
    chosen: list[Path] = []
    for group, others in pairwise(starts):
        ways = [
            path
            for node in group
            for other in others
            if node.collection == other.collection and node.id != other.id
            for path in graph.paths(
                [node.collection], node.id, other.id, hops=MAX_HOPS, limit=MAX_PATHS_COMPARED
            )
        ]
        degrees = graph.degrees(list({path.start.collection for path in ways})) if ways else {}
        ways.sort(
            key=lambda path: (
                len(path.steps),
                sum(degrees.get(node_key(step.node), 0) for step in path.steps[:-1] if step.node),
            )
        )
        chosen += [way for way in ways if len(way.steps) == len(ways[0].steps)][:MAX_SHORTEST_PATHS]
    return chosen


def _existence_sentence(hop: Hop, connected: Nodes, paths: Sequence[Path], *, direct: bool) -> str:
    """Answer yes with the edge, or no with the shortest path."""
    first, second = map(_names, connected[:2])
    relation = hop.words or " or ".join(sense.type for sense in hop.senses) or "a relation"
    if direct:
        return f"Yes: {path_text(paths[0])}."
    no = f"No direct relation “{relation}” from {first} to {second} is in the knowledge graph"
    if paths:
        return f"{no}; the nearest way is {path_text(paths[0])}."
    return f"{no}, and no way of four steps or less connects them."


def _connection_sentence(connected: Nodes, paths: Sequence[Path]) -> str:
    """A sentence on how far apart the names are, with the shortest path."""
    names = listing([_names(group) for group in connected])
    if not paths:
        return f"No way of four steps or less connects {names} in the knowledge graph."
    steps = len(paths[0].steps)
    distance = "directly" if steps == 1 else f"in {steps} steps"
    more = f" ({len(paths) - 1} more of that length)" if paths[1:] else ""
    return f"{names} are connected {distance}: {path_text(paths[0])}{more}."


# --- what the relations of a name lead to -----------------------------------------------------


def _walk_result(
    scope: Scope, query: CatalogueQuery, walk: Walk, starts: Nodes
) -> AggregateResult | None:
    """Everything that the hops reach from the entities that each name may mean."""
    graph = scope.kb.catalogue.graph
    followed = [[_follow(graph, node, walk.hops) for node in group] for group in starts]
    # Namesakes from which the hops reach nothing are not meant, unless none reaches anything.
    meant_nodes = [
        [node for node, (ends, _) in zip(group, row, strict=True) if ends] or group
        for group, row in zip(starts, followed, strict=True)
    ]
    per_name = [_merged(ends for ends, _ in row) for row in followed]
    answers = _merged(per_name)
    if walk.all_of:
        answers = {key: answers[key] for key in answers if all(key in ends for ends in per_name)}
    if walk.all_of or walk.hops[1:]:  # a path back to its start is no answer
        start_keys = {node_key(node) for group in starts for node in group}
        answers = {key: ways for key, ways in answers.items() if key not in start_keys}
    ordered = sorted(answers.values(), key=lambda w: (_end(w).node is None, _title(w).casefold()))
    reached, relaxed = _within_limits(scope, query, ordered)
    if not reached:
        return _empty_result(walk, starts)
    subjects = tuple(node for group in meant_nodes for node in group)
    without_entry = [_title(ways) for ways in reached if _end(ways).node is None]
    notes = []
    if without_entry:
        notes.append(f"named by a relation, but without an entry yet: {listing(without_entry)}")
    notes += [_several_meanings(group) for group in meant_nodes if len(group) > 1]
    if any(cut for row in followed for _, cut in row):
        notes.append("there was too much to follow all of it; the result is not complete")
    nodes = [_end(ways).node for ways in reached]
    first_ways = [ways[0] for ways in reached]
    other_ways = [way for ways in reached for way in ways[1:]]
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=_hops_sentence(walk, meant_nodes, reached),
        number=len(reached),
        columns=("name", "how"),
        rows=tuple(
            Row(
                cells=(_title(ways), _how_text(ways)),
                document_ids=node.documents if node else _documents(_before_end(ways)),
            )
            for ways, node in zip(reached, nodes, strict=True)
        ),
        method=f"from {listing([node.title for node in subjects])} over {_hop_words(walk.hops)}",
        paths=tuple(islice(chain(first_ways, other_ways), MAX_PATHS)),
        notes=tuple(notes),
        subjects=subjects,
        others=tuple(filter(None, nodes)),
        relaxed=relaxed,
    )


def _empty_result(walk: Walk, starts: Nodes) -> AggregateResult:
    """The result for a walk that reaches nothing."""
    subjects = tuple(node for group in starts for node in group)
    way = f"{listing([node.title for node in subjects])} over {_hop_words(walk.hops)}"
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=f"The knowledge graph has nothing for {way}.",
        number=0,
        columns=("name", "how"),
        method=f"from {way}",
        absent=True,
        subjects=subjects,
    )


def _follow(graph: Graph, start: EntityNode, hops: Sequence[Hop]) -> tuple[Answers, bool]:
    """The answers at the end of the hops, and whether there were too many to follow all."""
    front: dict[EntityKey, list[Path]] = {node_key(start): [Path(start=start, steps=())]}
    cut = False
    for hop in hops:
        here = [
            (ways[0], node)
            for ways in front.values()
            if (node := _end(ways).node if ways[0].steps else start)
        ]
        cut = cut or len(here) > MAX_NODES_PER_HOP
        front = {}
        for way, node in here[:MAX_NODES_PER_HOP]:
            for step in _steps(graph, node, hop):
                if hop.types and not (step.node and step.node.type in hop.types):
                    continue
                key = (start.collection, step.node.id if step.node else step.name)
                longer = Path(start=start, steps=(*way.steps, step))
                front.setdefault(key, []).append(longer)
    return front, cut


def _steps(graph: Graph, node: EntityNode, hop: Hop) -> list[Neighbour]:
    """The edges of an entity that match a hop."""
    collections = [node.collection]
    if not hop.senses:
        return graph.neighbours(collections, node.id)
    return [
        step
        for sense in hop.senses
        for side in (_BOTH_SIDES if sense.side == "both" else (sense.side,))
        for step in graph.neighbours(collections, node.id, [sense.type], side)
    ]


def _merged(mappings: Iterable[Answers]) -> dict[EntityKey, Ways]:
    merged: dict[EntityKey, Ways] = {}
    for answers in mappings:
        for key, ways in answers.items():
            merged[key] = [*merged.get(key, ()), *ways]
    return merged


def _within_limits(
    scope: Scope, query: CatalogueQuery, reached: Sequence[Ways]
) -> tuple[list[Ways], tuple[Constraint, ...]]:
    """The answers that meet the limits, and the soft limits that no answer meets."""
    remaining = _filtered(scope, reached, ()) if scope.limited else list(reached)
    relaxed: list[Constraint] = []
    for constraint in query.soft:
        fitting = _filtered(scope, remaining, [constraint.filters])
        if fitting or not remaining:
            remaining = fitting
        else:
            relaxed.append(constraint)
    return remaining, tuple(relaxed)


def _filtered(scope: Scope, reached: Sequence[Ways], filters: Sequence[Filters]) -> list[Ways]:
    nodes = [_end(ways).node for ways in reached]
    ids = sorted({key for node in nodes if node for key in node.documents})
    limits = [*scope.only(ids).limits, *filters]
    allowed = {entry.id for entry in scope.kb.catalogue.listings.entries(limits)}
    pairs = zip(reached, nodes, strict=True)
    return [ways for ways, node in pairs if node and allowed & set(node.documents)]


def _hops_sentence(walk: Walk, start_groups: Nodes, reached: Sequence[Ways]) -> str:
    """One sentence with the relations that were followed and the answers."""
    names = [_names(group) for group in start_groups]
    answers, count = listing([_title(ways) for ways in reached]), _answer_count(reached)
    words = [f"“{hop.words}”" for hop in walk.hops if hop.words]
    over = f" over {', then '.join(words)}" if words else ""
    if walk.all_of:
        return f"{listing(names)} have {count} in common{over}: {answers}."
    if len(walk.hops) > 1:
        return f"{count[:1].upper()}{count[1:]} reached from {listing(names)}{over}: {answers}."
    step = reached[0][0].steps[-1]
    if len(names) > 1 or {way.steps[-1].relation for ways in reached for way in ways} != {
        step.relation
    }:
        return f"{listing(names)} is related to {count}: {answers}."
    if step.relation.startswith("← "):
        return f"What {_verb(_plain(step.edge.type))} {names[0]}: {answers}."
    return f"{names[0]} {_verb(_plain(step.relation))} {count}: {answers}."


def _verb(relation: str) -> str:
    """The name of a relation as a verb; one that is no verb is quoted."""
    first, *others = relation.split()
    if related_both_ways(relation):
        return "is related to"
    if first.endswith("ed") or first in PARTICIPLES or first in _STATES:
        return f"is {relation}"
    if first.endswith("s") and (not others or others[-1] in PREPOSITIONS | {"to", "of"}):
        return relation
    return f"has the relation “{relation}” to"


# --- words ------------------------------------------------------------------------------------


def path_text(path: Path) -> str:
    """The path on one line: ``X —uses→ Y ←part of— Z``."""
    return path.start.title + "".join(
        f" ←{_plain(step.edge.type)}— {step.name}"
        if step.relation.startswith("← ")
        else f" —{_plain(step.relation)}→ {step.name}"
        for step in path.steps
    )


def listing(names: Sequence[str]) -> str:
    """``A, B and C``; a long list is cut and ends in "and 7 more"."""
    shown = list(names[:MAX_NAMES])
    remaining = len(names) - len(shown)
    if remaining:
        return f"{', '.join(shown)} and {remaining:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _how_text(ways: Ways) -> str:
    """The first few paths to an answer in words."""
    texts = list(dict.fromkeys(map(path_text, ways)))
    more = (
        f"; and {len(texts) - MAX_WAYS_PER_ANSWER} more ways"
        if len(texts) > MAX_WAYS_PER_ANSWER
        else ""
    )
    return "; ".join(texts[:MAX_WAYS_PER_ANSWER]) + more


def _answer_count(reached: Sequence[Ways]) -> str:
    nodes = [_end(ways).node for ways in reached]
    types = {node.type if node else "" for node in nodes}
    noun = (_plain(types.pop()) if len(types) == 1 else "") or "entity"
    return f"{len(reached):,} {noun if len(reached) == 1 else plural(noun)}"


def _hop_words(hops: Sequence[Hop]) -> str:
    """The relations that the hops follow, as the method of a result describes them."""
    return " → ".join(
        ", ".join(f"{_plain(sense.type)} ({_SIDE_WORDS[sense.side]})" for sense in hop.senses)
        or "any relation"
        for hop in hops
    )


def _several_meanings(group: Sequence[EntityNode]) -> str:
    meanings = [f"a {node.type} ({node.id})" if node.type else node.id for node in group]
    return f"“{group[0].title}” is the name of {listing(meanings)}; all were followed"


def _names(group: Sequence[EntityNode]) -> str:
    return " / ".join(dict.fromkeys(node.title for node in group))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def node_key(node: EntityNode) -> EntityKey:
    """The key of an entity in the graph."""
    return (node.collection, node.id)


def _end(ways: Ways) -> Neighbour:
    return ways[0].steps[-1]


def _title(ways: Ways) -> str:
    return _end(ways).name


def _before_end(ways: Ways) -> list[EntityNode]:
    """The entities whose relation names an answer that has no entry yet."""
    last = [way.steps[-2].node if way.steps[1:] else way.start for way in ways]
    return [node for node in last if node]


def _documents(nodes: Iterable[EntityNode]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(document_id for node in nodes for document_id in node.documents))
