"""Follows relations between entities; words what they lead to, each answer with its way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

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
MOST_NODES = 5_000  # that one hop starts from
MOST_BETWEEN = 10
LOOKED_AT = 100  # ways between two entities, to choose the telling ones from
MOST_PATHS = 200  # kept with an answer; its rows hold every answer whatever their number
MOST_NAMED = 12  # of the answers in the sentence; the rows hold all
MOST_WAYS = 3  # told for one answer
FAR = "the shortest ways of at most four steps"
_BOTH_SIDES: tuple[Direction, ...] = ("out", "in")
_SIDE_WORDS = {"out": "from it", "in": "to it", "both": "both ways"}
_STATES = frozenset("part member component home".split())

Nodes = Sequence[Sequence[EntityNode]]  # for each name of the question what it may mean
Ways = Sequence[Path]  # to one answer, which stands at the end of each
Answers = Mapping[EntityKey, Ways]


def traverse(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The result of the query's walk or search for a path; None for names not in the graph."""
    asked = query.related
    starts = [nodes_of(scope, name) for name in asked.starts] if asked else []
    if asked is None or not any(starts):
        return None
    if query.form == "walk":
        return _walked(scope, query, asked, starts)
    return _connected(scope.kb.catalogue.graph, asked, starts) if all(starts) else None


# --- how two names are connected --------------------------------------------------------------


def _connected(graph: Graph, asked: Walk, starts: Nodes) -> AggregateResult:
    """Whether the relation that is asked for connects the names, else the shortest ways."""
    hop = asked.hops[0] if asked.hops else None
    direct = _direct(graph, hop, starts) if hop else []
    paths = direct or _between(graph, starts)
    ends = {_key(node) for path in paths for node in (path.start, path.steps[-1].node) if node}
    meant = [[node for node in group if _key(node) in ends] or group for group in starts]
    if hop:
        sentence = _existence_sentence(hop, meant, paths, direct=bool(direct))
        method = f"relation {_hop_words(asked.hops)}, else {FAR}"
    else:
        sentence = _connection_sentence(meant, paths)
        method = f"{FAR}, over any relation in either direction"
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
        subjects=tuple(node for group in meant for node in group),
        others=tuple(node for nodes in nodes_on for node in nodes),
    )


def _direct(graph: Graph, hop: Hop, starts: Nodes) -> list[Path]:
    """The first edge of the hop from the first name to the second, if there is one."""
    targets = {_key(node) for node in starts[1]}
    for start in starts[0]:
        for step in _steps(graph, start, hop):
            if step.node and _key(step.node) in targets:
                return [Path(start=start, steps=(step,))]
    return []


def _between(graph: Graph, starts: Nodes) -> list[Path]:
    """The shortest ways from each name to the next; those over hubs (an index page) last."""
    chosen: list[Path] = []
    for group, others in pairwise(starts):
        ways = [
            path
            for node in group
            for other in others
            if node.collection == other.collection and node.id != other.id
            for path in graph.paths(
                [node.collection], node.id, other.id, hops=MAX_HOPS, limit=LOOKED_AT
            )
        ]
        degrees = graph.degrees(list({path.start.collection for path in ways})) if ways else {}
        ways.sort(
            key=lambda path: (
                len(path.steps),
                sum(degrees.get(_key(step.node), 0) for step in path.steps[:-1] if step.node),
            )
        )
        chosen += [way for way in ways if len(way.steps) == len(ways[0].steps)][:MOST_BETWEEN]
    return chosen


def _existence_sentence(hop: Hop, meant: Nodes, paths: Sequence[Path], *, direct: bool) -> str:
    """Yes with the edge, or no with the nearest way."""
    first, second = map(_names, meant[:2])
    asked = hop.words or " or ".join(sense.type for sense in hop.senses) or "a relation"
    if direct:
        return f"Yes: {path_text(paths[0])}."
    no = f"No direct relation “{asked}” from {first} to {second} is in the knowledge graph"
    if paths:
        return f"{no}; the nearest way is {path_text(paths[0])}."
    return f"{no}, and no way of four steps or less connects them."


