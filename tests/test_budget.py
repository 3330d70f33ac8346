"""The size of the house fails the build: of nothing there may be more than its ceiling."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

# The measurements are not part of the installed package.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import budget

SAY = "python -m benchmarks.budget --write"


sizes = cache(budget.sizes)  # reads all of the code


def check(there: dict[str, int]) -> None:
    most = budget.ceilings()
    assert budget.over(there, most) == {}, "take as much away elsewhere; see benchmarks/budget.py"
    assert budget.under(there, most) == {}, f"well done: lower the ceilings with {SAY}"


def test_the_code_is_not_larger_than_its_ceilings() -> None:
    check(sizes())


def test_questions_enter_no_more_than_their_ceilings(demo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(demo / "home", home)
    check(budget.entered(home))


def test_the_table_holds_what_is_measured() -> None:
    there = {*sizes()} | {
        f"{what} entered {how}" for how in ENTERED for what in ("modules", "lines")
    }
    assert {*budget.ceilings()} == there


ENTERED = ("by Python", "by API", "by page", "a count", "a follow-up")


@pytest.mark.parametrize(
    ("size", "over", "under"), [(101, True, False), (100, False, False), (96, False, True)]
)
def test_too_much_and_much_less_are_told(size: int, over: bool, under: bool) -> None:
    assert bool(budget.over({"a": size}, {"a": 100})) is over
    assert bool(budget.under({"a": size}, {"a": 100})) is under
    assert budget.over({"b": 1}, {"a": 100})  # no ceiling, no growth
