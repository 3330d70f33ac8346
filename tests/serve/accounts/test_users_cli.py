"""``wellread users``, ``groups``, ``grants``, ``keys`` and ``audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.serve.cli import app
from wellread.serve.server.app import address_to_serve

SECRET = "a pier in the fog"


def told(runner: CliRunner, *words: str, given: str = "") -> Any:
    result = runner.invoke(app, ["--json", *words], input=given)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(runner: CliRunner, *words: str, given: str = "") -> str:
    result = runner.invoke(app, ["--json", *words], input=given)
    assert result.exit_code == 1
    problem = json.loads(result.stderr)
    return f"{problem['detail']} {problem['hint']}"


def test_a_team_is_set_up_from_the_command_line(runner: CliRunner, home: Path) -> None:
    assert "has to be an admin" in refused(
        runner, "users", "add", "ana", "--password-stdin", given=SECRET + "\n"
    )
    root = told(
        runner, "users", "add", "root", "--role", "admin", "--password-stdin", given=SECRET + "\n"
    )
    assert (root["name"], root["role"]) == ("root", "admin")
    assert "nobody to ask" in refused(runner, "users", "add", "ana")
    told(runner, "users", "add", "ana", "--password-stdin", given=SECRET + "\n")
    assert told(runner, "users", "role", "ana", "editor")["role"] == "editor"
    told(runner, "groups", "add", "crew")
    (crew,) = told(runner, "groups", "join", "crew", "ana")
    assert crew["members"] == ["ana"]
    (grant,) = told(runner, "grants", "add", "town", "--group", "crew", "--role", "reader")
    assert grant == {"collection": "town", "role": "reader", "user": "", "group": "crew"}
    assert "one of them" in refused(runner, "grants", "add", "town")
    assert "no user" in refused(runner, "grants", "add", "town", "--user", "bo")
    key = told(runner, "keys", "new", "ana", "--name", "notes", "--scope", "read", "--days", "7")
    assert key["key"].startswith("wr_")
    (listed,) = told(runner, "keys", "list", "--user", "ana")
    assert "key" not in listed
    assert listed["start"] == key["key"][:10]
    assert "no scope" in refused(runner, "keys", "new", "ana", "--scope", "all")
    told(runner, "keys", "revoke", "notes")
    assert told(runner, "keys", "list") == []
    assert told(runner, "users", "disable", "ana")["disabled"]
    assert not told(runner, "users", "enable", "ana")["disabled"]
    assert told(runner, "grants", "remove", "town", "--group", "crew") == []
    assert "last admin" in refused(runner, "users", "remove", "root")
    assert told(runner, "users", "remove", "ana", "--forget")["purged"]
    assert [one["name"] for one in told(runner, "users", "list")] == ["root"]
    log = told(runner, "audit")
    assert [one["user"] for one in log] == [""] * len(log)
    assert log[-1]["target"].startswith("users add usr_")
    held = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert SECRET.encode() not in held


def test_tables_are_for_people(runner: CliRunner) -> None:
    words = ["users", "add", "root", "--role", "admin", "--password-stdin"]
    assert runner.invoke(app, words, input=SECRET + "\n").exit_code == 0
    for command in (["users", "list"], ["keys", "new", "root"], ["keys", "list"], ["audit"]):
        result = runner.invoke(app, command)
        assert result.exit_code == 0, result.stderr
        assert result.stdout.strip()


def test_an_address_for_others_demands_an_admin(kb: KnowledgeBase) -> None:
    has_admin = kb.catalogue.accounts.users.has_admin
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(RequestError, match="users add NAME --role admin"):
            address_to_serve(host, has_admin=has_admin)
    assert address_to_serve("localhost", has_admin=has_admin).is_loopback
    with pytest.raises(RequestError, match="it is no address"):
        address_to_serve("box.example", has_admin=has_admin)
    root = kb.catalogue.accounts.users.add("root", "admin", SECRET)
    assert str(address_to_serve("0.0.0.0", has_admin=has_admin)) == "0.0.0.0"
    kb.catalogue.accounts.users.add("deputy", "admin", SECRET)
    kb.catalogue.accounts.users.set_disabled(root.id, True)
    assert address_to_serve("0.0.0.0", has_admin=has_admin)
