"""What is around an entity: the nearest nodes with the edges between them, and their drawing."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from wellread.kb import KnowledgeBase
from wellread.serve.views import Shape
from wellread.store.catalogue.documents.relation_network import Edge, Neighbour

NODE_WIDTH, NODE_HEIGHT = 116.0, 38.0
GAP_ACROSS, GAP_DOWN = 12.0, 16.0  # between two nodes at least
RING_ACROSS, RING_DOWN = 150.0, 76.0  # from ring to ring
STEPS = 180  # places of a ring that are tried
EDGE = 8.0  # around the drawing
LINE_UNITS = 15.5  # letters of usual width that fit into a line of a node
LINES = 2
NARROW = frozenset("fijlrt.,:;|!'()[]I ")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The middle of every node, in a drawing of this size; the first ring is nearest."""

    width: float
    height: float
    places: Mapping[str, Point]


def rings(
    centre: str, groups: Sequence[Sequence[str]], wanted: Mapping[str, float] | None = None
) -> Layout:
    """``centre`` in the middle; the groups around it in their order, each from a ring of its own.

    Args:
        wanted: the angle, clockwise from the top, near which a node is to stand; the others go
            around their ring clockwise.
    """
    places: dict[str, Point] = {centre: (0.0, 0.0)}
    ring = 0
    for group in groups:
        waiting = [name for name in dict.fromkeys(group) if name not in places]
        while waiting:
            ring += 1
            room = min(len(waiting), _room(ring, list(places.values())))
            left: list[str] = []
            for number, name in enumerate(waiting):
                turn = (wanted or {}).get(name, math.tau * number / room)
                place = _nearest(ring, turn, list(places.values())) if number < room else None
                if place is None:
                    left.append(name)
                else:
                    places[name] = place
            waiting = left
    left_end = min(x for x, _ in places.values()) - NODE_WIDTH / 2 - EDGE
    top = min(y for _, y in places.values()) - NODE_HEIGHT / 2 - EDGE
    right = max(x for x, _ in places.values()) + NODE_WIDTH / 2 + EDGE
    bottom = max(y for _, y in places.values()) + NODE_HEIGHT / 2 + EDGE
    return Layout(
        width=round(right - left_end, 1),
        height=round(bottom - top, 1),
        places={
            name: (round(x - left_end, 1), round(y - top, 1)) for name, (x, y) in places.items()
        },
    )


def angle(layout: Layout, centre: str, name: str) -> float:
    """How far clockwise from the top a node stands, seen from the centre."""
    (x, y), (middle, height) = layout.places[name], layout.places[centre]
    return math.atan2(x - middle, height - y) % math.tau


def border(start: Point, end: Point) -> Point:
    """Where a line from the middle of one node reaches the border of the node at ``end``."""
    across, down = start[0] - end[0], start[1] - end[1]
    if not across and not down:
        return end
    reach = min(
        NODE_WIDTH / 2 / abs(across) if across else math.inf,
        NODE_HEIGHT / 2 / abs(down) if down else math.inf,
        1.0,
    )
    return round(end[0] + across * reach, 1), round(end[1] + down * reach, 1)


def lines_of(name: str) -> list[str]:
    """``name`` in as many lines as a node has; what does not fit is left out behind a dot."""
    lines = [""]
    for word in name.split():
        longer = f"{lines[-1]} {word}".strip()
        if _units(longer) <= LINE_UNITS or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    left_out = len(lines) > LINES
    lines = lines[:LINES]
    for place, line in enumerate(lines):
        last = place == len(lines) - 1
        if _units(line) > LINE_UNITS or (last and left_out):
            lines[place] = _cut(line)
    return lines


def _cut(line: str) -> str:
    while line and _units(line) > LINE_UNITS - 1:
        line = line[:-1]
    return f"{line.rstrip()}…"


def _units(line: str) -> float:
    return sum(map(_unit, line))


