"""Lays out the SVG drawings of pages: bars of counts over time, an entity with neighbours."""

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
# Across, places are percent of the width, so that a phone shows letters as large as a desk does;
# down, they are pixels.

TOP, BOTTOM = 16, 176  # where the highest line and the axis stand
LEFT = 9.0  # percent kept free for the numbers of the lines
BAR_SHARE, WIDEST_BAR = 0.8, 6.0  # of its slot; percent
MIN_HEIGHT = 1.5  # of a piece with a count above zero
LINES = 4  # at most, above the axis
LABELS = 3  # at most, below the axis: more dates do not fit on a phone


def stack_chart(
    parts: Sequence[tuple[str, Mapping[str, float]]], *, unit: str = ""
) -> Layout | None:
    """Lay out a bar per label, with stacked counts; None if all counts are zero.

    Args:
        unit: a sign before each number, such as ``$``; without it the counts are whole.
    """
    totals = [round(sum(counts.values()), 4) for _, counts in parts]
    if max(totals, default=0.0) <= 0:
        return None
    step, digits = _line_step(max(totals), whole=not unit)
    top = step * math.ceil(round(max(totals) / step, 6))
    slot = (100 - LEFT) / len(parts)
    width = min(slot * BAR_SHARE, WIDEST_BAR)
    middles = [LEFT + (index + 0.5) * slot for index in range(len(parts))]
    stacks = [
        {
            "label": label,
            "total": total,
            "x": round(middle - width / 2, 2),
            "counts": counts,
            "pieces": _pieces(counts, top),
        }
        for (label, counts), total, middle in zip(parts, totals, middles, strict=True)
    ]
    lines = [
        (round(_height_of(number * step, top), 1), f"{unit}{number * step:,.{digits}f}")
        for number in range(1, round(top / step) + 1)
    ]
    return {
        "stacks": stacks,
        "bar_width": round(width, 2),
        "lines": lines,
        "labels": _labels([label for label, _ in parts], middles),
        "most": parts[totals.index(max(totals))][0],
        "unit": unit,
    }


def _line_step(highest: float, *, whole: bool) -> tuple[float, int]:
    """The distance of the lines (1, 2 or 5, times a power of ten), and its digits after a point."""
    least = highest / LINES
    power = math.floor(math.log10(least))
    step = next(unit * 10.0**power for unit in (1, 2, 5, 10) if unit * 10.0**power >= least)
    return (max(step, 1.0), 0) if whole else (step, max(2, -power))


def _height_of(count: float, top: float) -> float:
    return BOTTOM - count / top * (BOTTOM - TOP)


def _pieces(counts: Mapping[str, float], top: float) -> list[Layout]:
    pieces, base = [], float(BOTTOM)
    for name, count in counts.items():
        if count > 0:
            height = max(BOTTOM - _height_of(count, top), MIN_HEIGHT)
            base -= height
            box = {"y": round(base, 2), "height": round(height, 2)}
            pieces.append({"name": name, "count": round(count, 4), **box})
    return pieces


def _labels(names: Sequence[str], middles: Sequence[float]) -> list[tuple[float, str, str]]:
    """The labels below the axis: place, anchor and text; the first and the last are among them."""
    count = min(LABELS, len(names))
    chosen = [round(n * (len(names) - 1) / (count - 1 or 1)) for n in range(count)]
    anchors = ["start", *["middle"] * (count - 2), "end"] if count > 1 else ["middle"]
    return [
        ({"start": LEFT, "end": 100.0}.get(anchor, round(middles[at], 2)), anchor, names[at])
        for at, anchor in zip(chosen, anchors, strict=True)
    ]


_LABELS = {"hour": "%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}


def trend_chart(trend: Sequence[AnswersPerPeriod], part: str) -> Layout | None:
    """Questions per period by outcome; None when there are no questions."""
    parts = []
    for period in trend:
        other = period.asked - period.cited - period.unanswered
        counts = {"cited": period.cited, "other": other, "unanswered": period.unanswered}
        parts.append((datetime.fromisoformat(period.start).strftime(_LABELS[part]), counts))
    return stack_chart(parts)


# --- an entity with its neighbours -----------------------------------------------------------

NODE_WIDTH, NODE_HEIGHT = 116.0, 38.0
RING_ACROSS, RING_DOWN = 150.0, 76.0  # distance between rings
RING_HOLDS = 6  # nodes in the first ring; each further ring holds six more without overlap
MARGIN = 8.0  # margin of the drawing
LINE_CHARS, WIDE_LINE_CHARS = 17, 10  # characters per line of a node; second: wide scripts
MAX_LINES = 2  # of a node's title
MAX_NODES = 60


def relations_drawing(centre: EntityNode, relations: Sequence[Neighbour]) -> Layout | None:
    """The entity with its neighbours in rings around it; None when it has no neighbours."""
    ids = [link.edge.target if link.direction == "out" else link.edge.source for link in relations]
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
    for name, position in places.items():
        neighbour = neighbours[name]
        kind = neighbour.node.type if neighbour.node else ""
        nodes.append(_node(name if neighbour.node else "", neighbour.name, kind, position, ""))
    edges = []
    for name, relation in zip(ids, relations, strict=True):
        if name in places:
            ends = [(middle, centre.title), (places[name], relation.name)]
            (start, source), (end, target) = ends if relation.direction == "out" else ends[::-1]
            text = f"{source} – {relation.edge.type} – {target}"
            edges.append({"start": start, "end": _border_point(start, end), "words": text})
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


def _node(link: str, title: str, kind: str, centre: Point, look: str) -> Layout:
    """A node with its upper left corner; ``link`` is the id of an entity that has a page."""
    width = LINE_CHARS if title.isascii() else WIDE_LINE_CHARS
    return {
        "link": link,
        "title": title,
        "type": kind,
        "look": look or ("" if link else "missing"),
        "left": round(centre[0] - NODE_WIDTH / 2, 1),
        "top": round(centre[1] - NODE_HEIGHT / 2, 1),
        "lines": textwrap.wrap(title, width, max_lines=MAX_LINES, placeholder="…"),
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
