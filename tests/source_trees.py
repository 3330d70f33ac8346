"""Walks through the code of the package, quickly: tests of its shape look at all of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def parsed(path: Path) -> ast.Module:
    """What a module says. Keep what was looked for, not the tree: all of them are a burden."""
    return ast.parse(path.read_text(encoding="utf-8"))


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """What stands right in ``node`` but for expressions, which most nodes are.

    No import, function or class stands in one.
    """
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """``parts``, and all that stands in them."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(parts(node))
