"""What is around an entity: the nearest nodes with the edges between them, and their drawing."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest

from wellread.kb import KnowledgeBase
from wellread.serve.views import Shape
from wellread.store.catalogue.documents.relation_network import Edge, Neighbour

NODE_WIDTH, NODE_HEIGHT = 116.0, 38.0
RING_ACROSS, RING_DOWN = 150.0, 76.0  # from ring to ring
RING_HOLDS = 6  # nodes of the first ring; each further one holds as many more, and none touch
EDGE = 8.0  # around the drawing
LINE, WIDE_LINE = 17, 10  # letters that fit into a line of a node; of scripts with wide ones
LINES = 2
MOST_NODES = 60
MOST_LOOKED = 20_000  # relations of neighbours that are walked through

Point = tuple[float, float]


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
    places = _places(around)
    across = max(abs(x) for x, _ in places.values()) + NODE_WIDTH / 2 + EDGE
    down = max(abs(y) for _, y in places.values()) + NODE_HEIGHT / 2 + EDGE
    places = {name: (round(x + across, 1), round(y + down, 1)) for name, (x, y) in places.items()}
    titles = {node.id: node.title for node in around.nodes}
    return Drawing(
        width=round(2 * across, 1),
        height=round(2 * down, 1),
        node_width=NODE_WIDTH,
        node_height=NODE_HEIGHT,
        nodes=tuple(
            DrawnNode(
                node=node,
                left=round(places[node.id][0] - NODE_WIDTH / 2, 1),
                top=round(places[node.id][1] - NODE_HEIGHT / 2, 1),
                lines=lines_of(node.title),
            )
            for node in around.nodes
        ),
        edges=tuple(
            DrawnEdge(
                start=places[edge.source],
                end=border(places[edge.source], places[edge.target]),
                words=f"{titles[edge.source]} – {edge.type} – {titles[edge.target]}",
            )
            for edge in around.edges
        ),
    )


def _places(around: Neighbourhood) -> dict[str, Point]:
    """The middle of each node, the entity at zero: the neighbours around it, theirs beyond.

    Those of a neighbour stand beside each other, about on its side.
    """
    near = [node.id for node in around.nodes if node.steps == 1]
    belongs: dict[str, int] = {}
    for edge in around.edges:
        for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if one in near:
                belongs.setdefault(other, near.index(one))
    far = [node.id for node in around.nodes if node.steps == 2]
    far.sort(key=lambda name: belongs.get(name, 0))
    places = {around.nodes[0].id: (0.0, 0.0)}
    ring = 0
    for group in (near, far):
        while group:
            ring += 1
            here, group = group[: RING_HOLDS * ring], group[RING_HOLDS * ring :]
            for number, name in enumerate(here):
                turn = math.tau * number / len(here)
                across, down = ring * RING_ACROSS, ring * RING_DOWN
                places[name] = (across * math.sin(turn), -down * math.cos(turn))
    return places


def lines_of(name: str) -> tuple[str, ...]:
    """``name`` in as many lines as a node has; what does not fit is left out behind a dot."""
    width = LINE if name.isascii() else WIDE_LINE
    return tuple(textwrap.wrap(name, width, max_lines=LINES, placeholder="…"))


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
