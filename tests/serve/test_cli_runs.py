"""``sync``, ``jobs``, ``export``, ``import``, ``watch`` and standard input on the command line."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.serve.conftest import run
from typer.testing import CliRunner

from wellread.ingest.pipeline.job_log import Report
from wellread.serve.cli import material_cli
from wellread.serve.features.home_and_jobs import ReportBody
from wellread.serve.features.home_and_jobs import report_body as report_body_of
from wellread.store.catalogue.run_logs import Jobs


def test_sync_removes_what_is_gone_and_says_so(runner: CliRunner, material: Path) -> None:
    run(runner, "add", material)
    (material / "signs.txt").unlink()
    code, out, _ = run(runner, "sync", material, "--json")
    assert code == 0
    body = json.loads(out)
    assert body["counts"]["removed"] == 1
    assert body["counts"]["unchanged"] == 2
    (gone,) = [each for each in body["sources"] if each["status"] == "removed"]
    assert gone["uri"].endswith("signs.txt")
    code, out, _ = run(runner, "sync", material / "nowhere")
    assert code == 1


def test_jobs_are_listed_shown_and_resumed(runner: CliRunner, material: Path) -> None:
    code, out, _ = run(runner, "jobs")
    assert "There are no jobs yet" in out
    (material / "bad.vtt").write_text("WEBVTT\n\nno cue")
    assert run(runner, "add", material, "-c", "town")[0] == 1
    code, out, _ = run(runner, "jobs", "--json")
    (job,) = json.loads(out)["items"]
    assert (job["action"], job["state"], job["total"], job["done"]) == ("add", "done", 4, 4)
    code, out, _ = run(runner, "jobs")
    assert re.search(r"add +town +done +\S+ \S+ +4 +4 +1", out)
    code, out, _ = run(runner, "jobs", job["id"][:12], "--status", "failed")
    assert re.search(r"^failed .*bad\.vtt", out, re.MULTILINE)
    assert "ferry.md" not in out
    code, out, _ = run(runner, "jobs", job["id"], "--json")
    assert json.loads(out)["counts"] == {"added": 3, "failed": 1}
    (material / "bad.vtt").unlink()
    code, out, _ = run(runner, "jobs", job["id"], "--resume", "--json")
    assert code == 0
    assert json.loads(out)["counts"]["unchanged"] == 3


@pytest.mark.parametrize("command", ["add", "sync"])
def test_a_run_that_was_cancelled_is_no_success(
    runner: CliRunner, material: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(Jobs, "progress", lambda *_, **__: True)  # asked to stop, from elsewhere
    code, out, _ = run(runner, command, material)
    assert code == 1
    assert "Stopped before the end" in out


@pytest.mark.parametrize("words", [[], ["--cancel"], ["--resume"]])
def test_a_job_that_is_not_there_is_an_error(runner: CliRunner, words: list[str]) -> None:
    code, _, err = run(runner, "jobs", *words, "job_nothing")
    assert code == 1
    assert "job_nothing" in err


@pytest.mark.sqlite_only  # an import brings a file
def test_a_home_moves_in_one_file(runner: CliRunner, material: Path, tmp_path: Path) -> None:
    run(runner, "add", material)
    code, out, _ = run(runner, "backup", "export", tmp_path / "all.tar.gz")
    assert code == 0
    assert "3 documents" in out
    moved = tmp_path / "moved"
    code, out, err = run(runner, "backup", "import", tmp_path / "all.tar.gz", "--home", moved)
    assert code == 0, err
    assert "Everything matches" in out
    code, out, _ = run(runner, "search", "Osprey", "--home", moved, "--json")
    assert "ferry.md" in out
    code, _, err = run(runner, "backup", "import", tmp_path / "all.tar.gz", "--home", moved)
    assert code == 1
    assert "not empty" in err


def test_standard_input_is_added_under_its_name(runner: CliRunner) -> None:
    code, out, _ = run(
        runner, "add", "-", "--name", "note.md", "--json", typed="# Quay\n\nThe quay was swept.\n"
    )
    assert code == 0
    (source,) = json.loads(out)["sources"]
    assert (source["uri"], source["status"]) == ("stdin:note.md", "added")
    code, _, err = run(runner, "add", "-")
    assert code == 1
    assert "empty" in err


def test_watch_reads_what_is_there_and_what_comes(
    runner: CliRunner, material: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    monkeypatch.setattr(material_cli, "threading", SimpleNamespace(Event=lambda: stop))
    told: list[str] = []
    real = report_body_of

    def report_body(report: Report, collection: str) -> ReportBody:
        body = real(report, collection)
        told.append(body.report.job_id)
        if len(told) == 1:
            (material / "new.txt").write_text("A lantern was hung at the quay.\n")
        else:
            stop.set()
        return body

    monkeypatch.setattr(material_cli, "report_body", report_body)
    giving_up = threading.Timer(60, stop.set)
    giving_up.start()
    code, out, _ = run(runner, "watch", material, "--json")
    giving_up.cancel()
    assert code == 0
    first, second = [json.loads(line) for line in out.splitlines()]
    assert first["counts"]["added"] == 3
    assert [each["uri"].rsplit("/", 1)[-1] for each in second["sources"]] == ["new.txt"]


def test_remove_takes_a_document_out_and_proves_it(runner: CliRunner, material: Path) -> None:
    run(runner, "add", material)
    code, out, _ = run(runner, "remove", material / "ferry.md")
    assert code == 0
    assert "Removed 1 sources and 1 documents" in out
    assert re.search(
        r"Searched for \d+ of their sentences in the catalogue('s tables)?, the index and", out
    )
    assert "no trace is left" in out
    assert "ferry.md" not in run(runner, "search", "Osprey", "--json")[1]
    code, out, _ = run(runner, "verify", "--json")
    assert code == 0
    assert json.loads(out)["problems"] == []
    code, _, err = run(runner, "remove", material / "ferry.md")
    assert code == 1
    assert "ferry.md" in err


def test_a_whole_collection_goes_with_all_only(runner: CliRunner, material: Path) -> None:
    run(runner, "add", material, "-c", "town")
    assert run(runner, "remove", "-c", "town")[0] == 1
    code, out, _ = run(runner, "remove", "-c", "town", "--all", "--json")
    assert code == 0
    body = json.loads(out)
    assert (body["documents"], body["traces"]) == (3, [])
    assert body["lookedFor"] > 0
    assert json.loads(run(runner, "collections", "--json")[1])["documents"] == 0
