"""Runs graph traversals and words their results: each answer with its path, in text and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from wellread.ask.aggregate.read.holding import nodes_of
from wellread.ask.aggregate.read.query import CatalogueQuery, EntityKey, Hop, Walk
from wellread.ask.aggregate.read.read_walks import related_both_ways
from wellread.ask.aggregate.read.result import AggregateResult, Row, Scope
from wellread.store.catalogue.documents.entity_graph import MAX_HOPS, Graph
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.relation_network import Direction, Neighbour, Path
from wellread.text.english import PARTICIPLES, PREPOSITIONS
from wellread.text.names import plural
from wellread.types import Filters
from wellread.values.question import Constraint

MOST_NODES = 5_000  # that one hop starts from
MOST_BETWEEN = 10
LOOKED_AT = 100  # ways between two entities, to choose the telling ones from
_SIDES: tuple[Direction, ...] = ("out", "in")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """An answer, as an entity or a name without an entry, with the paths to it."""

    collection: str
    name: str
    node: EntityNode | None
    paths: tuple[Path, ...]

    @property
    def key(self) -> EntityKey:
        """What tells it from others."""
        return (self.collection, self.node.id if self.node else self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalResult:
    """The answers and paths that a traversal found.

    Attributes:
        starts: for each name of the question the entities from which something was reached; all
            that the name may mean when nothing was.
        paths: the ways between the names, shortest first.
        direct: whether there is an edge as asked.
        cut: whether there was too much to walk to the end.
    """

    starts: tuple[tuple[EntityNode, ...], ...] = ()
    reached: tuple[Reached, ...] = ()
    paths: tuple[Path, ...] = ()
    direct: bool = False
    cut: bool = False


@dataclass(slots=True)
class _Front:
    """Where a walk stands: answers so far by their key."""

    reached: dict[EntityKey, Reached] = field(default_factory=dict)
    cut: bool = False


def walk(graph: Graph, asked: Walk, starts: Sequence[Sequence[EntityNode]]) -> TraversalResult:
    """Follow the hops from the entities that each name may mean."""
    fronts = [[_from(graph, node, asked.hops) for node in group] for group in starts]
    useful = tuple(
        tuple(node for node, front in zip(group, row, strict=True) if front.reached) or tuple(group)
        for group, row in zip(starts, fronts, strict=True)
    )
    per_name = [_union(front.reached for front in row) for row in fronts]
    named = {(node.collection, node.id) for group in starts for node in group}
    merged = _intersection(per_name) if asked.all_of else _union(per_name)
    again = len(asked.hops) > 1 or asked.all_of
    found = [one for key, one in merged.items() if not (again and key in named)]
    return TraversalResult(
        starts=useful,
        reached=tuple(sorted(found, key=lambda one: (one.node is None, one.name.casefold()))),
        cut=any(front.cut for row in fronts for front in row),
    )


def connect(graph: Graph, asked: Walk, starts: Sequence[Sequence[EntityNode]]) -> TraversalResult:
    """The shortest ways between the names, or the relation that the one hop asks for."""
    for one in starts[0] if asked.hops else ():
        for step in _steps(graph, one, asked.hops[0]):
            if step.node is not None and any(_same(step.node, other) for other in starts[1]):
                path = Path(start=one, steps=(step,))
                return TraversalResult(starts=_ends(starts, [path]), paths=(path,), direct=True)
    paths = _between(graph, starts)
    return TraversalResult(starts=_ends(starts, paths), paths=paths)


def _ends(
    starts: Sequence[Sequence[EntityNode]], paths: Sequence[Path]
) -> tuple[tuple[EntityNode, ...], ...]:
    """The meanings of each name that stand on the paths; all where none does."""
    on = {(path.start.collection, path.start.id) for path in paths}
    on |= {
        (step.node.collection, step.node.id)
        for path in paths
        for step in path.steps[-1:]
        if step.node
    }
    return tuple(
        tuple(node for node in group if (node.collection, node.id) in on) or tuple(group)
        for group in starts
    )


def _between(graph: Graph, starts: Sequence[Sequence[EntityNode]]) -> tuple[Path, ...]:
    """The shortest ways between the names: from each to the next."""
    found: list[Path] = []
    for group, others in pairwise(starts):
        ways = [
            path
            for one in group
            for other in others
            if one.collection == other.collection and one.id != other.id
            for path in graph.paths(
                [one.collection], one.id, other.id, hops=MAX_HOPS, limit=LOOKED_AT
            )
        ]
        # Of equally short ways, one over a hub (an index page) says the least.
        degrees = graph.degrees(list({path.start.collection for path in ways})) if ways else {}
        ways.sort(key=lambda path: (len(path.steps), _degree(path, degrees)))
        found += [path for path in ways if len(path.steps) == len(ways[0].steps)][:MOST_BETWEEN]
    return tuple(found)


def _degree(path: Path, degrees: Mapping[EntityKey, int]) -> int:
    """The number of edges of the entities on the path."""
    return sum(
        degrees.get((step.node.collection, step.node.id), 0)
        for step in path.steps[:-1]
        if step.node
    )


def _from(graph: Graph, start: EntityNode, hops: Sequence[Hop]) -> _Front:
    origin = Reached(
        collection=start.collection,
        name=start.title,
        node=start,
        paths=(Path(start=start, steps=()),),
    )
    front = _Front(reached={origin.key: origin})
    for hop in hops:
        here = [one for one in front.reached.values() if one.node is not None]
        front = _Front(cut=front.cut or len(here) > MOST_NODES)
        for one in here[:MOST_NODES]:
            for step in _steps(graph, one.node, hop) if one.node else ():
                _add(front.reached, one, step)
        front.reached = _fitting(front.reached, hop.types)
    return front


def _fitting(reached: dict[EntityKey, Reached], types: frozenset[str]) -> dict[EntityKey, Reached]:
    if not types:
        return reached
    return {key: one for key, one in reached.items() if one.node and one.node.type in types}


def _steps(graph: Graph, node: EntityNode, hop: Hop) -> list[Neighbour]:
    inside = [node.collection]
    if not hop.senses:
        return graph.neighbours(inside, node.id)
    return [
        step
        for sense in hop.senses
        for side in (_SIDES if sense.side == "both" else (sense.side,))
        for step in graph.neighbours(inside, node.id, [sense.type], side)
    ]


def _add(reached: dict[EntityKey, Reached], one: Reached, end: Neighbour) -> None:
    collection = one.collection
    key = (collection, end.node.id if end.node else end.name)
    path = one.paths[0]
    way = Path(start=path.start, steps=(*path.steps, end))
    before = reached.get(key)
    paths = (*before.paths, way) if before else (way,)
    reached[key] = Reached(collection=collection, name=end.name, node=end.node, paths=paths)


def _union(many: Iterable[Mapping[EntityKey, Reached]]) -> dict[EntityKey, Reached]:
    found: dict[EntityKey, Reached] = {}
    for reached in many:
        for key, one in reached.items():
            found[key] = _both(found[key], one) if key in found else one
    return found


def _intersection(many: Sequence[Mapping[EntityKey, Reached]]) -> dict[EntityKey, Reached]:
    found = _union(many)
    return {key: one for key, one in found.items() if all(key in reached for reached in many)}


def _both(one: Reached, other: Reached) -> Reached:
    return Reached(
        collection=one.collection,
        name=one.name,
        node=one.node,
        paths=(*one.paths, *other.paths),
    )


def _same(one: EntityNode, other: EntityNode) -> bool:
    return (one.collection, one.id) == (other.collection, other.id)


MOST_NAMED = 12  # of the answers in the sentence; the rows hold all
MOST_WAYS = 3  # told for one answer
_STATES = frozenset("part member component home".split())


def path_text(path: Path) -> str:
    """The path on one line: ``X —uses→ Y ←part of— Z``."""
    return path.start.title + "".join(f" {_arrow(step)} {step.name}" for step in path.steps)


def _arrow(step: Neighbour) -> str:
    if step.relation.startswith("← "):
        return f"←{_plain(step.edge.type)}—"
    return f"—{_plain(step.relation)}→"


def how_text(one: Reached) -> str:
    """The ways to an answer, the first few in words."""
    ways = list(dict.fromkeys(map(path_text, one.paths)))
    more = f"; and {len(ways) - MOST_WAYS} more ways" if len(ways) > MOST_WAYS else ""
    return "; ".join(ways[:MOST_WAYS]) + more


def hops_sentence(
    asked: Walk, starts: Sequence[Sequence[EntityNode]], reached: Sequence[Reached]
) -> str:
    """What was asked for and what it is, in one sentence."""
    names = [_names(group) for group in starts]
    found = listing([one.name for one in reached])
    count = _counted(reached)
    if asked.all_of:
        return f"{listing(names)} have {count} in common{_over(asked)}: {found}."
    if len(asked.hops) == 1 and reached:
        step = reached[0].paths[0].steps[-1]
        relations = {one.relation for r in reached for p in r.paths for one in p.steps}
        if len(relations) == 1 and len(names) == 1:
            return _one_relation(names[0], step, count, found)
        return f"{listing(names)} is related to {count}: {found}."
    return f"{count[:1].upper()}{count[1:]} reached from {listing(names)}{_over(asked)}: {found}."


def _one_relation(subject: str, step: Neighbour, count: str, found: str) -> str:
    if step.relation.startswith("← "):
        verb = _verb(_plain(step.edge.type))
        return f"What {verb} {subject}: {found}."
    return f"{subject} {_verb(_plain(step.relation))} {count}: {found}."


def _verb(relation: str) -> str:
    """The relation as a verb of a sentence, as far as its name lets one tell."""
    words = relation.split()
    if related_both_ways(relation):
        return "is related to"
    if words[0].endswith("ed") or words[0] in PARTICIPLES or words[0] in _STATES:
        return f"is {relation}"
    if words[0].endswith("s") and (len(words) == 1 or words[-1] in PREPOSITIONS | {"to", "of"}):
        return relation
    return f"has the relation “{relation}” to"


def _over(asked: Walk) -> str:
    """Which words of the question led there, in the order of the walk."""
    said = [f"“{hop.words}”" for hop in asked.hops if hop.words]
    return f" over {', then '.join(said)}" if said else ""


def existence_sentence(asked: Walk, traversal: TraversalResult) -> str:
    """Yes with the edge, or no with the nearest way."""
    one, other = (_names(group) for group in traversal.starts[:2])
    hop = asked.hops[0]
    said = hop.words or " or ".join(sense.type for sense in hop.senses) or "a relation"
    if traversal.direct:
        return f"Yes: {path_text(traversal.paths[0])}."
    no = f"No direct relation “{said}” from {one} to {other} is in the knowledge graph"
    if traversal.paths:
        return f"{no}; the nearest way is {path_text(traversal.paths[0])}."
    return f"{no}, and no way of four steps or less connects them."


def connection_sentence(traversal: TraversalResult) -> str:
    """The distance between the names and the shortest path."""
    names = listing([_names(group) for group in traversal.starts])
    if not traversal.paths:
        return f"No way of four steps or less connects {names} in the knowledge graph."
    steps = len(traversal.paths[0].steps)
    far = "directly" if steps == 1 else f"in {steps} steps"
    others = len(traversal.paths) - 1
    more = f" ({others} more of that length)" if others else ""
    return f"{names} are connected {far}: {path_text(traversal.paths[0])}{more}."


def listing(names: Sequence[str]) -> str:
    """``A, B and C``; of many the first ones and how many more."""
    shown = list(names[:MOST_NAMED])
    left = len(names) - len(shown)
    if left:
        return f"{', '.join(shown)} and {left:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _counted(reached: Sequence[Reached]) -> str:
    types = {one.node.type for one in reached if one.node}
    noun = types.pop() if len(types) == 1 and all(one.node for one in reached) else ""
    noun = _plain(noun) or "entity"
    return f"{len(reached):,} {noun if len(reached) == 1 else plural(noun)}"


def _names(group: Sequence[EntityNode]) -> str:
    return " / ".join(dict.fromkeys(node.title for node in group))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def hop_words(hops: Sequence[Hop]) -> str:
    """The relations that the hops follow, for the method of a result."""
    said = [
        ", ".join(f"{_plain(sense.type)} ({_SIDE_WORDS[sense.side]})" for sense in hop.senses)
        or "any relation"
        for hop in hops
    ]
    return " → ".join(said)


_SIDE_WORDS = {"out": "from it", "in": "to it", "both": "both ways"}


STRATEGY = "graph"
MOST_PATHS = 200  # kept with an answer; its rows hold every answer whatever their number

Nodes = Sequence[Sequence[EntityNode]]  # for each name what it may mean


def traverse(scope: Scope, query: CatalogueQuery) -> AggregateResult | None:
    """The result of the query's traversal or path search; None for names not in the graph."""
    asked = query.related
    starts = [nodes_of(scope, name) for name in asked.starts] if asked else []
    if asked is None or not any(starts):
        return None
    if query.form == "path":
        return _connected(scope, asked, starts) if all(starts) else None
    made = walk(scope.kb.catalogue.graph, asked, starts)
    reached, relaxed = _within_limits(scope, query, made.reached)
    if not reached:
        return _nothing(asked, starts)
    return replace(_answers(asked, made, reached), relaxed=relaxed)


