"""Limits of size that fail the build: a module says one thing, a function fits a screen."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from tests.source_trees import parsed, statements

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_MODULE, LONGEST_FUNCTION, MOST_PARAMETERS = 600, 60, 6


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src").as_posix()


@functools.cache
def functions() -> list[tuple[str, int, int]]:
    """Name, lines and parameters of each."""
    return [
        (f"{name_of(path)}:{node.name}", lines_of(node), parameters_of(node))
        for path in MODULES
        for node in statements(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([argument for argument in given if argument.arg not in ("self", "cls")])


def test_a_module_is_short() -> None:
    sizes = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert len(sizes) > 20
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST_MODULE} == {}


def test_a_function_fits_a_screen() -> None:
    assert {name: lines for name, lines, _ in functions() if lines > LONGEST_FUNCTION} == {}


def test_a_function_has_few_parameters() -> None:
    wide = {name: count for name, _, count in functions() if count > MOST_PARAMETERS}
    # The parameters of a command, an endpoint or a method of ``Wellread`` are its public face.
    faces = ("wellread/serve/", "wellread/facade")
    inner = {name: count for name, count in wide.items() if not name.startswith(faces)}
    assert inner == {}
