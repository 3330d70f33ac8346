"""What is installed: floors without known holes, locks with hashes."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
# The first release without the holes that were known when this was written.
SAFE = {
    "fastapi": "0.132",
    "filelock": "3.20.3",
    "httpcore": "1.0.9",  # the first that asks for an h11 that reads chunks strictly
    "jinja2": "3.1.6",
    "lxml-html-clean": "0.4.4",
    "onnx": "1.23",
    "pillow": "12.1.1",
    "pyarrow": "23.0.1",
    "pypdfium2": "5.15",
    "python-multipart": "0.0.22",
}
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: ; ([^\\]+?))? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


UNLOCKED = ("speech", "ocr")  # hundreds of megabytes, of which no test needs a byte


def asked_for(*, tests: bool) -> list[Requirement]:
    """What the package requires, with its extras; with what its tests need besides."""
    facts = project()["project"]
    extras = facts["optional-dependencies"].items()
    groups = [facts["dependencies"], *(lines for name, lines in extras if name not in UNLOCKED)]
    if tests:
        groups += project()["dependency-groups"].values()
    return [Requirement(line) for group in groups for line in group]


@cache
def locked(name: str) -> dict[str, list[Version]]:
    """The releases that a lock names; a package may have one for each system."""
    found: dict[str, list[Version]] = {}
    hashes = 1
    for line in (ROOT / "locks" / name).read_text(encoding="utf-8").splitlines():
        if HASH.match(line):
            hashes += 1
            continue
        pinned = PINNED.match(line)
        assert pinned, f"neither a pinned release nor a hash: {line}"
        assert hashes, f"no hash before {line}"
        hashes = 0
        found.setdefault(plain(pinned[1]), []).append(Version(pinned[2]))
    assert hashes
    return found


@pytest.mark.parametrize("name", SAFE)
def test_a_floor_leaves_out_known_holes(name: str) -> None:
    (line,) = [each for each in asked_for(tests=False) if plain(each.name) == name]
    floors = [Version(one.version) for one in line.specifier if one.operator == ">="]
    assert floors
    assert max(floors) >= Version(SAFE[name])


@pytest.mark.parametrize(("lock", "tests"), [("release.txt", False), ("test.txt", True)])
def test_a_lock_holds_all_that_is_asked_for(lock: str, tests: bool) -> None:
    """After a change of pyproject.toml: ``make locks``."""
    for line in asked_for(tests=tests):
        assert plain(line.name) in locked(lock), f"{line.name} is not in locks/{lock}"
        for version in locked(lock)[plain(line.name)]:
            assert version in line.specifier, f"{line} and {version} in locks/{lock}"


def test_what_is_released_is_what_was_tested() -> None:
    tested = locked("test.txt")
    for name, versions in locked("release.txt").items():
        assert versions == tested.get(name), name
