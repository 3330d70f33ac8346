"""A stranger calls every tool of the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.rights.conftest import (
    CANARIES,
    RIVAL,
    STRANGER,
    As,
    Place,
    both,
    client_of,
    foreign_names,
    served_at,
)
from tests.serve.rights.requests_of_a_stranger import ASKED, WIDE, filled
from tests.serve.rights.test_rights_routes import DRAWN

pytest.importorskip("wellread.serve.mcp.mcp_server")

from wellread.serve.mcp.tool_calls import TOOLS

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
BEGIN = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
FERRY = "ferry Osprey"
CALLS: dict[str, list[dict[str, Any]]] = {
    "ask": [
        {"question": ASKED},
        {"question": WIDE},
        {"question": ASKED, "collection": "obsidianvault"},
        {"question": "And then?", "session_id": "{f_session}"},
        {"question": WIDE, "mode": "deep"},
    ],
    "search": [{"query": FERRY}, {"query": "quixomel"}],
    "fetch": [{"id": "{f_document}"}, {"id": "{f_passage}"}, {"id": "The Vandrokh ferry"}],
}


async def call(client: httpx.AsyncClient, session: str, method: str, params: Any) -> httpx.Response:
    """The response to one message of a session; an empty session is none."""
    headers = {**HEADERS, **({"mcp-session-id": session} if session else {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await client.post("/mcp", json=message, headers=headers)


async def begun(client: httpx.AsyncClient) -> str:
    """The id of a new session."""
    reply = await call(client, "", "initialize", BEGIN)
    assert reply.status_code == 200, reply.text
    session = reply.headers["mcp-session-id"]
    headers = {**HEADERS, "mcp-session-id": session}
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post("/mcp", json=message, headers=headers)).status_code == 202
    return str(session)


def messages(names: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """All that is sent: what is theirs, and what names something foreign."""
    found: list[tuple[str, dict[str, Any]]] = [
        (f"{kind}/list", {}) for kind in ("tools", "resources", "prompts")
    ]
    for name in TOOLS:
        found += [("tools/call", {"name": name, "arguments": one}) for one in CALLS[name]]
    return [(method, filled(params, names)) for method, params in found]


def test_no_tool_is_forgotten() -> None:
    assert set(TOOLS) == set(CALLS)


async def test_a_stranger_finds_nothing_foreign_by_tools(
    rights_homes: tuple[Path, Path], tmp_path: Path
) -> None:
    wrong: list[str] = []
    async with both(rights_homes, tmp_path) as (mixed, alone):
        names = {f"f_{kind}": value for kind, value in foreign_names(mixed.kb).items()}
        sessions = [await begun(place.client) for place in (mixed, alone)]
        for method, params in messages(names):
            said = []
            for place, session in zip((mixed, alone), sessions, strict=True):
                reply = await call(place.client, session, method, params)
                told = reply.text.replace('\\"', '"')  # a result is JSON within JSON
                said.append(DRAWN.sub("·", f"{reply.status_code} {told}"))
            leaked = [word for word in CANARIES if word in said[0].lower()]
            echoed = [word for word in leaked if word in said[1].lower()]
            if said[0] != said[1] or leaked != echoed:
                wrong.append(f"{method} {params}: {said[0][:1500]} / {said[1][:1500]}")
    assert wrong == []


async def test_a_session_is_its_owners(rights_homes: tuple[Path, Path]) -> None:
    async with served_at(rights_homes[1]) as place:
        session = await begun(place.client)
        assert (await called(place, STRANGER, session)) == 200
        assert (await called(place, RIVAL, session)) == 404


async def called(place: Place, asker: Any, session: str) -> int:
    """The status of a list of tools in that session."""
    async with client_of(As(place.app, asker)) as client:
        return (await call(client, session, "tools/list", {})).status_code
