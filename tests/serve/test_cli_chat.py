"""``chat`` and ``answers`` on the command line, with lines from a pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import run
from typer.testing import CliRunner

from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.cli import chat_cli
from wellread.serve.cli.ask_cli import show_answer
from wellread.testing.embedding import ReadableEmbedder

FERRY = "What did the ferry Osprey cost?"
AGAIN = "How many passengers does it carry?"


def talk(runner: CliRunner, *lines: str, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    code, out, err = run(runner, "chat", "--json", *options, typed="\n".join(lines))
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(autouse=True)
def filled(kb: KnowledgeBase) -> None:
    """Every test here works on the filled home."""


def test_each_line_is_a_question_read_with_those_before_it(runner: CliRunner) -> None:
    first, second = talk(runner, FERRY, "", AGAIN)
    assert first["sessionId"] == second["sessionId"]
    assert first["standalone"] == ""
    assert "Osprey" in second["standalone"]
    assert second["question"] == AGAIN
    assert "ninety passengers" in second["answer"]


def test_new_begins_another_session_and_a_session_goes_on(runner: CliRunner) -> None:
    first, second = talk(runner, FERRY, "/new", AGAIN)
    assert first["sessionId"] != second["sessionId"]
    assert second["standalone"] == ""
    (third,) = talk(runner, AGAIN, options=("--session", first["sessionId"]))
    assert third["sessionId"] == first["sessionId"]
    assert "Osprey" in third["standalone"]


def test_ask_shows_more_within_the_talk(runner: CliRunner) -> None:
    whole, sources, again = talk(
        runner,
        f"/ask {FERRY} --detailed --coverage",
        f"/ask --sources-only {FERRY}",
        f"/ask {AGAIN}",
    )
    assert whole["question"] == FERRY
    assert whole["contexts"]
    assert "coverage" in whole
    assert sources["total"] == len(sources["items"]) > 0
    assert again["sessionId"] == whole["sessionId"]
    code, out, _ = run(runner, "chat", typed="/ask x --brief\n")
    assert (code, "--sources-only" in out, "? x" in out) == (0, True, False)


def test_a_question_that_fails_does_not_end_the_talk(runner: CliRunner) -> None:
    code, out, err = run(runner, "chat", typed=f"{'x' * 4001}\n{FERRY}\n")
    assert code == 1
    assert "the limit is 4,000" in err
    assert "2.6 million" in out


def test_ctrl_c_cancels_the_answer_and_not_the_talk(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = show_answer
    calls: list[str] = []

    def interrupted(*given: Any, **more: Any) -> Any:
        calls.append("")
        if len(calls) == 1:
            raise KeyboardInterrupt
        return answered(*given, **more)

    monkeypatch.setattr(chat_cli, "show_answer", interrupted)
    code, out, _ = run(runner, "chat", typed=f"{AGAIN}\n{FERRY}\n")
    assert code == 0
    assert "Cancelled." in out
    assert "2.6 million" in out


# --- sessions --------------------------------------------------------------------------------


def test_sessions_are_listed_shown_and_removed(runner: CliRunner) -> None:
    first, _ = talk(runner, FERRY, AGAIN)
    known = first["sessionId"]
    assert known in run(runner, "answers", "--sessions")[1]
    _, out, _ = run(runner, "answers", "--sessions", "--json")
    (one,) = json.loads(out)["items"]
    assert (one["id"], one["turns"], one["title"]) == (known, 2, FERRY)
    _, out, _ = run(runner, "answers", "show", known)
    assert out.index(FERRY) < out.index(AGAIN)
    _, out, _ = run(runner, "answers", "show", known, "--json")
    assert [each["question"] for each in json.loads(out)["answers"]] == [FERRY, AGAIN]
    code, out, _ = run(runner, "answers", "remove", known)
    assert (code, out) == (0, "Removed the session and its 2 answers.\n")
    assert "There are no answers yet." in run(runner, "answers")[1]
    for command, what in (("show", "answer"), ("remove", "session")):
        code, _, err = run(runner, "answers", command, known)
        assert code == 1
        assert f"there is no {what}" in err


# --- answers ---------------------------------------------------------------------------------


def test_an_answer_is_verified_again(runner: CliRunner, home: Path) -> None:
    (given,) = talk(runner, FERRY)
    code, out, _ = run(runner, "answers", "verify", given["id"])
    assert code == 0
    assert "the source has not changed" in out
    assert out.endswith("The answer is still valid.\n")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        kb.catalogue.remove_sources("town", list(kb.catalogue.sources("town")))
    code, out, _ = run(runner, "answers", "verify", "last")
    assert code == 1
    assert "the source no longer exists" in out
    assert "Stale: ask again" in out
    assert "Stale: a source has changed" in run(runner, "answers", "show", "last")[1]
    code, out, _ = run(runner, "answers", "verify", "last", "--json")
    body = json.loads(out)
    assert (code, body["stale"], body["citations"][0]["standing"]) == (1, True, "gone")


def test_ask_goes_on_with_a_session_and_writes_anew_when_told(runner: CliRunner) -> None:
    (first,) = talk(runner, FERRY)
    session = first["sessionId"]
    code, out, err = run(runner, "ask", "--json", "--session", session, AGAIN)
    assert code == 0, err
    assert json.loads(out)["sessionId"] == session
    assert json.loads(out)["standalone"]
    given = [
        json.loads(run(runner, "ask", "--json", *flag, FERRY)[1])["cached"]
        for flag in ((), ("--fresh",))
    ]
    assert given == [True, False]
