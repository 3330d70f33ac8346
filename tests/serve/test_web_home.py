"""The pages about the home: usage, settings, health."""

from __future__ import annotations

import asyncio
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from wellread.config import settings_table
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.server.app import create_app
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.calls import EMBED_PASSAGE, Call

PAGE = {"accept": "text/html"}
CALLS = (
    Call(purpose="answer", provider="openai", model="gpt-4o-mini", input_tokens=4000,
         output_tokens=200, cost=0.75, seconds=2.0),
    Call(purpose="answer", provider="openai", model="gpt-4o-mini", error="answered 503"),
    Call(purpose="judge", provider="localhost:1", model="small", input_tokens=90, output_tokens=9),
    Call(purpose=EMBED_PASSAGE, provider="api.openai.com", model="text-embedding-3-small",
         input_tokens=9000, cost=0.5),
)  # fmt: skip


async def page(client: httpx.AsyncClient, address: str) -> str:
    reply = await client.get(address, headers=PAGE)
    assert reply.status_code == 200, reply.text
    return reply.text


def cells(html: str, label: str) -> list[list[str]]:
    """The words in each cell of the body of the table in the region of that name."""
    region = html.split(f'aria-label="{label}"')[1].split("</table>")[0].split("<tbody>")[1]
    rows = re.findall(r"<tr.*?</tr>", region, re.S)
    return [
        [
            " ".join(re.sub("<.*?>", " ", cell).split())
            for cell in re.findall("<t[dh].*?</t[dh]>", row, re.S)
        ]
        for row in rows
    ]


# --- usage -----------------------------------------------------------------------------------


async def test_usage_shows_what_the_interface_tells(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    for call in CALLS:
        kb.catalogue.calls.record(call)
    told = (await client.get("/api/usage?days=7")).json()
    data = (await client.get("/usage?days=7&format=json")).json()
    assert {name: data[name] for name in told} == told
    html = await page(client, "/usage?days=7")
    today = datetime.now(UTC).date().isoformat()
    assert cells(html, "Calls by day") == [[today, "4", "1", "13,090", "209", "$1.25 and more, "
                                            "price unknown"]]  # fmt: skip
    lines = cells(html, "Calls by day, purpose and model")
    assert lines[0] == [today, "answer", "gpt-4o-mini (openai)", "2", "1", "4,000", "200", "2.0",
                        "$0.75"]  # fmt: skip
    assert [line[-1] for line in lines] == ["$0.75", "$0.50", "price unknown"]
    assert f"<title>{today}: $1.25</title>" in html
    assert f"<title>{today}: 4 calls</title>" in await page(client, "/usage?measure=calls")


# --- settings and health ---------------------------------------------------------------------


async def test_a_setting_says_where_its_value_comes_from(
    home: Path, filled_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(filled_home, home)
    (home / "wellread.yaml").write_text("retrieval:\n  top_k: 33\n", encoding="utf-8")
    monkeypatch.setenv("WELLREAD_QA_CONFIDENCE_THRESHOLD", "0.4")
    monkeypatch.setenv("QA_MAX_CLUSTERS", "7")
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        transport = httpx.ASGITransport(create_app(kb))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            data = (await client.get("/settings?format=json")).json()["settings"]
            html = await page(client, "/settings?query=confidence_threshold")
    told = {one["name"]: (one["value"], one["origin"], one["changed"]) for one in data}
    assert told["retrieval.top_k"] == ("33", "wellread.yaml", True)
    assert told["qa.confidence_threshold"] == ("0.4", "WELLREAD_QA_CONFIDENCE_THRESHOLD", True)
    assert told["qa.max_clusters"][:2] == ("7", "QA_MAX_CLUSTERS")
    assert told["serve.port"][1:] == ("default", False)
    assert len(told) == len(settings_table())
    assert "WELLREAD_QA_CONFIDENCE_THRESHOLD" in html
    assert "retrieval.top_k" not in html


async def checked(client: httpx.AsyncClient) -> dict[str, Any]:
    for _ in range(400):
        body: dict[str, Any] = (await client.get("/health?format=json")).json()
        if not body["running"]:
            return body
        await asyncio.sleep(0.05)
    raise AssertionError("the check does not end")


async def test_a_damaged_home_is_shown_and_mended(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    assert (await checked(client))["verified"] is None
    await client.post("/health/verify")
    assert (await checked(client))["verified"]["problems"] == []
    assert "they agree" in await page(client, "/health")
    ferry = next(one for one in kb.catalogue.documents("town") if one.title == "The ferry")
    kb.index.remove([(ferry.id, ferry.version)])
    await client.post("/health/verify")
    damaged = (await checked(client))["verified"]["problems"]
    assert damaged
    assert not any(one["repaired"] for one in damaged)
    assert damaged[0]["detail"] in await page(client, "/health")
    assert (await client.post("/health/repair")).status_code == 400
    assert (await checked(client))["verified"]["problems"] == damaged
    await client.post("/health/repair", data={"confirmed": "yes"})
    assert all(one["repaired"] for one in (await checked(client))["verified"]["problems"])
    await client.post("/health/verify")
    assert (await checked(client))["verified"]["problems"] == []