def _connected(scope: Scope, asked: Walk, starts: Nodes) -> AggregateResult:
    """The result that says whether and how two entities are connected."""
    made = connect(scope.kb.catalogue.graph, asked, starts)
    far = "the shortest ways of at most four steps"
    if asked.hops:
        sentence = existence_sentence(asked, made)
        method = f"relation {hop_words(asked.hops)}, else {far}"
    else:
        sentence = connection_sentence(made)
        method = f"{far}, over any relation in either direction"
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=sentence,
        columns=("ends", "how"),
        rows=tuple(
            Row(
                cells=(f"{path.start.title} – {path.steps[-1].name}", path_text(path)),
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


def _answers(asked: Walk, made: TraversalResult, reached: Sequence[Reached]) -> AggregateResult:
    """The result with everything that the traversal reached."""
    notes = []
    unknown = [one.name for one in reached if one.node is None]
    if unknown:
        notes.append(f"named by a relation, but without an entry yet: {listing(unknown)}")
    notes += _several_meanings(made)
    if made.cut:
        notes.append("there was too much to follow all of it; the result is not complete")
    subjects = tuple(node for group in made.starts for node in group)
    paths = [path for one in reached for path in one.paths[:1]]
    paths += [path for one in reached for path in one.paths[1:]]
    return AggregateResult(
        strategy=STRATEGY,
        kind="relation",
        sentence=hops_sentence(asked, made.starts, reached),
        number=len(reached),
        columns=("name", "how"),
        rows=tuple(
            Row(
                cells=(one.name, how_text(one)),
                document_ids=one.node.documents if one.node else _tellers(one),
            )
            for one in reached
        ),
        method=f"from {listing([node.title for node in subjects])} over {hop_words(asked.hops)}",
        paths=tuple(paths[:MOST_PATHS]),
        notes=tuple(notes),
        subjects=subjects,
        others=tuple(one.node for one in reached if one.node is not None),
    )


def _nothing(asked: Walk, starts: Nodes) -> AggregateResult:
    """The result that reports that the traversal reached nothing."""
    subjects = tuple(node for group in starts for node in group)
    names = listing([node.title for node in subjects])
    over = hop_words(asked.hops)
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


def _several_meanings(traversal: TraversalResult) -> list[str]:
    return [
        f"“{group[0].title}” is the name of {listing([_sort(node) for node in group])}; "
        "all were followed"
        for group in traversal.starts
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
    ids = sorted({known for one in reached if one.node for known in one.node.documents})
    limits = [*scope.only(ids).limits, *more]
    allowed = {entry.id for entry in scope.kb.catalogue.counts.entries(limits)}
    return [one for one in reached if one.node and allowed & set(one.node.documents)]


def _nodes_of(path: Path) -> list[EntityNode]:
    return [path.start, *(step.node for step in path.steps if step.node is not None)]
