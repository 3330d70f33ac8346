"""Answers held to gold strings that were kept back, the check of a model's prose, and the suite.

The sealed half of the exam is asked without a model. The checker is given answers that a model
wrote, each sentence labelled. The suite is `make unit`: what a question reads, sends and enters has
ceilings that are tests of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import time

from benchmarks import exam, judge
from benchmarks.exam_marks import DECLINED_RIGHTLY, RIGHT, WRONG
from benchmarks.paths import ROOT
from benchmarks.release.verdict import Measured, count
from wellread.evaluation.report import ALL

STRINGS_RIGHT, STRINGS_WRONG = "right", "wrong"
IN_TROUBLE, PASSED = "true_in_trouble", "false_passed"
SUITE_FAILED, SUITE_SECONDS = "tests_failed", "seconds"
HALF = "sealed"
_FAILED = re.compile(r"(\d+) (?:failed|errors?)\b")
_CLOSING = re.compile(r"=+ .* in [\d.]+s.*=+")


def measure_exam() -> Measured:
    """The shares of questions answered or declined rightly, and of wrong answers."""
    rows = exam.ask_half(HALF)
    shares = {
        STRINGS_RIGHT: sum(row["mark"] in (RIGHT, DECLINED_RIGHTLY) for row in rows),
        STRINGS_WRONG: sum(row["mark"] == WRONG for row in rows),
    }
    figures = {name: count(number / len(rows), len(rows)) for name, number in shares.items()}
    wrong = [f"{row['id']}: {row['question']}" for row in rows if row["mark"] == WRONG]
    return Measured(groups={ALL: figures}, notes=tuple(wrong))


def measure_checker() -> Measured:
    """The shares of true sentences in trouble and of false ones passed, without a model."""
    found = judge.check_all()[judge.ALONE]
    figures = {
        IN_TROUBLE: count(found["true in trouble"] / found["true"], found["true"]),
        PASSED: count(found["false passed"] / found["false"], found["false"]),
    }
    return Measured(groups={ALL: figures})


def measure_suite() -> Measured:
    """Seconds of ``make unit``, and the tests that failed.

    Raises:
        RuntimeError: pytest did not come to its closing line.
    """
    started = time.perf_counter()
    environ = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(
        ["make", "unit"], cwd=ROOT, capture_output=True, text=True, check=False, env=environ
    )
    seconds = time.perf_counter() - started
    closing = _CLOSING.findall(done.stdout)
    if not closing:
        raise RuntimeError(f"the suite did not end: {done.stdout[-500:]}{done.stderr[-500:]}")
    failed = sum(map(int, _FAILED.findall(closing[-1])))
    figures = {SUITE_FAILED: count(failed, 1), SUITE_SECONDS: count(round(seconds), 1)}
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Measured(groups={ALL: figures}, notes=tuple(lines))
