"""Lays out an entity's neighbourhood in the knowledge graph as a drawing."""

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
RING_ACROSS, RING_DOWN = 150.0, 76.0  # distance between rings
RING_HOLDS = 6  # nodes in the first ring; each further ring holds six more without overlap
MARGIN = 8.0  # margin of the drawing
LINE_CHARS, WIDE_LINE_CHARS = 17, 10  # per line of a node; the second for wide scripts
LINES = 2
MAX_NODES = 60
MAX_RELATIONS_READ = 20_000  # relations of neighbours that are read

Point = tuple[float, float]


class Node(Shape):
    """A node, ``steps`` away from the central entity. ``known``: it has an entity record."""

    id: str
    title: str
    type: str
    known: bool
    steps: int


class DrawnRelation(Shape):
    """An edge between two nodes, given by their ids."""

    type: str
    source: str
    target: str


class Neighbourhood(Shape):
    """The entity (first) and its nearest nodes; ``left_out`` counts omitted direct neighbours."""

    collection: str
    nodes: tuple[Node, ...]
    edges: tuple[DrawnRelation, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A node with its upper left corner and its lines of text."""

    node: Node
    left: float
    top: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """A line from the centre of one node to the border of another."""

    start: Point
    end: Point
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The layout of a neighbourhood."""

    width: float
    height: float
    node_width: float
    node_height: float
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]


def neighbourhood(kb: KnowledgeBase, collection: str, entity_id: str) -> Neighbourhood:
    """The entity, its neighbours, and their neighbours as far as there is room."""
    graph, scope = kb.catalogue.graph, (collection,)
    direct = graph.neighbours(scope, entity_id)
    edges = {one.edge: None for one in direct}
    centre = graph.entity(collection, entity_id)
    title, kind = (centre.title, centre.type) if centre else (entity_id, "")
    nodes = {entity_id: Node(id=entity_id, title=title, type=kind, known=True, steps=0)}
    direct_nodes = _nodes_by_id(direct, 1)
    direct_nodes.pop(entity_id, None)
    nodes |= dict(list(direct_nodes.items())[: MAX_NODES - 1])
    second_nodes: list[dict[str, Node]] = []
    relations_read = 0
    for one in [node for node in nodes.values() if node.steps and node.known]:
        if relations_read > MAX_RELATIONS_READ:
            break
        neighbours = graph.neighbours(scope, one.id)
        relations_read += len(neighbours)
        edges |= {other.edge: None for other in neighbours}
        second_nodes.append(_nodes_by_id((other for other in neighbours if other.known), 2))
    # Take one from each neighbour in turn, so that none uses all the room.
    for pair in chain.from_iterable(zip_longest(*(one.items() for one in second_nodes))):
        if pair and len(nodes) < MAX_NODES and pair[0] not in direct_nodes:
            nodes.setdefault(*pair)
    return Neighbourhood(
        collection=collection,
        nodes=tuple(nodes.values()),
        edges=tuple(
            DrawnRelation(type=edge.type, source=edge.source, target=edge.target)
            for edge in edges
            if edge.source in nodes and edge.target in nodes and edge.source != edge.target
        ),
        left_out=sum(node_id not in nodes for node_id in direct_nodes),
    )


def drawing_of(around: Neighbourhood) -> Drawing | None:
    """The nodes in rings around the first one; None when there are no neighbours."""
    if len(around.nodes) < 2:
        return None
    places = _places(around)
    across = max(abs(x) for x, _ in places.values()) + NODE_WIDTH / 2 + MARGIN
    down = max(abs(y) for _, y in places.values()) + NODE_HEIGHT / 2 + MARGIN
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
                lines=label_lines(node.title),
            )
            for node in around.nodes
        ),
        edges=tuple(
            DrawnEdge(
                start=places[edge.source],
                end=border_point(places[edge.source], places[edge.target]),
                words=f"{titles[edge.source]} – {edge.type} – {titles[edge.target]}",
            )
            for edge in around.edges
        ),
    )


def _places(around: Neighbourhood) -> dict[str, Point]:
    """The centre of each node, with the entity at zero and the others in rings around it.

    Second-step nodes of the same neighbour are next to each other, roughly on its side.
    """
    near = [node.id for node in around.nodes if node.steps == 1]
    neighbour_index: dict[str, int] = {}
    for edge in around.edges:
        for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
            if one in near:
                neighbour_index.setdefault(other, near.index(one))
    far = [node.id for node in around.nodes if node.steps == 2]
    far.sort(key=lambda name: neighbour_index.get(name, 0))
    places = {around.nodes[0].id: (0.0, 0.0)}
    ring = 0
    for group in (near, far):
        while group:
            ring += 1
            ring_nodes, group = group[: RING_HOLDS * ring], group[RING_HOLDS * ring :]
            for number, name in enumerate(ring_nodes):
                angle = math.tau * number / len(ring_nodes)
                across, down = ring * RING_ACROSS, ring * RING_DOWN
                places[name] = (across * math.sin(angle), -down * math.cos(angle))
    return places


def label_lines(name: str) -> tuple[str, ...]:
    """``name`` split into the lines of a node; the rest is cut off with "…"."""
    width = LINE_CHARS if name.isascii() else WIDE_LINE_CHARS
    return tuple(textwrap.wrap(name, width, max_lines=LINES, placeholder="…"))


def border_point(start: Point, end: Point) -> Point:
    """The point where the line from ``start`` reaches the border of the node at ``end``."""
    across, down = start[0] - end[0], start[1] - end[1]
    if not across and not down:
        return end
    reach = min(
        NODE_WIDTH / 2 / abs(across) if across else math.inf,
        NODE_HEIGHT / 2 / abs(down) if down else math.inf,
        1.0,
    )
    return round(end[0] + across * reach, 1), round(end[1] + down * reach, 1)


def _nodes_by_id(neighbours: Iterable[Neighbour], steps: int) -> dict[str, Node]:
    return {
        _neighbour_id(neighbour.edge, neighbour): Node(
            id=_neighbour_id(neighbour.edge, neighbour),
            title=neighbour.name,
            type=neighbour.node.type if neighbour.node else "",
            known=neighbour.known,
            steps=steps,
        )
        for neighbour in neighbours
    }


def _neighbour_id(edge: Edge, neighbour: Neighbour) -> str:
    return edge.target if neighbour.direction == "out" else edge.source
