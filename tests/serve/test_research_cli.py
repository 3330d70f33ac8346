"""``wellread research``: the plan first, progress, the report, resume; and ``ask --mode deep``."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.doubles import forked
from tests.doubles.gated_search import SearchGate
from tests.serve.conftest import run
from typer.testing import CliRunner

from wellread.config import ResearchSettings
from wellread.errors import StoreError
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.cli import research_cli
from wellread.store.catalogue.asking.research_records import ResearchRun
from wellread.testing.embedding import ReadableEmbedder

ASKED = "Compare ropes and anchors"
RUN = re.compile(r"run_[\w-]{16}")


@pytest.fixture(autouse=True)
def copied(home: Path, harbour_home: Path) -> None:
    """Every test here works on a copy of the home with the collection ``harbour``."""
    shutil.copytree(harbour_home, home)


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner gives what is typed through a pipe; a person is asked on a terminal only."""
    monkeypatch.setattr(research_cli, "is_interactive", lambda: True)


def kept(home: Path) -> list[ResearchRun]:
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        return kb.catalogue.research.newest()


def asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plan needs confirmation."""
    monkeypatch.setattr(ResearchSettings, "auto_seconds", 0.0)


def test_the_plan_comes_first_and_the_report_has_signs_sources_and_an_end(
    runner: CliRunner, home: Path
) -> None:
    code, out, err = run(runner, "research", ASKED)
    assert code == 0
    plan, _, progress = err.partition("At most ")
    assert re.search(r"^In general +the question as it was asked", plan, re.MULTILINE)
    assert re.search(r"ropes .*\nanchors ", plan)
    assert re.search(r"searched for “ropes”: \d+ passages", progress)
    assert "\nRopes\n" in out
    assert "❞" in out
    assert re.search(r"\[\d\] Handbook, § .* — “.*” ❞", out)
    assert re.search(r"ended: complete \(run_", out)
    assert "At most" not in out
    (only,) = kept(home)
    assert (only.state, only.request.question.text) == ("done", ASKED)


def test_where_nobody_can_be_asked_a_plan_over_the_limit_is_refused(
    runner: CliRunner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking(monkeypatch)
    code, out, err = run(runner, "research", ASKED)
    assert (code, out) == (1, "")
    assert re.search(r"Error: the plan needs confirmation: at most \d+ searches, about \d s", err)
    assert "--yes" in err
    code, out, err = run(runner, "research", ASKED, "--json")
    assert (code, out, json.loads(err)["error"]) == (1, "", "bad_request")
    assert kept(home) == []
    assert run(runner, "research", ASKED, "--yes")[0] == 0


@pytest.mark.usefixtures("at_a_terminal")
def test_a_small_plan_is_followed_unasked_and_a_big_one_waits(
    runner: CliRunner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(runner, "research", ASKED, typed="no\n")[0] == 0
    asking(monkeypatch)
    assert run(runner, "research", ASKED, typed="no\n")[0] == 3
    assert run(runner, "research", ASKED, typed="")[0] == 1  # the input ends
    assert len(kept(home)) == 1
    assert run(runner, "research", ASKED, typed="\n")[0] == 0
    assert len(kept(home)) == 2


def test_json_is_the_report_and_events_are_lines(runner: CliRunner) -> None:
    code, out, err = run(runner, "research", ASKED, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["stopped"] == "complete"
    assert report["answer"]["mode"] == "deep"
    assert [one["title"] for one in report["sections"]][:2] == ["ropes", "anchors"]
    first = report["sections"][0]
    assert report["answer"]["answer"][first["start"] : first["end"]].startswith("## Ropes")
    code, out, err = run(runner, "research", ASKED, "--events")
    assert (code, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [one["number"] for one in lines] == list(range(len(lines)))
    assert [one["event"] for one in lines[:3]] == ["begun", "plan", "progress"]
    assert lines[-1]["event"] == "report"
    assert lines[-1]["data"]["id"] == lines[0]["data"]["id"]
    assert lines[-1]["data"]["answer"]["answer"] == report["answer"]["answer"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as on a terminal, also where the tests run with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupting(gate: SearchGate) -> None:
    """Ctrl-C while a search waits."""

    def strike(_kb: KnowledgeBase) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        gate.open()

    gate.at_gate = strike


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_and_the_run_goes_on_later(
    runner: CliRunner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ResearchSettings, "side_by_side", 1)
    interrupting(SearchGate(monkeypatch, free=1))
    code, out, err = run(runner, "research", ASKED)
    assert (code, out) == (130, "")
    (name,) = set(RUN.findall(err.partition("Interrupted.")[2]))
    assert f"wellread research --resume {name}" in err
    assert f"id: {name}\nstate: interrupted" in run(runner, "research", "--show", name)[1]
    code, out, _ = run(runner, "research", "--resume", name)
    assert (code, "ended: complete" in out) == (0, True)


def test_a_run_at_work_is_taken_up_by_nobody_else(
    runner: CliRunner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ResearchSettings, "side_by_side", 1)
    gate = SearchGate(monkeypatch, free=1)
    told: list[Any] = []

    def beside(_kb: KnowledgeBase) -> None:
        told.append(other(home, "--resume", "last"))
        gate.open()

    gate.at_gate = beside
    code, out, _ = run(runner, "research", ASKED)
    assert (code, "ended: complete" in out) == (0, True)
    (resumed,) = told
    assert (resumed.returncode, "is already running" in resumed.stderr) == (1, True)


def test_a_search_that_fails_is_one_line_and_the_run_goes_on_later(
    runner: CliRunner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SearchGate(monkeypatch, free=1)

    def fail(_kb: KnowledgeBase) -> None:
        raise StoreError("the disk is full", hint="make room")

    gate.at_gate = fail
    code, out, err = run(runner, "research", ASKED)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == "Error: the disk is full (make room)"
    assert (kept(home)[0].state, kept(home)[0].reason) == ("failed", "the disk is full (make room)")
    gate.open()
    assert "\nRopes\n" in run(runner, "research", "--resume", "last")[1]


# --- in a process of its own ----------------------------------------------------------------------

# The program with the readable embedder; it kills itself after so many events of a run.
PROGRAM = """
import functools, os, signal, sys
from wellread import kb
from wellread.store.catalogue.asking.research_records import ResearchRuns
from wellread.testing.embedding import ReadableEmbedder
kb.open_kb = functools.partial(kb.open_kb, embedder=ReadableEmbedder())
left, store = int(sys.argv.pop(1)), ResearchRuns.store_event
def counted(runs, *given, **more):
    global left
    store(runs, *given, **more)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
