"""Every benchmark starts: on small material of our own, or as far as its data are there."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from benchmarks.sets.asked import AskedSet
from benchmarks.sets.judged import JudgedSet
from benchmarks.sets.sample import SAMPLE_SET

from benchmarks import extractive, golden, paths, retrieval
from wellread.testing.embedding import ReadableEmbedder

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "def main()" in path.read_text("utf-8"))
# Started on the sample or on what they make themselves; the others take too long, or need data
# that do not come with the repository, and are asked for their help.
SMALL: dict[str, list[str]] = {
    "case_files": ["--sets", "sample"],
    "cluster_plan": [],
    "exam": ["--base", "sample", "--reader", "lexical"],
    "extractive": ["--reader", "lexical"],
    "golden": ["record", "first", "--sets", "sample"],
    "hostile": ["--half", "dev"],
    "malformed": ["--requests", "5"],
    "others_exam": ["judged"],
    "report": [],
    "seed_questions": ["judged"],
}
SETS: dict[str, AskedSet | JudgedSet] = {**extractive.SETS, **retrieval.SETS}
EMBEDDER = ReadableEmbedder()
FEW = 2
LONG = ("read_questions", "hostile_cases")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    shutil.copytree(paths.RESULTS, folder / "results")
    return folder


@pytest.fixture
def small(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Homes and results lie in a folder of the test, the embedder is quick, questions are few."""
    for name in SMALL:
        loaded(name)  # what it names is replaced below
    few = replace(SAMPLE_SET, questions=lambda kb: SAMPLE_SET.questions(kb)[:FEW])
    places = {"CACHE": cache, "RESULTS": cache / "results", "RESULTS_PAGE": cache / "RESULTS.md"}
    for module in [one for name, one in sys.modules.items() if name.startswith("benchmarks.")]:
        for name, value in vars(module).copy().items():
            if name in places:
                monkeypatch.setattr(module, name, places[name])
            elif name == "default_embedder":
                monkeypatch.setattr(module, name, lambda: EMBEDDER)
            elif name in LONG:
                monkeypatch.setattr(module, name, first_of(value))
            elif isinstance(value, AskedSet):
                monkeypatch.setattr(module, name, few)
    monkeypatch.setitem(extractive.SETS, "sample", few)
    asked = replace(golden.SETS["sample"], questions=first_of(golden.SETS["sample"].questions))
    monkeypatch.setattr(golden, "SETS", {"sample": asked})


def first_of(real: Callable[..., Any]) -> Callable[..., Any]:
    """``real``, which gives a few of what it gives, of the sample."""
    return lambda *given: [
        one for one in real(*given) if getattr(one, "base", "sample") == "sample"
    ][:FEW]


def loaded(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_reads_its_arguments(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = loaded(name)
    if hasattr(module, "argparse"):
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        with pytest.raises(SystemExit, match="0"):
            module.main()
        assert "usage" in capsys.readouterr().out


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_on_little(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *SMALL[name]])
    loaded(name).main()


@pytest.mark.parametrize("name", SETS)
def test_a_set_opens(name: str, tmp_path: Path) -> None:
    if name not in ("sample", "far", "shelf") and not paths.has_eval_data():
        pytest.skip("no evaluation data")
    SETS[name].write(tmp_path)
    assert any(tmp_path.rglob("*"))
