from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import run
from typer.testing import CliRunner

CASES: list[dict[str, Any]] = [
    {
        "id": "ferry",
        "question": "How much was the ferry Osprey bought for?",
        "scope": {"collections": "town"},
        "expected": {
            "spans": {"document": "ferry.md", "quote": "2.6 million euros"},
            "answer": "2.6 million",
        },
        "tags": ["boats"],
    },
    {
        "id": "seagrass",
        "question": "How many hectares of seagrass did volunteers plant?",
        "expected": {"documents": "seagrass.md", "answer": "two hectares"},
        "type": "counting",
    },
    {"id": "comet", "question": "Which comet was seen?", "expected": {"answerable": False}},
]


@pytest.fixture
def cases(tmp_path: Path, filled_home: Path, home: Path) -> Path:
    """A set of three cases; the home holds the material that answers two of them."""
    shutil.copytree(filled_home, home)
    return write(tmp_path / "set.jsonl", CASES)


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def rows_of(out: str) -> dict[str, list[str]]:
    """The rows of the tables by their first cell."""
    rows = [line.strip("|").split("|") for line in out.splitlines() if line.startswith("| ")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def test_a_run_shows_figures_groups_and_latency(runner: CliRunner, cases: Path) -> None:
    code, out, _ = run(runner, "eval", cases)
    assert code == 0
    assert "set.jsonl · 3 cases · full answers · 4 documents" in out
    rows = rows_of(out)
    assert rows["recall@5"] == ["1.000", "1.000 – 1.000", "2"]
    assert rows["span_recall@5"][-1] == "1"
    assert rows["refusal_accuracy"][-1] == "3"
    assert {"tag:boats", "type:counting", "retrieval", "total"} <= rows.keys()
    assert "failed" not in rows


@pytest.mark.parametrize(
    ("gate", "code", "shown"),
    [
        ("recall@5: 0.9\nrefusal_accuracy: {min: 0.5, bound: mean}\n", 0, "Go: all thresholds"),
        ("recall@5: 0.9\nbrier: -0.1\n", 1, "No-go: 1 of 2 thresholds missed"),
        ("tag:none/recall@5: 0.1\n", 1, "not measured"),
        ("recall@2: 0.1\n", 0, ""),
    ],
)
def test_a_gate_decides_the_exit_status(
    runner: CliRunner, cases: Path, tmp_path: Path, gate: str, code: int, shown: str
) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text(gate, encoding="utf-8")
    found, out, _ = run(runner, "eval", cases, "--gate", path, *([] if shown else ["--json"]))
    assert found == code
    assert shown in out
    assert shown or json.loads(out)["gate"]["passed"] is (code == 0)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["none.jsonl"], "none.jsonl cannot be read"),
        (["SET", "--topic", "mars"], "no collection named 'mars'"),
        (["SET", "--gate", "none.yaml"], "none.yaml cannot be read"),
    ],
)
def test_what_is_wrong_is_told_before_the_run(
    runner: CliRunner, cases: Path, words: list[str], reason: str
) -> None:
    code, out, err = run(runner, "eval", *(str(cases) if word == "SET" else word for word in words))
    assert (code, out) == (1, "")
    assert reason in " ".join(err.split())