ResearchRuns.store_event = counted
from wellread.serve.cli import main
main()
"""


def other(home: Path, *words: str, events: int = -1) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "WELLREAD_HOME": str(home), "COLUMNS": "100", "PYTHONUTF8": "1"}
    return forked.run(PROGRAM, str(events), "research", *words, env=env)


@pytest.mark.parametrize("events", [1, 4])
def test_a_killed_run_goes_on_to_the_same_report(
    home: Path, runner: CliRunner, events: int
) -> None:
    undisturbed = json.loads(run(runner, "research", ASKED, "--json")[1])
    killed = other(home, ASKED, "--events", events=events)
    assert killed.returncode == -signal.SIGKILL
    begun = json.loads(killed.stdout.splitlines()[0])
    assert "report" not in killed.stdout
    name = begun["data"]["id"]
    assert f"id: {name}\nstate: interrupted" in run(runner, "research", "--show", name)[1]
    code, out, _ = run(runner, "research", "--resume", name, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["id"] == name
    assert report["answer"]["answer"] == undisturbed["answer"]["answer"]
    assert report["searches"] == undisturbed["searches"]


# --- ask --mode deep ------------------------------------------------------------------------------


def test_ask_in_deep_mode_is_a_research_run(runner: CliRunner, home: Path) -> None:
    code, out, _ = run(runner, "ask", ASKED, "--mode", "deep")
    assert code == 0
    assert "\nRopes\n" in out
    assert "would look wider" not in out
    body = json.loads(run(runner, "ask", ASKED, "--mode", "deep", "--json")[1])
    assert (body["mode"], body["answeredBy"]) == ("deep", "extractive")
    assert "## Ropes" in body["answer"]
    assert [run.state for run in kept(home)] == ["done", "done"]
    assert run(runner, "ask", ASKED, "--mode", "deep", "--sources-only")[0] == 1