def _connection_sentence(meant: Nodes, paths: Sequence[Path]) -> str:
    """How far the names are apart, and the shortest way."""
    names = listing([_names(group) for group in meant])
    if not paths:
        return f"No way of four steps or less connects {names} in the knowledge graph."
    steps = len(paths[0].steps)
    far = "directly" if steps == 1 else f"in {steps} steps"
    more = f" ({len(paths) - 1} more of that length)" if paths[1:] else ""
    return f"{names} are connected {far}: {path_text(paths[0])}{more}."


# --- what the relations of a name lead to -----------------------------------------------------


def _walked(
    scope: Scope, query: CatalogueQuery, asked: Walk, starts: Nodes
) -> AggregateResult | None:
    """Everything that the hops lead to from the entities that each name may mean."""
    graph = scope.kb.catalogue.graph
    fronts = [[_follow(graph, node, asked.hops) for node in group] for group in starts]
    meant = [
        [node for node, (found, _) in zip(group, row, strict=True) if found] or group
        for group, row in zip(starts, fronts, strict=True)
    ]
    per_name = [_merged(found for found, _ in row) for row in fronts]
    answers = _merged(per_name)
    if asked.all_of:
        answers = {key: answers[key] for key in answers if all(key in own for own in per_name)}
    if asked.all_of or asked.hops[1:]:  # to come back to where it began says nothing
        named = {_key(node) for group in starts for node in group}
        answers = {key: ways for key, ways in answers.items() if key not in named}
    ordered = sorted(answers.values(), key=lambda w: (_end(w).node is None, _title(w).casefold()))
    reached, relaxed = _within_limits(scope, query, ordered)
    if not reached:
        return _nothing(asked, starts)
    subjects = tuple(node for group in meant for node in group)
    unknown = [_title(ways) for ways in reached if _end(ways).node is None]
    notes = (
        [f"named by a relation, but without an entry yet: {listing(unknown)}"] if unknown else []
    )
    notes += [_several_meanings(group) for group in meant if len(group) > 1]
    if any(cut for row in fronts for _, cut in row):
        notes.append("there was too much to follow all of it; the result is not complete")
    nodes = [_end(ways).node for ways in reached]
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=_hops_sentence(asked, meant, reached),
        number=len(reached),
        columns=("name", "how"),
        rows=tuple(
            Row(
                cells=(_title(ways), _how_text(ways)),
                document_ids=node.documents if node else _documents(_before_end(ways)),
            )
            for ways, node in zip(reached, nodes, strict=True)
        ),
        method=f"from {listing([node.title for node in subjects])} over {_hop_words(asked.hops)}",
        paths=(
            *(ways[0] for ways in reached),
            *(way for ways in reached for way in ways[1:]),
        )[:MOST_PATHS],
        notes=tuple(notes),
        subjects=subjects,
        others=tuple(filter(None, nodes)),
        relaxed=relaxed,
    )


def _nothing(asked: Walk, starts: Nodes) -> AggregateResult:
    """The result that says that the walk led nowhere."""
    subjects = tuple(node for group in starts for node in group)
    way = f"{listing([node.title for node in subjects])} over {_hop_words(asked.hops)}"
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
    """What stands at the end of the hops, and whether there was too much to follow all."""
    front: dict[EntityKey, list[Path]] = {_key(start): [Path(start=start, steps=())]}
    cut = False
    for hop in hops:
        here = [
            (ways[0], node)
            for ways in front.values()
            if (node := _end(ways).node if ways[0].steps else start)
        ]
        cut = cut or len(here) > MOST_NODES
        front = {}
        for way, node in here[:MOST_NODES]:
            for step in _steps(graph, node, hop):
                if hop.types and not (step.node and step.node.type in hop.types):
                    continue
                key = (start.collection, step.node.id if step.node else step.name)
                longer = Path(start=start, steps=(*way.steps, step))
                front.setdefault(key, []).append(longer)
    return front, cut


