"""``wellread users``: accounts, groups, grants, keys and the audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.serve.cli import app
from wellread.serve.http.app import address_to_serve

SECRET = "a pier in the fog"


def told(runner: CliRunner, *words: str, given: str = "") -> Any:
    result = runner.invoke(app, ["--json", *words], input=given)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def listed_by(runner: CliRunner, *words: str) -> Any:
    body = told(runner, *words)
    assert body["total"] == len(body["items"])
    return body["items"]


def refused(runner: CliRunner, *words: str, given: str = "") -> str:
    result = runner.invoke(app, ["--json", *words], input=given)
    assert result.exit_code == 1
    problem = json.loads(result.stderr)
    return f"{problem['detail']} {problem['hint']}"


def test_a_team_is_set_up_from_the_command_line(runner: CliRunner, home: Path) -> None:
    assert "must be an admin" in refused(
        runner, "users", "add", "ana", "--password-stdin", given=SECRET + "\n"
    )
    root = told(
        runner, "users", "add", "root", "--role", "admin", "--password-stdin", given=SECRET + "\n"
    )
    assert (root["name"], root["role"]) == ("root", "admin")
    assert "cannot prompt" in refused(runner, "users", "add", "ana")
    told(runner, "users", "add", "ana", "--password-stdin", given=SECRET + "\n")
    assert told(runner, "users", "change", "ana", "--role", "editor")["role"] == "editor"
    told(runner, "users", "group", "crew")
    (crew,) = listed_by(runner, "users", "group", "crew", "--add", "ana")
    assert crew["members"] == ["ana"]
    (grant,) = listed_by(runner, "users", "grant", "town", "--group", "crew", "--role", "reader")
    assert grant == {"collection": "town", "role": "reader", "user": "", "group": "crew"}
    assert "name a user or a group" in refused(runner, "users", "grant", "town")
    assert "no user" in refused(runner, "users", "grant", "town", "--user", "bo")
    key = told(runner, "users", "key", "ana", "--name", "notes", "--scope", "read", "--days", "7")
    assert key["key"].startswith("wr_")
    (listed,) = listed_by(runner, "users", "key")
    assert "key" not in listed
    assert listed["start"] == key["key"][:10]
    assert "no scope" in refused(runner, "users", "key", "ana", "--scope", "all")
    told(runner, "users", "key", "--revoke", "notes")
    assert listed_by(runner, "users", "key") == []
    assert told(runner, "users", "change", "ana", "--disable")["disabled"]
    assert not told(runner, "users", "change", "ana", "--enable")["disabled"]
    revoked = listed_by(runner, "users", "grant", "town", "--group", "crew", "--revoke")
    assert revoked == []
    (crew,) = listed_by(runner, "users", "group", "crew", "--take", "ana")
    assert crew["members"] == []
    assert listed_by(runner, "users", "group", "crew", "--remove") == []
    assert "no group" in refused(runner, "users", "group", "fleet", "--take", "ana")
    assert "nothing to change" in refused(runner, "users", "change", "ana")
    assert "last admin" in refused(runner, "users", "remove", "root")
    assert told(runner, "users", "remove", "ana", "--forget")["purged"]
    assert [one["name"] for one in listed_by(runner, "users")] == ["root"]
    log = listed_by(runner, "users", "audit")
    assert [one["user"] for one in log] == [""] * len(log)
    assert log[-1]["target"].startswith("users add usr_")
    held = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert SECRET.encode() not in held


def test_an_address_for_others_demands_an_admin(kb: KnowledgeBase) -> None:
    has_admin = kb.catalogue.accounts.users.has_admin
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(RequestError, match="users add NAME --role admin"):
            address_to_serve(host, has_admin=has_admin)
    assert address_to_serve("localhost", has_admin=has_admin).is_loopback
    with pytest.raises(RequestError, match="it is not an IP address"):
        address_to_serve("box.example", has_admin=has_admin)
    root = kb.catalogue.accounts.users.add("root", "admin", SECRET)
    assert str(address_to_serve("0.0.0.0", has_admin=has_admin)) == "0.0.0.0"
    kb.catalogue.accounts.users.add("deputy", "admin", SECRET)
    kb.catalogue.accounts.users.set_disabled(root.id, True)
    assert address_to_serve("0.0.0.0", has_admin=has_admin)
