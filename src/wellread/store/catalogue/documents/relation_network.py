"""The relations of one collection as an immutable graph in memory, with path search.

The graph is built from one snapshot of the catalogue. A relation's stored target is an id, a name,
an alias or an address; it is resolved to an entity here, when the graph is built. So a relation to
an entity that arrives later resolves without rewriting any row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from wellread.store.catalogue.documents.entity_nodes import EntityNode, NodeFinder
from wellread.text.tokens import strict_key

Direction = Literal["out", "in", "both"]
Side = Literal["out", "in"]
Step = tuple[str, Side, str]  # type, side and other end of an edge, seen from an entity
MAX_STEPS = 200_000  # steps of one path search, since hubs have too many neighbours to try all


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed, directed edge between entity ids; ``known``: both entities exist."""

    collection: str
    type: str
    source: str
    target: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A neighbour of an entity, with the relation as read from that entity."""

    relation: str
    direction: Side
    name: str
    node: EntityNode | None
    edge: Edge

    @property
    def known(self) -> bool:
        """Whether the neighbour is an existing entity."""
        return self.node is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A path through the graph; each step is read from the entity before it."""

    start: EntityNode
    steps: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKind:
    """A relation type with its inverse and the words for it."""

    type: str
    inverse: str
    words: tuple[str, ...]


def _declared(settings: Any) -> Iterator[tuple[str, Any]]:
    """The relation types declared in the collection's settings, then in its folders' settings."""
    if not isinstance(settings, Mapping):
        return
    folders = settings.get("folders")
    for level in (settings, *(folders.values() if isinstance(folders, Mapping) else ())):
        types = level.get("relations") if isinstance(level, Mapping) else None
        yield from types.items() if isinstance(types, Mapping) else ()


class RelationNames:
    """The relation types that a collection's settings declare; invalid declarations are ignored."""

    def __init__(self, settings: Any) -> None:
        self.words: dict[str, tuple[str, ...]] = {}
        self._inverse: dict[str, str] = {}
        self._primary: dict[str, tuple[str, bool]] = {}
        for name, declaration in _declared(settings):
            inverse = declaration.get("inverse") if isinstance(declaration, Mapping) else None
            if not isinstance(inverse, str) or not inverse or name in self._primary:
                continue
            words = declaration.get("words", ())
            self.words[name] = tuple(map(str, words)) if isinstance(words, list | tuple) else ()
            self._inverse[name] = inverse
            self._primary[name] = (name, False)
            self._primary.setdefault(inverse, (name, True))

    def primary(self, name: str) -> tuple[str, bool]:
        """The primary type of ``name``, and whether ``name`` is its inverse."""
        return self._primary.get(name, (name, False))

    def inverse(self, primary: str) -> str:
        """The name of the type's inverse; ``← type`` when none is declared."""
        return self._inverse.get(primary, f"← {primary}")

    def kind(self, primary: str) -> RelationKind:
        """The relation type with its declared inverse and words."""
        return RelationKind(
            type=primary, inverse=self.inverse(primary), words=self.words.get(primary, ())
        )

    def symmetric(self, primary: str) -> bool:
        """Whether the type reads the same from both sides."""
        return self._inverse.get(primary) == primary


class RelationRow(NamedTuple):  # a light type, as a collection may have hundreds of thousands
    """A stored relation; ``base`` is the uri of the document that states it."""

    source: str
    type: str
    target: str
    base: str


