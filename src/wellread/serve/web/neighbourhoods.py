"""What is around an entity: the nearest nodes with the edges between them, and their drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest

from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body
from wellread.serve.web.graph_layout import (
    NODE_HEIGHT,
    NODE_WIDTH,
    Layout,
    Point,
    angle,
    border,
    lines_of,
    rings,
)
from wellread.store.catalogue.documents.relation_network import Edge, Neighbour

MOST_NODES = 60
MOST_LOOKED = 20_000  # relations of neighbours that are walked through


class NodeBody(Body):
    """A node; ``steps`` from the entity in the middle. ``known``: it is there as an entity."""

    id: str
    title: str
    type: str
    known: bool
    steps: int


class EdgeBody(Body):
    """An edge between two nodes, by their ids."""

    type: str
    source: str
    target: str


class NeighbourhoodBody(Body):
    """The entity (first) and what is nearest to it; ``left_out``: direct neighbours not in it."""

    collection: str
    nodes: tuple[NodeBody, ...]
    edges: tuple[EdgeBody, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A node with its place (its upper left corner) and the lines that stand in it."""

    node: NodeBody
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


def neighbourhood(kb: KnowledgeBase, collection: str, entity_id: str) -> NeighbourhoodBody:
    """The entity, its neighbours, and theirs as far as there is room."""
    graph, scope = kb.catalogue.graph, (collection,)
    direct = graph.neighbours(scope, entity_id)
    edges = {one.edge: None for one in direct}
    centre = graph.entity(collection, entity_id)
    title, kind = (centre.title, centre.type) if centre else (entity_id, "")
    nodes = {entity_id: NodeBody(id=entity_id, title=title, type=kind, known=True, steps=0)}
    every = _nodes(direct, 1)
    every.pop(entity_id, None)
    nodes |= dict(list(every.items())[: MOST_NODES - 1])
    theirs: list[dict[str, NodeBody]] = []
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
    return NeighbourhoodBody(
        collection=collection,
        nodes=tuple(nodes.values()),
        edges=tuple(
            EdgeBody(type=edge.type, source=edge.source, target=edge.target)
            for edge in edges
            if edge.source in nodes and edge.target in nodes and edge.source != edge.target
        ),
        left_out=sum(known not in nodes for known in every),
    )


def drawing_of(around: NeighbourhoodBody) -> Drawing | None:
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


def _layout(around: NeighbourhoodBody) -> Layout:
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


def _nodes(found: Iterable[Neighbour], steps: int) -> dict[str, NodeBody]:
    return {
        _other(one.edge, one): NodeBody(
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
