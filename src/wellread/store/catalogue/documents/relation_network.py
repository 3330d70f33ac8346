"""The edges of one collection in memory, and the ways along them.

It is made from one snapshot of the catalogue and never changes. What a relation points to is an
id, a name, an alias or an address; it becomes an entity here, when the network is made, so an edge
to an entity that comes later is whole as soon as that is there, and nothing has to be rewritten.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from wellread.store.catalogue.documents.entity_nodes import EntityNode, Nodes
from wellread.text.names import key_of

Direction = Literal["out", "in", "both"]
Side = Literal["out", "in"]
Step = tuple[str, Side, str]  # type, side and other end of an edge, seen from an entity
MOST_STEPS = 200_000  # of a search for paths; a hub's neighbourhood is not walked to its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed, directed edge. ``source`` and ``target`` are entity ids."""

    collection: str
    type: str
    source: str
    target: str
    inverse: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What an entity is related to, read from that entity."""

    relation: str
    direction: Side
    name: str
    node: EntityNode | None
    edge: Edge

    @property
    def known(self) -> bool:
        """Whether the neighbour is there."""
        return self.node is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A way through the graph; each step is read from the entity before it."""

    start: EntityNode
    steps: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKind:
    """A relation type with its inverse, the words people use for it, and how many edges it has."""

    type: str
    inverse: str
    words: tuple[str, ...]
    edges: int


def _declared(settings: Any) -> Iterator[tuple[str, Any]]:
    """The types that the collection's settings declare, then those of its folders."""
    if not isinstance(settings, Mapping):
        return
    folders = settings.get("folders")
    for one in (settings, *(folders.values() if isinstance(folders, Mapping) else ())):
        types = one.get("relations") if isinstance(one, Mapping) else None
        yield from types.items() if isinstance(types, Mapping) else ()


class RelationNames:
    """The relation types that a collection's settings declare. Anything odd in them is ignored."""

    def __init__(self, settings: Any) -> None:
        self.words: dict[str, tuple[str, ...]] = {}
        self._inverse: dict[str, str] = {}
        self._primary: dict[str, tuple[str, bool]] = {}
        for name, said in _declared(settings):
            inverse = said.get("inverse") if isinstance(said, Mapping) else None
            if not isinstance(inverse, str) or not inverse or name in self._primary:
                continue
            words = said.get("words", ())
            self.words[name] = tuple(map(str, words)) if isinstance(words, list | tuple) else ()
            self._inverse[name] = inverse
            self._primary[name] = (name, False)
            self._primary.setdefault(inverse, (name, True))

    def primary(self, name: str) -> tuple[str, bool]:
        """The type that ``name`` stands for, and whether it is its inverse."""
        return self._primary.get(name, (name, False))

    def inverse(self, primary: str) -> str:
        """What the type is called from the other side; ``← type`` when nothing was declared."""
        return self._inverse.get(primary, f"← {primary}")

    def kind(self, primary: str, edges: int = 0) -> RelationKind:
        """The type with what is declared of it."""
        return RelationKind(
            type=primary,
            inverse=self.inverse(primary),
            words=self.words.get(primary, ()),
            edges=edges,
        )

    def symmetric(self, primary: str) -> bool:
        """Whether the type reads the same from both sides."""
        return self._inverse.get(primary) == primary


class RelationRow(NamedTuple):  # a collection may have hundreds of thousands
    """A relation as it is stored; ``base`` is the uri of the document that says it."""

    source: str
    type: str
    target: str
    base: str


