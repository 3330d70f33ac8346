"""The page about evaluation says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from wellread.evaluation.cases import CaseLine, read_cases
from wellread.evaluation.report import read_gate
from wellread.evaluation.scores import measure_names
from wellread.serve.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def first_cells(text: str) -> set[str]:
    cells = re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_examples_are_cases(tmp_path: Path) -> None:
    (example,) = blocks("json")
    decoder = json.JSONDecoder()
    lines, place = [], 0
    while place < len(example.rstrip()):
        found, place = decoder.raw_decode(example, place)
        place += len(example[place:]) - len(example[place:].lstrip())
        lines.append(json.dumps(found))
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert [case.expected.answerable for case in read_cases(path)] == [True, False]


def test_the_example_of_a_gate_is_one(tmp_path: Path) -> None:
    (example,) = blocks("yaml")
    path = tmp_path / "gate.yaml"
    path.write_text(example, encoding="utf-8")
    assert len(read_gate(path)) == 7


def test_every_measure_is_explained() -> None:
    section = PAGE.partition("## Measures")[2].partition("## Gates")[0]
    assert first_cells(section) == set(measure_names(["k"]))


@pytest.mark.parametrize("name", list(CaseLine.model_fields))
def test_every_field_of_a_case_is_explained(name: str) -> None:
    cells = {cell.partition(".")[0] for cell in first_cells(PAGE.partition("## Cases")[2])}
    assert name in cells


def test_every_option_is_explained() -> None:
    listed = {cell.split()[0] for cell in first_cells(PAGE.partition("## Cases")[0])}
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    context = program.make_context("wellread", [], resilient_parsing=True)
    command = program.get_command(context, "eval")
    assert command is not None
    options = {
        parameter.opts[0] for parameter in command.params if parameter.param_type_name == "option"
    }
    assert listed == (options - {"--help"}) | {"--json"}
