from __future__ import annotations

import json
import logging
import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.serve.conftest import printed, run
from typer.main import get_group
from typer.testing import CliRunner

from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve import cli
from wellread.serve.cli import COMMANDS, global_first, material_cli

FERRY_QUESTION = "How much was the ferry Osprey bought for?"


def row(name: str, count: int) -> re.Pattern[str]:
    return re.compile(rf"^{name}\s+{count}\s*$", re.MULTILINE)


def test_global_options_may_stand_anywhere_before_two_dashes() -> None:
    words = ["ask", "why", "--json", "--home", "a", "--home=b", "-v", "--", "--json"]
    moved = ["--json", "--home", "a", "--home=b", "-v", "ask", "why", "--", "--json"]
    assert global_first(words) == moved
    assert global_first(["stats", "--home"]) == ["--home", "stats"]


LISTED = {name: told for group in COMMANDS.values() for name, told in group.items()}


def test_the_list_of_commands_says_what_each_module_has() -> None:
    folder = Path(cli.__file__).parent
    modules = {path.stem for path in folder.rglob("*_cli.py")}
    assert modules == {module for module, _ in LISTED.values()}
    for module in modules:
        found = get_group(import_module(f"wellread.serve.cli.{module}").app).commands
        assert set(found) == {name for name, (place, _) in LISTED.items() if place == module}
        for name in found:
            words = re.split(r"[ ,:;.]+", LISTED[name][1].rstrip("."))
            assert (found[name].help or "").startswith(words[0]), name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serch"], "Did you mean search"),
        (["users", "grnt"], "Did you mean 'grant'"),
        (["zzzz"], "--help"),
    ],
)
def test_a_wrong_command_is_answered_with_those_like_it(
    runner: CliRunner, words: list[str], said: str
) -> None:
    code, out, err = run(runner, *words)
    assert (code, out) == (2, "")
    assert said in err


# --- add -------------------------------------------------------------------------------------


def test_add_counts_and_a_second_run_finds_everything_unchanged(
    runner: CliRunner, material: Path
) -> None:
    code, out, _ = run(runner, "add", material, "-c", "town")
    assert code == 0
    assert row("added", 3).search(out)
    assert "“town”" in out
    code, out, _ = run(runner, "add", material, "-c", "town")
    assert code == 0
    assert row("added", 0).search(out)
    assert row("unchanged", 3).search(out)


def test_add_names_what_failed_and_why_and_keeps_the_rest(
    runner: CliRunner, material: Path
) -> None:
    (material / "bad.md").write_bytes(b"no \x80 text \x81")
    (material / "paper.pdf").write_text("this is no PDF", encoding="utf-8")
    code, out, _ = run(runner, "add", material)
    assert code == 1
    assert row("added", 3).search(out)
    assert row("failed", 2).search(out)
    assert re.search(r"^failed +\S*/paper\.pdf: \S", out, re.MULTILINE)
    assert re.search(r"^failed +\S*/bad\.md: \S", out, re.MULTILINE)


def test_add_json_is_one_object_and_nothing_else(runner: CliRunner, material: Path) -> None:
    code, out, err = run(runner, "add", material, "--json")
    body = json.loads(out)
    assert code == 0
    assert err == ""
    counts = dict.fromkeys(("updated", "unchanged", "skipped", "failed", "removed"), 0)
    assert body["counts"] == {"added": 3, **counts}
    assert {source["status"] for source in body["sources"]} == {"added"}
    assert body["passages"] == sum(source["passages"] for source in body["sources"]) > 0


def test_add_of_a_path_that_is_not_there_fails(runner: CliRunner, tmp_path: Path) -> None:
    code, out, _ = run(runner, "add", tmp_path / "nowhere.md")
    assert code == 1
    assert "nowhere.md" in out


# --- ask, search -----------------------------------------------------------------------------


@pytest.fixture
def filled(runner: CliRunner, kb: KnowledgeBase) -> CliRunner:
    kb.close()
    return runner