class Network:
    """The edges of a collection, between its entities and to names that are not there yet."""

    def __init__(
        self, collection: str, nodes: Nodes, relations: Iterable[RelationRow], names: RelationNames
    ) -> None:
        self.collection = collection
        self.nodes = nodes
        self.names = names
        # (type, source, target), each once, in the order in which documents say them.
        self._edges: dict[tuple[str, str, str], None] = {}
        self._out: dict[str, list[tuple[str, str]]] = {}
        self._in: dict[str, list[tuple[str, str]]] = {}
        self._take(relations)

    def neighbours(
        self, entity_id: str, types: Sequence[str] | None, direction: Direction
    ) -> list[Neighbour]:
        """What the entity is related to, by relation and name; see ``Graph.neighbours``."""
        wanted = None if types is None else dict(map(self.names.primary, types))
        found = [
            self._neighbour(entity_id, name, side, other)
            for name, side, other in self._around(entity_id)
            if self._asked_for(name, side, wanted, direction)
        ]
        return sorted(found, key=lambda one: (one.direction == "in", one.relation, one.name))

    def edges(self, types: Sequence[str] | None) -> list[Edge]:
        """Every edge, or those of some types (the name of an inverse does as well)."""
        wanted = None if types is None else {self.names.primary(name)[0] for name in types}
        return [self._edge(*key) for key in self._edges if wanted is None or key[0] in wanted]

    def degree(self, entity_id: str) -> int:
        """How many edges the entity has, in and out."""
        return len(self._out.get(entity_id, ())) + len(self._in.get(entity_id, ()))

    def kinds(self) -> list[RelationKind]:
        """The declared relation types and those in use."""
        counts = Counter(dict.fromkeys(self.names.words, 0))
        counts.update(name for name, _, _ in self._edges)
        return [self.names.kind(name, count) for name, count in counts.items()]

    def paths(self, start: str, end: str, hops: int, limit: int) -> list[Path]:
        """Ways between two entities along known ones, in either direction, shortest first."""
        if start not in self.nodes.by_id or end not in self.nodes.by_id or start == end:
            return []
        left = self._distances(end, hops)
        found: list[Path] = []
        budget = MOST_STEPS
        for length in range(left.get(start, hops + 1), hops + 1):
            waiting: list[tuple[Step, ...]] = [(("", "out", start),)]
            while waiting and budget > 0 and len(found) < limit:
                way = waiting.pop()
                here, rest = way[-1][2], length - len(way) + 1
                if rest == 0:
                    found.append(self._path(way))
                    continue
                seen = {place for _, _, place in way}
                steps = [
                    step
                    for step in self._around(here)
                    if left.get(step[2], hops) < rest
                    and step[2] not in seen
                    and (step[2] == end) == (rest == 1)
                ]
                budget -= len(steps) + 1
                waiting += [(*way, step) for step in reversed(steps)]
        return found

    def _take(self, relations: Iterable[RelationRow]) -> None:
        found: dict[str, str] = {}
        spelled: dict[str, str] = {}
        for row in relations:
            known = found.get(row.target)
            if known is None:
                known = found[row.target] = self.nodes.called(row.target)
            # What a relative address leads to depends on the document that says it.
            known = known or self.nodes.beside(row.target, row.base)
            target = known or spelled.setdefault(key_of(row.target), row.target)
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
        """Type, direction and other end of each edge of the entity."""
        for name, other in self._out.get(entity_id, ()):
            yield name, "out", other
        for name, other in self._in.get(entity_id, ()):
            yield name, "in", other

    def _asked_for(
        self, name: str, side: Side, wanted: Mapping[str, bool] | None, direction: Direction
    ) -> bool:
        """``wanted``: types, and whether they were asked for by the name of their inverse."""
        if wanted is not None and name not in wanted:
            return False
        flipped = wanted is not None and wanted[name]
        facing = direction if not flipped or direction == "both" else _flip(direction)
        return facing in ("both", side) or self.names.symmetric(name)

    def _distances(self, end: str, hops: int) -> dict[str, int]:
        """How many edges each entity within ``hops`` is away."""
        left = {end: 0}
        waiting = deque([end])
        while waiting:
            here = waiting.popleft()
            if left[here] == hops:
                break
            for _, _, other in self._around(here):
                if other not in left and other in self.nodes.by_id:
                    left[other] = left[here] + 1
                    waiting.append(other)
        return left

    def _path(self, way: Sequence[Step]) -> Path:
        places = [place for _, _, place in way]
        return Path(
            start=self.nodes.by_id[places[0]],
            steps=tuple(
                self._neighbour(here, name, side, other)
                for here, (name, side, other) in zip(places, way[1:], strict=False)
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
            inverse=self.names.inverse(name),
            known=source in self.nodes.by_id and target in self.nodes.by_id,
        )


def _flip(side: Side) -> Side:
    return "in" if side == "out" else "out"