class Network:
    """The edges of a collection, between its entities and to names not yet resolved."""

    def __init__(
        self,
        collection: str,
        nodes: NodeFinder,
        relations: Iterable[RelationRow],
        names: RelationNames,
    ) -> None:
        self.collection = collection
        self.nodes = nodes
        self.names = names
        # (type, source, target) without duplicates, in the order in which documents state them.
        self._edges: dict[tuple[str, str, str], None] = {}
        self._out: dict[str, list[tuple[str, str]]] = {}
        self._in: dict[str, list[tuple[str, str]]] = {}
        self._add_relations(relations)

    def neighbours(
        self, entity_id: str, types: Sequence[str] | None, direction: Direction
    ) -> list[Neighbour]:
        """The neighbours of the entity, by relation and name; see ``Graph.neighbours``."""
        primary_types = None if types is None else dict(map(self.names.primary, types))
        neighbours = [
            self._neighbour(entity_id, name, side, other)
            for name, side, other in self._around(entity_id)
            if self._matches(name, side, primary_types, direction)
        ]
        return sorted(neighbours, key=lambda end: (end.direction == "in", end.relation, end.name))

    def edges(self) -> list[Edge]:
        """All edges."""
        return [self._edge(*key) for key in self._edges]

    def degree(self, entity_id: str) -> int:
        """The number of the entity's edges, in and out."""
        return len(self._out.get(entity_id, ())) + len(self._in.get(entity_id, ()))

    def paths(self, start: str, end: str, hops: int, limit: int) -> list[Path]:
        """Paths between two entities through existing ones, in either direction, shortest first."""
        if start not in self.nodes.by_id or end not in self.nodes.by_id or start == end:
            return []
        distances = self._distances(end, hops)
        paths: list[Path] = []
        budget = MAX_STEPS
        for length in range(distances.get(start, hops + 1), hops + 1):
            pending: list[tuple[Step, ...]] = [(("", "out", start),)]
            while pending and budget > 0 and len(paths) < limit:
                steps_so_far = pending.pop()
                node_id, remaining = steps_so_far[-1][2], length - len(steps_so_far) + 1
                if remaining == 0:
                    paths.append(self._path(steps_so_far))
                    continue
                visited = {entity_id for _, _, entity_id in steps_so_far}
                steps = [
                    step
                    for step in self._around(node_id)
                    if distances.get(step[2], hops) < remaining
                    and step[2] not in visited
                    and (step[2] == end) == (remaining == 1)
                ]
                budget -= len(steps) + 1
                pending += [(*steps_so_far, step) for step in reversed(steps)]
        return paths

    def _add_relations(self, relations: Iterable[RelationRow]) -> None:
        resolved: dict[str, str] = {}
        spellings: dict[str, str] = {}
        for row in relations:
            entity_id = resolved.get(row.target)
            if entity_id is None:
                entity_id = resolved[row.target] = self.nodes.id_of(row.target)
            # A relative address resolves against the document that states it.
            entity_id = entity_id or self.nodes.id_of_relative_address(row.target, row.base)
            target = entity_id or spellings.setdefault(strict_key(row.target), row.target)
            name, flipped = self.names.primary(row.type)
            if flipped:
                self._add(name, target, row.source)
            else:
                self._add(name, row.source, target)

    def _add(self, name: str, source: str, target: str) -> None:
        edge = (name, source, target)
        twice = self.names.symmetric(name) and (name, target, source) in self._edges
        if source == target or edge in self._edges or twice:
            return
        self._edges[edge] = None
        self._out.setdefault(source, []).append((name, target))
        self._in.setdefault(target, []).append((name, source))

    def _around(self, entity_id: str) -> Iterator[Step]:
        """The type, direction and other end of each edge of the entity."""
        for name, other in self._out.get(entity_id, ()):
            yield name, "out", other
        for name, other in self._in.get(entity_id, ()):
            yield name, "in", other

    def _matches(
        self, name: str, side: Side, types: Mapping[str, bool] | None, direction: Direction
    ) -> bool:
        """Whether an edge matches ``types`` (by type: whether its inverse was named)."""
        if types is not None and name not in types:
            return False
        is_inverse = types is not None and types[name]
        edge_direction: Direction = direction
        if is_inverse and direction != "both":
            edge_direction = "in" if direction == "out" else "out"
        return edge_direction in ("both", side) or self.names.symmetric(name)

    def _distances(self, end: str, hops: int) -> dict[str, int]:
        """The distance in edges of each entity within ``hops`` of ``end``."""
        distances = {end: 0}
        queue = deque([end])
        while queue:
            node_id = queue.popleft()
            if distances[node_id] == hops:
                break
            for _, _, other in self._around(node_id):
                if other not in distances and other in self.nodes.by_id:
                    distances[other] = distances[node_id] + 1
                    queue.append(other)
        return distances

    def _path(self, steps: Sequence[Step]) -> Path:
        node_ids = [entity_id for _, _, entity_id in steps]
        return Path(
            start=self.nodes.by_id[node_ids[0]],
            steps=tuple(
                self._neighbour(node_id, name, side, other)
                for node_id, (name, side, other) in zip(node_ids, steps[1:], strict=False)
            ),
        )

    def _neighbour(self, entity_id: str, name: str, side: Side, other: str) -> Neighbour:
        node = self.nodes.by_id.get(other)
        out = side == "out"
        ends = (entity_id, other) if out else (other, entity_id)
        return Neighbour(
            relation=name if out else self.names.inverse(name),
            direction=side,
            name=node.title if node else other,
            node=node,
            edge=self._edge(name, *ends),
        )

    def _edge(self, name: str, source: str, target: str) -> Edge:
        return Edge(
            collection=self.collection,
            type=name,
            source=source,
            target=target,
            known=source in self.nodes.by_id and target in self.nodes.by_id,
        )