def test_ask_shows_the_answer_its_verdicts_and_where_it_stands(filled: CliRunner) -> None:
    code, out, _ = run(filled, "ask", FERRY_QUESTION)
    assert code == 0
    assert "2.6 million euros" in out
    assert "❞" in out
    assert re.search(r"^\[1\] .*The ferry", out, re.MULTILINE)
    assert "Confidence" in out
    assert "Answered by extractive in" in out


def test_ask_json_is_the_shape_of_the_api(filled: CliRunner) -> None:
    code, out, _ = run(filled, "--json", "ask", FERRY_QUESTION, "--topic", "town")
    body = json.loads(out)
    assert code == 0
    assert body["answeredBy"] == "extractive"
    citation = body["citations"][0]
    assert "2.6 million" in citation["quote"]
    assert citation["viewUrl"].startswith(f"/view/{citation['documentId']}?start=")
    assert body["sentences"][0]["verdict"] == "quoted"
    assert {step["name"] for step in body["steps"]} >= {"retrieval", "extracts"}


def test_ask_reads_over_a_byte_that_is_no_character(filled: CliRunner) -> None:
    """As a shell with another encoding hands it over: a lone surrogate in the argument."""
    code, out, _ = run(filled, "ask", FERRY_QUESTION.replace("Osprey", "Osprey \udcff"))
    assert code == 0
    assert "Osprey" in out


def test_ask_without_an_answer_is_status_3_and_says_so(filled: CliRunner) -> None:
    code, out, _ = run(filled, "ask", "Zyzzyva quokka xylophone?")
    assert code == 3
    assert "No answer in this material" in out
    assert "Declined" in out


@pytest.mark.parametrize("words", [("ask", "Why?"), ("search", "ferry"), ("chat",)])
@pytest.mark.sqlite_only
def test_an_empty_home_says_so_and_nothing_is_made(
    runner: CliRunner, home: Path, words: tuple[str, ...]
) -> None:
    code, out, err = run(runner, *words, typed="Is it open?")
    assert (code, out) == (1, "")
    assert err == "Error: This home is empty: add something first (wellread add PATH)\n"
    assert not home.exists()
    run(runner, "collections")
    assert run(runner, *words, typed="Is it open?")[2] == err


def test_ask_sources_only_lists_evidence_and_writes_no_answer(filled: CliRunner) -> None:
    code, out, _ = run(filled, "ask", FERRY_QUESTION, "--sources-only")
    assert code == 0
    assert "The ferry" in out
    assert "Confidence" not in out
    _, out, _ = run(filled, "ask", FERRY_QUESTION, "--sources-only", "--json")
    sources = json.loads(out)["items"]
    assert sources[0]["key"] == "e1"
    assert all({"link", "viewUrl", "quote", "locator"} <= set(source) for source in sources)


# --- errors ----------------------------------------------------------------------------------


def test_an_error_is_one_readable_line_with_a_hint(filled: CliRunner) -> None:
    code, out, err = run(filled, "ask", "Anything?", "--topic", "atlantis")
    assert code == 1
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("Error: ")
    assert "atlantis" in err
    assert "nature, town" in err
    assert "Traceback" not in err


def test_an_error_with_json_is_an_object(filled: CliRunner) -> None:
    code, out, err = run(filled, "ask", "Anything?", "--topic", "atlantis", "--json")
    body = json.loads(err)
    assert code == 1
    assert out == ""
    assert set(body) == {"error", "detail", "hint"}
    assert body["error"] == "unknown_topic"


