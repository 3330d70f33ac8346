"""The size of the house: what there is of everything that only grows unless somebody watches it.

    python -m benchmarks.budget            # what there is, beside its ceiling
    python -m benchmarks.budget --write    # lower each ceiling to what there is; raises none
    python -m benchmarks.budget --anew     # write all ceilings anew, at the end of an issue

The ceilings stand in ``budget.json``; ``tests/test_budget.py`` holds them. A ceiling is raised by
what an issue grants and by nothing else.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from fastapi import FastAPI

from benchmarks.paths import ROOT
from wellread.config import settings_table
from wellread.serve.cli import COMMANDS
from wellread.serve.http.app import API_ROUTERS

TABLE = ROOT / "benchmarks" / "budget.json"
SRC = ROOT / "src" / "wellread"
AREAS = ("ask", "text", "serve", "store", "ingest", "models", "research")
PYDANTIC = "BaseModel"
LIST = 5  # constants of text that make a list of words
SMALL = 120  # lines
SLACK = 0.03  # of a ceiling: nobody is bothered about so little


def main() -> None:
    """Print the table; write it where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="lower the ceilings to what there is")
    parser.add_argument("--anew", action="store_true", help="write all ceilings anew")
    parser.add_argument("--home", type=Path, help="what the demo left; else it is run")
    options = parser.parse_args()
    there, most = {**sizes(), **entered(options.home)}, ceilings()
    for name, size in there.items():
        print(f"{name:32} {size:>9,} of {most.get(name, 0):>9,}")
    if options.write or options.anew:
        kept = there if options.anew else {n: min(s, most.get(n, s)) for n, s in there.items()}
        TABLE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(TABLE)


def ceilings() -> dict[str, int]:
    """The most of each thing that there may be, by its name."""
    return dict(json.loads(TABLE.read_text(encoding="utf-8")))


def over(there: Mapping[str, int], most: Mapping[str, int]) -> dict[str, str]:
    """What there is too much of, or what no ceiling is written for."""
    return {
        name: f"{size:,} of {most.get(name, 0):,}"
        for name, size in there.items()
        if size > most.get(name, 0)
    }


def under(there: Mapping[str, int], most: Mapping[str, int]) -> dict[str, str]:
    """What has become so much less that its ceiling is to follow."""
    return {
        name: f"{size:,} of {most[name]:,}"
        for name, size in there.items()
        if size < most.get(name, 0) * (1 - SLACK)
    }


def sizes() -> dict[str, int]:
    """All that is counted in the code, by its name."""
    found = {f"lines of {area}": lines(SRC / area) for area in AREAS}
    found["lines of src"] = lines(ROOT / "src")
    found["lines of tests"] = lines(ROOT / "tests")
    found["modules of src"] = sum(1 for _ in modules())
    found["folders of src"] = len({path.parent for path in SRC.rglob("*.py")})
    found["small modules, one importer"] = len(lone_modules())
    found["dataclasses"] = sum(1 for tree in trees(SRC) for _ in _dataclasses(tree))
    found["response bodies"] = bodies()
    found["REST operations"] = operations()
    found["words of documents"] = words(ROOT / "docs")
    found["settings"] = len(settings_table())
    found["commands"] = sum(map(len, COMMANDS.values()))
    found["commands with subcommands"] = sum(
        1 for tree in trees(SRC / "serve" / "cli") for _ in _calls(tree, "command")
    )
    listed = [words for tree in trees(SRC) for words in word_lists(tree)]
    listed += [size for size in map(_words_in, _data_values()) if size >= LIST]
    found["word lists"], found["words in lists"] = len(listed), sum(listed)
    found["patterns"] = sum(1 for tree in trees(SRC) for _ in _patterns(tree))
    return found


def entered(home: Path | None) -> dict[str, int]:
    """What five fixed questions enter, counted in a process that nothing was asked in before."""
    command = [sys.executable, "-m", "benchmarks.modules_entered", "--json"]
    command += ["--home", str(home)] if home else []
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    return {
        f"{what} entered {how}": size
        for how, counted in figures.items()
        for what, size in counted.items()
    }


def lines(folder: Path) -> int:
    """Lines of Python."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


@cache
def trees(folder: Path) -> tuple[ast.Module, ...]:
    """What every module says."""
    return tuple(ast.parse(path.read_bytes()) for path in sorted(folder.rglob("*.py")))


def words(folder: Path) -> int:
    """Words of Markdown."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in folder.rglob("*.md"))


def modules() -> Iterator[Path]:
    """The modules of the package, without what only makes a folder a package."""
    return (path for path in SRC.rglob("*.py") if path.stem != "__init__")


def lone_modules() -> list[str]:
    """Modules of under 120 lines that one module alone imports: parts of that one, mostly."""
    importers: dict[str, set[Path]] = {}
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{one.name}" for one in node.names)):
                    importers.setdefault(name, set()).add(path)
    small = (path for path in modules() if path.read_bytes().count(b"\n") < SMALL)
    named = (".".join(path.relative_to(SRC.parent).with_suffix("").parts) for path in small)
    return [name for name in named if len(importers.get(name, ())) == 1]


def operations() -> int:
    """What the HTTP interface answers: each method of each address."""
    app = FastAPI()
    for router in API_ROUTERS:
        app.include_router(router)
    return sum(len(methods) for methods in app.openapi()["paths"].values())


def _dataclasses(tree: ast.Module) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            marks = (ast.unparse(mark).partition("(")[0] for mark in node.decorator_list)
            if "dataclass" in marks:
                yield node


def bodies() -> int:
    """Classes of ``serve`` that are pydantic's, also by others between."""
    bases: dict[str, set[str]] = {}
    for tree in trees(SRC / "serve"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                named = {ast.unparse(base).partition("[")[0] for base in node.bases}
                bases.setdefault(node.name, set()).update(named)
    known = {PYDANTIC}
    while more := {name for name, of in bases.items() if of & known} - known:
        known |= more
    return len(known) - 1


def word_lists(tree: ast.Module) -> Iterator[int]:
    """The number of words in each list of them: a literal, or a text that is split."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            words = sum(1 for one in node.elts if _is_text(one))
        elif isinstance(node, ast.Dict):
            words = sum(1 for key in node.keys if key is not None and _is_text(key))
        else:
            words = 0
        if words >= LIST:
            yield words
    for call in _calls(tree, "split"):
        text = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield len(text.value.split())


def _data_values() -> Iterator[object]:
    """The lists of words in the data of each language; those of tables one by one."""
    for path in sorted(SRC.rglob("data/*/words.toml")):
        for value in tomllib.loads(path.read_text(encoding="utf-8")).values():
            yield from value.values() if isinstance(value, dict) else (value,)


def _words_in(value: object) -> int:
    parts = value if isinstance(value, list) else str(value).split()
    return len(parts)


def _patterns(tree: ast.Module) -> Iterator[ast.Call]:
    """Every regular expression: in a call of a function of ``re``, or of ``form`` or ``sign``."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            counts = called.value.id == "re" and called.attr != "escape"
        else:
            counts = isinstance(called, ast.Name) and called.id in {"form", "sign"}
        if counts and isinstance(node, ast.Call):
            yield node


def _calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(called, ast.Attribute) and called.attr == name:
            yield node


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


if __name__ == "__main__":
    main()
