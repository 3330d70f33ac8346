"""Draws docs/architecture.svg from the imports of the source: the floors, and the rooms of ask.

    python -m benchmarks.architecture

A box is a folder or a module directly under ``wellread`` (the second picture: under ``ask``); it
stands one floor above the highest that it imports. A line is an import; one that goes the way of
two others is left out. Boxes that import each other in a circle stand on one floor, in red.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from benchmarks.paths import ROOT

PACKAGE = ROOT / "src" / "wellread"
PICTURE = ROOT / "docs" / "architecture.svg"
PANELS = {"wellread": PACKAGE, "wellread.ask": PACKAGE / "ask"}
WIDTH, BOX_HEIGHT, FLOOR_HEIGHT, MARGIN, TITLE = 1120, 30, 74, 16, 44
LETTER = 8.2  # width of one, at the size that is written with

Graph = Mapping[str, frozenset[str]]


def main() -> None:
    """Draw both pictures into one file."""
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE)


def rooms(folder: Path) -> Graph:
    """Each folder and module directly under ``folder``, with those that it imports."""
    prefix = ".".join(folder.relative_to(PACKAGE.parent).parts)
    names = {
        path.stem
        for path in folder.iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    }
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).with_suffix("").parts[0]
        if own not in found:
            continue
        for module in imports_of(path):
            room = module.removeprefix(f"{prefix}.").partition(".")[0]
            if module.startswith(f"{prefix}.") and room in names and room != own:
                found[own].add(room)
    holding = {name for name in names if found[name] or any(name in to for to in found.values())}
    return {name: frozenset(found[name]) for name in sorted(holding)}


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """What a file imports; the rooms of ask are looked at twice."""
    return tuple(imported(ast.parse(path.read_text(encoding="utf-8"))))


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of this package that are imported, wherever; not those for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # holds no import, and most nodes are one
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def reach(graph: Graph) -> Graph:
    """What each room leads to, over any number of imports."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        waiting, seen = [name], set[str]()
        while waiting:
            for target in graph[waiting.pop()] - seen:
                seen.add(target)
                waiting.append(target)
        reached[name] = seen
    return {name: frozenset(targets) for name, targets in reached.items()}


def circles(graph: Graph) -> frozenset[tuple[str, str]]:
    """Pairs of rooms that lead to each other."""
    reached = reach(graph)
    return frozenset(
        (one, other) for one in graph for other in reached[one] if one in reached[other]
    )


def floors(graph: Graph) -> list[list[str]]:
    """The rooms from the ground up: each above all that it imports, but for circles."""
    reached = reach(graph)
    level: dict[str, int] = {}

    def level_of(name: str) -> int:
        if name not in level:
            below = [to for to in reached[name] if name not in reached[to]]
            level[name] = 1 + max((level_of(to) for to in below), default=-1)
        return level[name]

    found: list[list[str]] = []
    for name in sorted(graph, key=lambda name: (level_of(name), name)):
        if level[name] == len(found):
            found.append([])
        found[level[name]].append(name)
    return found


def direct(graph: Graph) -> list[tuple[str, str]]:
    """The imports without those that go the way of two others."""
    reached = reach(graph)
    return [
        (name, target)
        for name in graph
        for target in sorted(graph[name])
        if not any(
            target in reached[other] and name not in reached[other]
            for other in graph[name] - {target}
        )
    ]


def picture() -> str:
    """Both pictures as SVG."""
    top, parts = 0.0, []
    for title, folder in PANELS.items():
        graph = rooms(folder)
        parts.append(_panel(title, graph, top))
        top += TITLE + FLOOR_HEIGHT * len(floors(graph)) + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" '
        'font-family="ui-monospace, monospace" font-size="13">\n'
        f'<rect width="{WIDTH}" height="{top:.0f}" fill="#fbfbf9"/>\n{"".join(parts)}</svg>\n'
    )


def _panel(title: str, graph: Graph, top: float) -> str:
    levels = floors(graph)
    red = {name for pair in circles(graph) for name in pair}
    places: dict[str, tuple[float, float, float]] = {}
    for number, names in enumerate(reversed(levels)):
        widths = [LETTER * len(name) + 24 for name in names]
        gap = (WIDTH - sum(widths)) / (len(names) + 1)
        left = gap
        for name, width in zip(names, widths, strict=True):
            places[name] = (left, top + TITLE + number * FLOOR_HEIGHT, width)
            left += width + gap
    lines = [f'<text x="{MARGIN}" y="{top + 26:.0f}" font-weight="bold">{title}</text>\n']
    for name, target in direct(graph):
        (left, above, width), (to_left, below, to_width) = places[name], places[target]
        style = 'stroke="#c0392b"' if (name, target) in circles(graph) else 'stroke="#9aa5b1"'
        lines.append(
            f'<line x1="{left + width / 2:.0f}" y1="{above + BOX_HEIGHT:.0f}" '
            f'x2="{to_left + to_width / 2:.0f}" y2="{below:.0f}" {style}/>\n'
        )
    for name, (left, above, width) in places.items():
        stroke = "#c0392b" if name in red else "#33475b"
        lines.append(
            f'<rect x="{left:.0f}" y="{above:.0f}" width="{width:.0f}" height="{BOX_HEIGHT}" '
            f'rx="4" fill="#ffffff" stroke="{stroke}"/>\n'
            f'<text x="{left + width / 2:.0f}" y="{above + 20:.0f}" text-anchor="middle">'
            f"{name}</text>\n"
        )
    return "".join(lines)


if __name__ == "__main__":
    main()