def _steps(graph: Graph, node: EntityNode, hop: Hop) -> list[Neighbour]:
    """The edges of an entity that a hop may take."""
    inside = [node.collection]
    if not hop.senses:
        return graph.neighbours(inside, node.id)
    return [
        step
        for sense in hop.senses
        for side in (_BOTH_SIDES if sense.side == "both" else (sense.side,))
        for step in graph.neighbours(inside, node.id, [sense.type], side)
    ]


def _merged(many: Iterable[Answers]) -> dict[EntityKey, Ways]:
    merged: dict[EntityKey, Ways] = {}
    for answers in many:
        for key, ways in answers.items():
            merged[key] = [*merged.get(key, ()), *ways]
    return merged


def _within_limits(
    scope: Scope, query: CatalogueQuery, reached: Sequence[Ways]
) -> tuple[list[Ways], tuple[Constraint, ...]]:
    """The answers that meet the limits, and the soft limits that none of them meets."""
    kept = _meeting(scope, reached, ()) if scope.limited else list(reached)
    relaxed: list[Constraint] = []
    for constraint in query.soft:
        fitting = _meeting(scope, kept, [constraint.filters])
        if fitting or not kept:
            kept = fitting
        else:
            relaxed.append(constraint)
    return kept, tuple(relaxed)


def _meeting(scope: Scope, reached: Sequence[Ways], more: Sequence[Filters]) -> list[Ways]:
    nodes = [_end(ways).node for ways in reached]
    ids = sorted({known for node in nodes if node for known in node.documents})
    limits = [*scope.only(ids).limits, *more]
    allowed = {entry.id for entry in scope.kb.catalogue.counts.entries(limits)}
    pairs = zip(reached, nodes, strict=True)
    return [ways for ways, node in pairs if node and allowed & set(node.documents)]


def _hops_sentence(asked: Walk, meant: Nodes, reached: Sequence[Ways]) -> str:
    """What was asked for and what it is, in one sentence."""
    names = [_names(group) for group in meant]
    answers, count = listing([_title(ways) for ways in reached]), _counted(reached)
    words = [f"“{hop.words}”" for hop in asked.hops if hop.words]
    over = f" over {', then '.join(words)}" if words else ""
    if asked.all_of:
        return f"{listing(names)} have {count} in common{over}: {answers}."
    if len(asked.hops) > 1:
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
    """The relation as a verb of a sentence, as far as its name lets one tell."""
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
    """``A, B and C``; of many the first ones and how many more."""
    shown = list(names[:MOST_NAMED])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _how_text(ways: Ways) -> str:
    """The ways to an answer, the first few in words."""
    texts = list(dict.fromkeys(map(path_text, ways)))
    more = f"; and {len(texts) - MOST_WAYS} more ways" if len(texts) > MOST_WAYS else ""
    return "; ".join(texts[:MOST_WAYS]) + more


def _counted(reached: Sequence[Ways]) -> str:
    nodes = [_end(ways).node for ways in reached]
    types = {node.type if node else "" for node in nodes}
    noun = (_plain(types.pop()) if len(types) == 1 else "") or "entity"
    return f"{len(reached):,} {noun if len(reached) == 1 else plural(noun)}"


def _hop_words(hops: Sequence[Hop]) -> str:
    """The relations that the hops follow, for the method of a result."""
    return " → ".join(
        ", ".join(f"{_plain(sense.type)} ({_SIDE_WORDS[sense.side]})" for sense in hop.senses)
        or "any relation"
        for hop in hops
    )


def _several_meanings(group: Sequence[EntityNode]) -> str:
    sorts = [f"a {node.type} ({node.id})" if node.type else node.id for node in group]
    return f"“{group[0].title}” is the name of {listing(sorts)}; all were followed"


def _names(group: Sequence[EntityNode]) -> str:
    return " / ".join(dict.fromkeys(node.title for node in group))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _key(node: EntityNode) -> EntityKey:
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
    return tuple(dict.fromkeys(known for node in nodes for known in node.documents))
