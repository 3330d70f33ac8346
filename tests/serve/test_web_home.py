"""The pages about the home: usage, settings, health."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from wellread.kb import KnowledgeBase

PAGE = {"accept": "text/html"}


async def page(client: httpx.AsyncClient, address: str) -> str:
    reply = await client.get(address, headers=PAGE)
    assert reply.status_code == 200, reply.text
    return reply.text


# --- usage -----------------------------------------------------------------------------------


# --- settings and health ---------------------------------------------------------------------


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
