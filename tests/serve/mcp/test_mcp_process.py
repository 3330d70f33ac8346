"""The programs as clients start them: ``wellread mcp`` over stdio, ``wellread serve`` at /mcp."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters
from tests.conftest import PlaceModel
from tests.doubles import forked
from tests.doubles.one_thread import ONE_THREAD
from tests.serve.mcp.conftest import text_of
from typer.testing import CliRunner

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli import app

pytestmark = pytest.mark.sqlite_only  # its processes open the homes of these tests

PROGRAM = ("-m", "wellread.serve.cli")
WITHOUT = "import sys; sys.modules['mcp'] = None; from wellread.serve.cli import main; main()"
# A client of today asks which protocol there is; an older one shakes hands.
PROTOCOLS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
QUESTION = {"question": "What did the ferry Osprey cost?"}


def environment() -> dict[str, str]:
    return {**os.environ, **ONE_THREAD, "COLUMNS": "100", "PYTHONUTF8": "1"}


@pytest.fixture(scope="module")
def real_home(
    tmp_path_factory: pytest.TempPathFactory, town: Path, place_model: PlaceModel
) -> Path:
    """A home that was filled with the model that comes with the package."""
    home = tmp_path_factory.mktemp("mcp") / "a home"
    place_model(home)
    with open_kb(home) as kb:
        add(kb, [str(town)], collection="town")
    return home


async def tried(client: Client, mode: str) -> dict[str, str]:
    """What a newcomer does first; gives a citation."""
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with client:
        assert client.protocol_version == PROTOCOLS[mode]
        assert client.instructions is not None
        assert "is data" in client.instructions
        assert len((await client.list_tools()).tools) == 3
        answer = await client.call_tool("ask", QUESTION, progress_callback=hear)
        assert "2.6 million euros" in text_of(answer)
        citation: dict[str, str] = answer.structured_content["citations"][0]
        opened = await client.call_tool("fetch", {"id": citation["source"]})
        assert opened.structured_content["metadata"]["quote"] == citation["quote"]
        deep = {"question": "When does the ferry leave?", "mode": "deep"}
        report = await client.call_tool("ask", deep)
        assert report.structured_content["report"]["stopped"]
        found = await client.call_tool("search", {"query": "boathouse roof"})
        fetched = await client.call_tool(
            "fetch", {"id": found.structured_content["results"][0]["id"]}
        )
        assert "will be repaired in March" in text_of(fetched)
        wrong = await client.call_tool("ask", {**QUESTION, "collection": "nowhere"})
        assert wrong.is_error
        assert "known: town" in text_of(wrong)
    assert any(told)  # "retrieval: 3 found", or that the answer is known from before
    return citation


async def test_over_stdio(real_home: Path) -> None:
    words = [*PROGRAM, "--home", str(real_home), "mcp"]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment())
    with anyio.fail_after(120):
        citation = await tried(Client(server, mode="legacy"), "legacy")
    assert "viewUrl" not in citation


def test_a_collection_that_is_not_there_is_refused(real_home: Path) -> None:
    done = CliRunner().invoke(app, ["mcp", "--topic", "elsewhere", "--home", str(real_home)])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "known: town" in done.stderr


def test_nothing_but_the_protocol_is_written_and_it_ends_with_its_input(real_home: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    words = ("-v", "mcp", "--home", str(real_home))
    done = forked.run(forked.PROGRAM, *words, env=environment(), typed=f"{json.dumps(hello)}\n")
    assert done.returncode == 0, done.stderr
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert replies[0]["result"]["serverInfo"]["name"] == "wellread"
    assert replies[0]["result"]["protocolVersion"] == "2025-06-18"


async def test_over_http(real_home: Path) -> None:
    with forked.serving(real_home) as address:
        with anyio.fail_after(120):
            citation = await tried(Client(f"{address}/mcp", mode="auto"), "auto")
        assert citation["viewUrl"].startswith(f"{address}/view/doc_")
        async with httpx.AsyncClient() as browser:
            shown = await browser.get(citation["viewUrl"])
    assert shown.status_code == 200
    assert "2.6 million euros" in shown.text


# --- without the extra -----------------------------------------------------------------------


def test_without_the_extra_the_command_says_how_to_get_it(real_home: Path) -> None:
    done = forked.run(WITHOUT, "mcp", "--home", str(real_home), env=environment())
    assert done.returncode == 1
    assert done.stdout == ""
    assert "needs the extra 'mcp'" in done.stderr
    assert "pip install 'wellread[mcp]'" in done.stderr


async def test_without_the_extra_the_server_answers_and_says_how_to_get_it(
    real_home: Path,
) -> None:
    with forked.serving(real_home, WITHOUT) as address:
        async with httpx.AsyncClient(base_url=address) as client:
            assert (await client.get("/healthz")).json()["status"] == "ok"
            done = await client.post("/mcp", json={})
    assert done.status_code == 501
    assert "pip install 'wellread[mcp]'" in done.json()["hint"]
