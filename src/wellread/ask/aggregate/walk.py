"""Walks the graph: every answer with the way that led to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from wellread.ask.aggregate.queries.query import EntityKey, Hop, Walk
from wellread.store.catalogue.graph.entity_graph import MOST_HOPS, Graph
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.store.catalogue.graph.relation_network import Direction, Edge, Neighbour, Path

MOST_NODES = 5_000  # that one hop starts from
MOST_PATHS = 10
LOOKED_AT = 100  # ways between two entities, to choose the telling ones from
_SIDES: tuple[Direction, ...] = ("out", "in")

Attributes = Mapping[str, Mapping[str, Sequence[str]]]  # dimension, value → document ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """An answer: an entity, or the name of one that is not there yet, and the ways to it."""

    collection: str
    name: str
    node: EntityNode | None
    paths: tuple[Path, ...]

    @property
    def key(self) -> EntityKey:
        """What tells it from others."""
        return (self.collection, self.node.id if self.node else self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """Where a plan led.

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


def walk(
    graph: Graph, asked: Walk, starts: Sequence[Sequence[EntityNode]], attributes: Attributes
) -> Walked:
    """Follow the hops from the entities that each name may mean.

    Args:
        attributes: the dimensions that the hops name, with the documents of each value.
    """
    fronts = [[_from(graph, node, asked.hops, attributes) for node in group] for group in starts]
    useful = tuple(
        tuple(node for node, front in zip(group, row, strict=True) if front.reached) or tuple(group)
        for group, row in zip(starts, fronts, strict=True)
    )
    per_name = [_union(front.reached for front in row) for row in fronts]
    named = {(node.collection, node.id) for group in starts for node in group}
    merged = _intersection(per_name) if asked.all_of else _union(per_name)
    again = len(asked.hops) > 1 or asked.all_of or any(hop.attribute for hop in asked.hops)
    found = [one for key, one in merged.items() if not (again and key in named)]
    return Walked(
        starts=useful,
        reached=tuple(sorted(found, key=lambda one: (one.node is None, one.name.casefold()))),
        cut=any(front.cut for row in fronts for front in row),
    )


def connect(graph: Graph, asked: Walk, starts: Sequence[Sequence[EntityNode]]) -> Walked:
    """The shortest ways between the names, or the relation that the one hop asks for."""
    for one in starts[0] if asked.hops else ():
        for step in _steps(graph, one, asked.hops[0]):
            if step.node is not None and any(_same(step.node, other) for other in starts[1]):
                path = Path(start=one, steps=(step,))
                return Walked(starts=_ends(starts, [path]), paths=(path,), direct=True)
    paths = _between(graph, starts)
    return Walked(starts=_ends(starts, paths), paths=paths)


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
                [one.collection], one.id, other.id, hops=MOST_HOPS, limit=LOOKED_AT
            )
        ]
        # Of equally short ways, one over a hub (an index page) says the least.
        degrees = graph.degrees(list({path.start.collection for path in ways})) if ways else {}
        ways.sort(key=lambda path: (len(path.steps), _degree(path, degrees)))
        found += [path for path in ways if len(path.steps) == len(ways[0].steps)][:MOST_PATHS]
    return tuple(found)


def _degree(path: Path, degrees: Mapping[EntityKey, int]) -> int:
    """How many edges the entities on the way have."""
    return sum(
        degrees.get((step.node.collection, step.node.id), 0)
        for step in path.steps[:-1]
        if step.node
    )


def _from(graph: Graph, start: EntityNode, hops: Sequence[Hop], attributes: Attributes) -> _Front:
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
            for steps in _ways(graph, one, hop, attributes):
                _add(front.reached, one, steps)
        front.reached = _fitting(front.reached, hop.types)
    return front


def _fitting(reached: dict[EntityKey, Reached], types: frozenset[str]) -> dict[EntityKey, Reached]:
    if not types:
        return reached
    return {key: one for key, one in reached.items() if one.node and one.node.type in types}


def _ways(
    graph: Graph, one: Reached, hop: Hop, attributes: Attributes
) -> Iterator[tuple[Neighbour, ...]]:
    if one.node is not None and hop.attribute:
        yield from _alike(graph, one.node, hop.attribute, attributes)
    elif one.node is not None:
        yield from ((step,) for step in _steps(graph, one.node, hop))


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


def _alike(
    graph: Graph, node: EntityNode, dimension: str, attributes: Attributes
) -> Iterator[tuple[Neighbour, ...]]:
    """To every entity that has a value of the dimension in common, over that value."""
    values = attributes.get(dimension, {})
    mine = [value for value, held in values.items() if set(held) & set(node.documents)]
    for value in mine:
        wanted = set(values[value])
        there = _value_step(node, dimension, value, out=True)
        for other in graph.entities([node.collection]):
            if other.id != node.id and wanted & set(other.documents):
                back = _value_step(other, dimension, value, out=False)
                yield (there, back)


def _value_step(node: EntityNode, dimension: str, value: str, *, out: bool) -> Neighbour:
    """A step to a value of the taxonomy, or back from it; the value is no entity."""
    edge = Edge(
        collection=node.collection,
        type=dimension,
        source=node.id,
        target=value,
        inverse=f"← {dimension}",
        known=False,
    )
    return Neighbour(
        relation=dimension if out else edge.inverse,
        direction="out" if out else "in",
        name=value if out else node.title,
        node=None if out else node,
        edge=edge,
    )


def _add(reached: dict[EntityKey, Reached], one: Reached, steps: tuple[Neighbour, ...]) -> None:
    end = steps[-1]
    collection = one.collection
    key = (collection, end.node.id if end.node else end.name)
    path = one.paths[0]
    way = Path(start=path.start, steps=(*path.steps, *steps))
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