def _unit(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    if letter in NARROW:
        return 0.6
    return 1.35 if letter.isupper() or letter in "mw@%" else 1.0


def _room(ring: int, taken: Sequence[Point]) -> int:
    """How many nodes a ring takes at least."""
    found: list[Point] = []
    for step in range(STEPS):
        place = _at(ring, math.tau * step / STEPS)
        if all(_apart(place, other) for other in (*taken, *found)):
            found.append(place)
    return len(found)


def _nearest(ring: int, turn: float, taken: Sequence[Point]) -> Point | None:
    """The place of a ring nearest to an angle that keeps its distance from all that are taken."""
    for step in range(STEPS):
        aside = (step + 1) // 2 * (1 if step % 2 else -1)
        place = _at(ring, turn + math.tau * aside / STEPS)
        if all(_apart(place, other) for other in taken):
            return place
    return None


def _at(ring: int, turn: float) -> Point:
    return ring * RING_ACROSS * math.sin(turn), -ring * RING_DOWN * math.cos(turn)


def _apart(one: Point, other: Point) -> bool:
    across, down = abs(one[0] - other[0]), abs(one[1] - other[1])
    return across >= NODE_WIDTH + GAP_ACROSS or down >= NODE_HEIGHT + GAP_DOWN


MOST_NODES = 60
MOST_LOOKED = 20_000  # relations of neighbours that are walked through


class Node(Shape):
    """A node; ``steps`` from the entity in the middle. ``known``: it is there as an entity."""

    id: str
    title: str
    type: str
    known: bool
    steps: int


class DrawnRelation(Shape):
    """An edge between two nodes, by their ids."""

    type: str
    source: str
    target: str


class Neighbourhood(Shape):
    """The entity (first) and what is nearest to it; ``left_out``: direct neighbours not in it."""

    collection: str
    nodes: tuple[Node, ...]
    edges: tuple[DrawnRelation, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A node with its place (its upper left corner) and the lines that stand in it."""

    node: Node
    left: float
    top: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """A line from the middle of one node to the border of another."""

    start: Point
    end: Point
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A neighbourhood as it is drawn."""

    width: float
    height: float
    node_width: float
    node_height: float
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]


def neighbourhood(kb: KnowledgeBase, collection: str, entity_id: str) -> Neighbourhood:
    """The entity, its neighbours, and theirs as far as there is room."""
    graph, scope = kb.catalogue.graph, (collection,)
    direct = graph.neighbours(scope, entity_id)
    edges = {one.edge: None for one in direct}
    centre = graph.entity(collection, entity_id)
    title, kind = (centre.title, centre.type) if centre else (entity_id, "")
    nodes = {entity_id: Node(id=entity_id, title=title, type=kind, known=True, steps=0)}
    every = _nodes(direct, 1)
    every.pop(entity_id, None)
    nodes |= dict(list(every.items())[: MOST_NODES - 1])
    theirs: list[dict[str, Node]] = []
    looked = 0
    for one in [node for node in nodes.values() if node.steps and node.known]:
        if looked > MOST_LOOKED:
            break
        found = graph.neighbours(scope, one.id)
        looked += len(found)
        edges |= {other.edge: None for other in found}
        theirs.append(_nodes((other for other in found if other.known), 2))
    # One of each in turn, so that no neighbour takes all the room.
    for pair in chain.from_iterable(zip_longest(*(one.items() for one in theirs))):
        if pair and len(nodes) < MOST_NODES and pair[0] not in every:
            nodes.setdefault(*pair)
    return Neighbourhood(
        collection=collection,
        nodes=tuple(nodes.values()),
        edges=tuple(
            DrawnRelation(type=edge.type, source=edge.source, target=edge.target)
            for edge in edges
            if edge.source in nodes and edge.target in nodes and edge.source != edge.target
        ),
        left_out=sum(known not in nodes for known in every),
    )


def drawing_of(around: Neighbourhood) -> Drawing | None:
    """The nodes in rings around the first one; None when it stands alone."""
    if len(around.nodes) < 2:
        return None
    layout = _layout(around)
    titles = {node.id: node.title for node in around.nodes}
    return Drawing(
        width=layout.width,
        height=layout.height,
        node_width=NODE_WIDTH,
        node_height=NODE_HEIGHT,
        nodes=tuple(
            DrawnNode(
                node=node,
                left=round(layout.places[node.id][0] - NODE_WIDTH / 2, 1),
                top=round(layout.places[node.id][1] - NODE_HEIGHT / 2, 1),
                lines=tuple(lines_of(node.title)),
            )
            for node in around.nodes
        ),
        edges=tuple(
            DrawnEdge(
                start=layout.places[edge.source],
                end=border(layout.places[edge.source], layout.places[edge.target]),
                words=f"{titles[edge.source]} – {edge.type} – {titles[edge.target]}",
            )
            for edge in around.edges
        ),
    )


def _layout(around: Neighbourhood) -> Layout:
    """First the neighbours; then theirs, each on the side of the one that it belongs to."""
    centre = around.nodes[0].id
    near = [node.id for node in around.nodes if node.steps == 1]
    first = rings(centre, [near])
    turns: dict[str, float] = {}
    for edge in around.edges:
        for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if one in first.places and one != centre:
                turns.setdefault(other, angle(first, centre, one))
    far = [node.id for node in around.nodes if node.steps == 2]
    far.sort(key=lambda known: turns.get(known, 0.0))
    return rings(centre, [near, far], {known: turns.get(known, 0.0) for known in far})


def _nodes(found: Iterable[Neighbour], steps: int) -> dict[str, Node]:
    return {
        _other(one.edge, one): Node(
            id=_other(one.edge, one),
            title=one.name,
            type=one.node.type if one.node else "",
            known=one.known,
            steps=steps,
        )
        for one in found
    }


def _other(edge: Edge, one: Neighbour) -> str:
    return edge.target if one.direction == "out" else edge.source
