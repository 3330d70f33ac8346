"""Limits of shape that fail the build: folders of few modules, each name once, no circles."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

SRC = Path(__file__).parent.parent / "src"
MODULES = sorted((SRC / "wellread").rglob("*.py"))
MOST_MODULES = 14
SHARED_NAMES = ("__init__", "base")


def test_a_folder_holds_few_modules() -> None:
    sizes = Counter(_folder(path) for path in MODULES if path.stem != "__init__")
    crowded = {name: size for name, size in sizes.items() if size > MOST_MODULES}
    assert crowded == {}


def test_a_module_name_stands_once() -> None:
    names = Counter(path.stem for path in MODULES if path.stem not in SHARED_NAMES)
    assert [name for name, count in names.items() if count > 1] == []


def test_no_circle_between_folders() -> None:
    assert circles_of(folder_imports()) == []


def test_a_circle_is_found() -> None:
    assert circles_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def folder_imports() -> dict[str, set[str]]:
    """Which folder imports which; a module directly under ``wellread`` is a node of its own."""
    known = {_dotted(path) for path in MODULES}
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        here = _node(_dotted(path))
        for name in imported(path):
            target = name if name in known else name.rpartition(".")[0]
            if target in known and _node(target) != here:
                arrows[here].add(_node(target))
    return arrows


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports while it runs (not only for type checkers)."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def circles_of(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of two and more nodes that reach one another (Tarjan 1972), each sorted."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    circles: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        path.append(node)
        for target in sorted(arrows.get(node, ())):
            if target not in order:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in path:
                low[node] = min(low[node], order[target])
        if low[node] == order[node]:
            group = path[path.index(node) :]
            del path[path.index(node) :]
            if len(group) > 1:
                circles.append(sorted(group))

    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return circles


def _dotted(path: Path) -> str:
    name = ".".join(path.relative_to(SRC).with_suffix("").parts)
    return name.removesuffix(".__init__")


def _folder(path: Path) -> str:
    return path.parent.relative_to(SRC).as_posix()


def _node(dotted: str) -> str:
    """The folder of a module, or the module itself where it stands directly under the root."""
    path = SRC / Path(*dotted.split("."))
    if path.is_dir():
        return dotted
    parent = dotted.rpartition(".")[0]
    return dotted if parent == "wellread" else parent
