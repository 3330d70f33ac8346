"""Lays out what pages draw as SVG: bars of counts over time, and an entity with its neighbours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.store.schema.stored_values import AnswersPerPeriod

Layout = dict[str, Any]  # positions and texts, as the template names them
Point = tuple[float, float]

# --- bars ------------------------------------------------------------------------------------

WIDTH = 720
HEIGHT = 160
BAR_SHARE = 0.8  # bar width as a share of its slot
MIN_HEIGHT = 1.5  # minimum height of a non-empty piece


def stack_chart(parts: Sequence[tuple[str, Mapping[str, float]]]) -> Layout | None:
    """A chart with a bar per label, its counts stacked from bottom to top; None without counts."""
    totals = [sum(counts.values()) for _, counts in parts]
    highest = max(totals, default=0.0)
    if highest <= 0:
        return None
    slot_width = WIDTH / len(parts)
    stacks = [
        {
            "label": label,
            "total": total,
            "x": round((place + (1 - BAR_SHARE) / 2) * slot_width, 2),
            "pieces": _pieces(counts, highest),
        }
        for place, ((label, counts), total) in enumerate(zip(parts, totals, strict=True))
    ]
    return {
        "stacks": stacks,
        "bar_width": round(slot_width * BAR_SHARE, 2),
        "highest": parts[totals.index(highest)][0],
        "width": WIDTH,
        "height": HEIGHT,
    }


def _pieces(counts: Mapping[str, float], highest: float) -> list[Layout]:
    pieces, base = [], HEIGHT - 1.0
    for name, count in counts.items():
        if count > 0:
            height = max(count / highest * (HEIGHT - 6), MIN_HEIGHT)
            base -= height
            place = {"y": round(base, 2), "height": round(height, 2)}
            pieces.append({"name": name, "count": count, **place})
    return pieces


def trend_chart(trend: Sequence[AnswersPerPeriod], part: str) -> Layout | None:
    """Questions per period by outcome; None when there are no questions."""
    parts = []
    for one in trend:
        other = one.asked - one.cited - one.unanswered
        counts = {"cited": one.cited, "other": other, "unanswered": one.unanswered}
        parts.append((part_label(one, part), counts))
    return stack_chart(parts)


def part_label(period: AnswersPerPeriod, part: str) -> str:
    """The label of a period: an hour, a day, the first day of a week, or a month."""
    shapes = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}
    return datetime.fromisoformat(period.start).strftime(shapes[part])


# --- an entity with its neighbours -----------------------------------------------------------

NODE_WIDTH, NODE_HEIGHT = 116.0, 38.0
RING_ACROSS, RING_DOWN = 150.0, 76.0  # distance between rings
RING_HOLDS = 6  # nodes in the first ring; each further ring holds six more without overlap
MARGIN = 8.0  # margin of the drawing
LINE_CHARS, WIDE_LINE_CHARS = 17, 10  # per line of a node; the second for wide scripts
LINES = 2
MAX_NODES = 60


def relations_drawing(centre: EntityNode, relations: Sequence[Neighbour]) -> Layout | None:
    """The entity with its neighbours in rings around it; None when it has no neighbours."""
    ids = [one.edge.target if one.direction == "out" else one.edge.source for one in relations]
    neighbours = dict(zip(ids, relations, strict=True))
    neighbours.pop(centre.id, None)
    if not neighbours:
        return None
    places = dict(zip(neighbours, _ring_places(min(len(neighbours), MAX_NODES)), strict=False))
    across = max(abs(x) for x, _ in places.values()) + NODE_WIDTH / 2 + MARGIN
    down = max(abs(y) for _, y in places.values()) + NODE_HEIGHT / 2 + MARGIN
    places = {name: (round(x + across, 1), round(y + down, 1)) for name, (x, y) in places.items()}
    middle = (round(across, 1), round(down, 1))
    nodes = [_node("", centre.title, centre.type, middle, "centre")]
    for name, place in places.items():
        one = neighbours[name]
        kind = one.node.type if one.node else ""
        nodes.append(_node(name if one.node else "", one.name, kind, place, ""))
    edges = []
    for name, one in zip(ids, relations, strict=True):
        if name in places:
            ends = [(middle, centre.title), (places[name], one.name)]
            (start, source), (end, target) = ends if one.direction == "out" else ends[::-1]
            words = f"{source} – {one.edge.type} – {target}"
            edges.append({"start": start, "end": _border_point(start, end), "words": words})
    return {
        "width": round(2 * across, 1),
        "height": round(2 * down, 1),
        "node_width": NODE_WIDTH,
        "node_height": NODE_HEIGHT,
        "nodes": nodes,
        "edges": edges,
        "left_out": len(neighbours) - len(places),
    }


def _ring_places(count: int) -> list[Point]:
    """The centres of ``count`` nodes in rings around zero."""
    places: list[Point] = []
    ring = 0
    while len(places) < count:
        ring += 1
        size = min(RING_HOLDS * ring, count - len(places))
        for number in range(size):
            angle = math.tau * number / size
            across, down = ring * RING_ACROSS, ring * RING_DOWN
            places.append((across * math.sin(angle), -down * math.cos(angle)))
    return places


def _node(link: str, title: str, kind: str, place: Point, look: str) -> Layout:
    """A node with its upper left corner; ``link`` is the id of an entity that has a page."""
    width = LINE_CHARS if title.isascii() else WIDE_LINE_CHARS
    return {
        "link": link,
        "title": title,
        "type": kind,
        "look": look or ("" if link else "missing"),
        "left": round(place[0] - NODE_WIDTH / 2, 1),
        "top": round(place[1] - NODE_HEIGHT / 2, 1),
        "lines": textwrap.wrap(title, width, max_lines=LINES, placeholder="…"),
    }


def _border_point(start: Point, end: Point) -> Point:
    """The point where the line from ``start`` reaches the border of the node at ``end``."""
    across, down = start[0] - end[0], start[1] - end[1]
    reach = min(
        NODE_WIDTH / 2 / abs(across) if across else math.inf,
        NODE_HEIGHT / 2 / abs(down) if down else math.inf,
        1.0,
    )
    return round(end[0] + across * reach, 1), round(end[1] + down * reach, 1)