def test_a_logged_failure_is_one_line_unless_asked_for(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noisy(_kb: KnowledgeBase) -> None:
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            logging.getLogger("wellread.somewhere").warning("a %s failed", "part", exc_info=True)
        raise WellreadError("and so it ended")

    monkeypatch.setattr(material_cli, "holdings_body", noisy)
    _, _, err = run(runner, "collections")
    assert err.splitlines() == ["Warning: a part failed", "Error: and so it ended"]
    _, _, err = run(runner, "collections", "-v")
    assert "ZeroDivisionError" in err
    assert "wellread.somewhere" in err


def test_a_wrong_setting_is_an_error_not_a_crash(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLREAD_SERVE_PORT", "far too large")
    code, _, err = run(runner, "collections")
    assert code == 1
    assert "serve.port" in err


def test_the_system_s_errors_are_one_line_too(runner: CliRunner, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    code, _, err = run(runner, "collections", "--home", file / "below")
    assert code == 1
    assert err.startswith("Error: ")


def test_wrong_usage_is_status_2(runner: CliRunner) -> None:
    assert run(runner, "ask")[0] == 2
    assert run(runner, "ask", "x", "--kind", "poem")[0] == 2
    assert run(runner, "search", "x", "--limit", "0")[0] == 2
    assert run(runner, "frobnicate")[0] == 2


# --- collections, verify, settings, serve --------------------------------------------------


def test_collections_are_renamed_merged_and_described(filled: CliRunner) -> None:
    assert "is now “sea”" in printed(filled, "collections", "rename", "nature", "sea")
    printed(filled, "collections", "describe", "sea", "About the coast.")
    code, _, err = run(filled, "collections", "rename", "sea", "town")
    assert (code, "already a collection" in err) == (1, True)
    assert "1 documents" in printed(filled, "collections", "merge", "sea", "town")
    listed = json.loads(printed(filled, "collections", "--json"))["items"]
    assert {one["name"] for one in listed} == {"town"}


def test_collections_counts_per_collection_and_kind(filled: CliRunner) -> None:
    code, out, _ = run(filled, "collections")
    assert code == 0
    assert re.search(r"^town +page +2 +\d", out, re.MULTILINE)
    assert re.search(r"^town +transcript +1 +\d", out, re.MULTILINE)
    assert "readable/128" in out
    _, out, _ = run(filled, "collections", "--json")
    body = json.loads(out)
    assert body["documents"] == 4
    assert body["passages"] == sum(line["passages"] for line in body["items"])
    assert body["total"] == len(body["items"])
    assert body["fingerprint"]["embedder"] == "readable/128"
    assert body["bytes"] > 0


def test_verify_is_status_1_until_it_is_mended(filled: CliRunner, kb: KnowledgeBase) -> None:
    assert run(filled, "verify")[0] == 0
    found = next(iter(kb.catalogue.passage_keys()))
    kb.index.remove([(found.document_id, found.version)])
    code, out, _ = run(filled, "verify")
    assert code == 1
    assert found.document_id in out
    assert "--repair" in out
    code, out, _ = run(filled, "verify", "--repair", "--json")
    assert code == 0
    assert [problem["repaired"] for problem in json.loads(out)["problems"]] == [True]
    code, out, _ = run(filled, "verify")
    assert code == 0
    assert "Everything matches" in out


def test_a_setting_is_shown_and_set_and_what_else_the_file_says_stays(
    runner: CliRunner, home: Path
) -> None:
    file = home / "wellread.yaml"
    home.mkdir()
    file.write_text("# ours\nserve:\n  port: 1 # one\n  host: '::1'\n", encoding="utf-8")
    assert run(runner, "settings", "serve.port") == (0, "1\n", "")
    assert run(runner, "settings", "serve.port", "9998")[:2] == (0, "9998\n")
    assert run(runner, "settings", "retrieval.top_k", "7")[1] == "7\n"
    assert run(runner, "settings", "retrieval.fusion", "rrf")[1] == "rrf\n"
    kept = file.read_text(encoding="utf-8")
    assert kept.startswith("# ours\nserve:\n  port: 9998\n  host: '::1'\n")
    assert json.loads(run(runner, "settings", "serve.host", "--json")[1])["value"] == "::1"
    assert run(runner, "settings", "sources.exclude", "[a/, b/]")[1] == "a/, b/\n"
    for words, said in (
        (["retrieval.topk"], "did you mean retrieval.top_k"),
        (["serve.port", "many"], "serve.port"),
        (["zzz", "1"], "wellread settings"),
    ):
        code, _, err = run(runner, "settings", *words)
        assert code == 1
        assert said in err
    assert file.read_text(encoding="utf-8").count("port") == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "::", "example.org", ""])
def test_serve_refuses_addresses_that_others_can_reach(runner: CliRunner, host: str) -> None:
    code, out, err = run(runner, "serve", "--host", host, "--port", "0")
    assert code == 1
    assert out == ""
    assert err.startswith("Starting: loading the program …\nOpening ")
    assert "is refused" in err
