"""Shape that the build holds: small folders, names that stand once, no circles or late imports."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.source_trees import parsed, parts

SRC = Path(__file__).parent.parent / "src"
MODULES = sorted((SRC / "wellread").rglob("*.py"))
MOST_MODULES = 14
SHARED_NAMES = ("__init__", "base")
# Each takes more than 20 ms to import, and a part of the users never needs it.
SLOW = frozenset(
    """
    alembic anthropic authlib dateparser faster_whisper fsspec genai_prices google httpx
    imap_tools joserfc lancedb lxml mcp onnx onnxruntime openai openai_compatible opensearchpy
    opentelemetry psycopg py3langid pydantic pydantic_ai rapidocr regex rich sqlalchemy
    trafilatura webdav4
    """.split()
)

# Parts of ours that take as long, and that a plain question never needs.
LATE = ("wellread.research.",)


def test_a_folder_holds_few_modules() -> None:
    sizes = Counter(_folder(path) for path in MODULES if path.stem != "__init__")
    crowded = {name: size for name, size in sizes.items() if size > MOST_MODULES}
    assert crowded == {}


def test_a_module_name_stands_once() -> None:
    names = Counter(path.stem for path in MODULES if path.stem not in SHARED_NAMES)
    assert [name for name, count in names.items() if count > 1] == []


def test_no_circle_between_folders() -> None:
    assert circle_in(folder_imports()) == []


def test_a_circle_is_found() -> None:
    assert set(circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_only_what_loads_slowly_is_imported_in_a_function() -> None:
    needless = []
    for path in MODULES:
        here = _dotted(path)
        for name in _imports(parsed(path), late=True):
            if not name.startswith(LATE) and not (libraries(name) & SLOW) - libraries(here):
                needless.append(f"{here}: {name}")
    assert needless == [], "import it at the top"


def test_an_import_in_a_function_is_seen() -> None:
    tree = ast.parse("import a\ndef f():\n    from b import c\n    import d\n")
    assert list(_imports(tree, late=True)) == ["b.c", "d"]
    assert list(_imports(tree, late=False)) == ["a"]


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """The names that a module imports when it is loaded."""
    return tuple(_imports(parsed(path), late=False))


@cache
def libraries(name: str) -> frozenset[str]:
    """The libraries that are loaded with a module, or with what a name in it stands for."""
    known = {_dotted(path): path for path in MODULES}
    seen: set[str] = set()
    found: set[str] = set()
    waiting = [name]
    while waiting:
        target = waiting.pop()
        if target.partition(".")[0] != "wellread":
            found.update(target.split("."))  # pydantic_ai.models.openai loads openai too
            continue
        while target and target not in seen:  # a module loads its package first
            seen.add(target)
            if target in known:
                waiting.extend(imports_of(known[target]))
            target = target.rpartition(".")[0]
    return frozenset(found)


def _imports(tree: ast.AST, *, late: bool, inside: bool = False) -> Iterator[str]:
    """The names that are imported in functions (``late``), or those outside of them."""
    for node in parts(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import) and inside is late:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and inside is late:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(node, late=late, inside=inside or function)


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
    waiting: list[ast.AST] = [parsed(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(parts(node))


def circle_in(arrows: Mapping[str, set[str]]) -> list[str]:
    """Nodes that reach one another, the first one last again; empty where there are none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _dotted(path: Path) -> str:
    name = ".".join(path.relative_to(SRC).with_suffix("").parts)
    return name.removesuffix(".__init__")


def _folder(path: Path) -> str:
    return path.parent.relative_to(SRC).as_posix()


@cache
def _node(dotted: str) -> str:
    """The folder of a module, or the module itself where it stands directly under the root."""
    path = SRC / Path(*dotted.split("."))
    if path.is_dir():
        return dotted
    parent = dotted.rpartition(".")[0]
    return dotted if parent == "wellread" else parent
