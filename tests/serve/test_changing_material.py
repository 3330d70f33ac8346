"""Documents and collections added, changed and removed through ``/api``; see the rights' tests."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from tests.serve.accounts.conftest import Visitor
from tests.serve.accounts.conftest import _cheap as _cheap
from tests.serve.accounts.conftest import accounts as accounts
from tests.serve.accounts.conftest import server as server
from tests.serve.accounts.conftest import visitor as visitor

from wellread.kb import KnowledgeBase

NOTE = {"title": "Pier", "text": "The pier was painted green in May.", "collection": "notes"}


async def read(client: httpx.AsyncClient, reply: httpx.Response) -> dict[str, Any]:
    """The job that a 202 names, when it has ended."""
    assert reply.status_code == 202, reply.text
    job: dict[str, Any] = reply.json()
    while job["state"] in ("waiting", "running"):
        await asyncio.sleep(0.05)
        job = (await client.get(f"/api/jobs/{job['id']}")).json()
    assert job["state"] == "done", job
    return job


async def listed(client: httpx.AsyncClient, collection: str) -> list[dict[str, Any]]:
    reply = await client.get("/api/documents", params={"collection": collection})
    assert reply.status_code == 200, reply.text
    return list(reply.json()["documents"])


async def test_a_text_and_files_are_added_and_a_put_replaces_them(
    client: httpx.AsyncClient,
) -> None:
    await read(client, await client.post("/api/documents", json=NOTE))
    files = [("files", (name, b"A mill of 1820.")) for name in ("mill.txt", "dam.txt")]
    form = {"collection": "notes"}
    job = await read(client, await client.post("/api/documents", data=form, files=files))
    assert (job["total"], job["counts"]) == (2, {"added": 2})
    before = {one["title"]: one["documentId"] for one in await listed(client, "notes")}
    assert set(before) == {"Pier", "Mill", "Dam"}

    await read(client, await client.put("/api/documents", json=NOTE | {"text": "It is blue."}))
    again = [("files", ("mill.txt", b"A mill of 1830."))]
    await read(client, await client.put("/api/documents", data=form, files=again))
    assert {one["title"]: one["documentId"] for one in await listed(client, "notes")} == before
    pier = (await client.get(f"/api/documents/{before['Pier']}")).json()
    assert "It is blue." in pier["text"]


async def test_what_is_no_document_is_refused(client: httpx.AsyncClient) -> None:
    bodies: tuple[Any, ...] = (
        {},
        {"url": "/etc/hostname"},
        {"title": "only"},
        {"texts": "typo"},
        [],
        {**NOTE, "collection": "x" * 200},
    )
    for body in bodies:
        reply = await client.post("/api/documents", json=body)
        assert (reply.status_code, set(reply.json())) == (400, {"error", "detail", "hint"}), body
    broken = await client.post("/api/documents", content=b"{")
    assert broken.status_code == 400
    none = await client.post("/api/documents", data={"collection": "a"}, files=[("x", b"")])
    assert none.status_code == 400


async def test_a_document_gets_another_title_and_another_place_and_goes(
    client: httpx.AsyncClient, kb: KnowledgeBase
) -> None:
    [seagrass] = await listed(client, "nature")
    address = f"/api/documents/{seagrass['documentId']}"
    titled = await client.patch(address, json={"title": "Meadows"})
    assert titled.json()["title"] == "Meadows"
    moved = await client.patch(address, json={"collection": "town"})
    assert (moved.status_code, moved.json()["collection"]) == (200, "town")
    assert await client.get("/api/search", params={"query": "Meadows", "collection": "town"})
    assert (await client.get(address)).status_code == 404
    gone = await client.delete(f"/api/documents/{moved.json()['documentId']}")
    report = gone.json()
    assert (report["documents"], report["traces"]) == (1, [])
    assert report["lookedFor"] > 0
    assert "Meadows" not in {one["title"] for one in await listed(client, "town")}


async def test_collections_are_made_renamed_merged_described_and_removed(
    client: httpx.AsyncClient,
) -> None:
    new = {"name": "empty", "description": "For later."}
    assert (await client.post("/api/collections", json=new)).status_code == 201
    assert (await client.post("/api/collections", json=new)).status_code == 400
    names = {
        one["name"]: one for one in (await client.get("/api/collections")).json()["collections"]
    }
    assert names["empty"] == {**new, "documents": 0, "passages": 0}

    renamed = await client.patch(
        "/api/collections/nature", json={"name": "sea", "description": "N"}
    )
    assert renamed.json() == {"name": "sea", "description": "N", "documents": 1, "passages": 1}
    taken = await client.patch("/api/collections/sea", json={"name": "town"})
    assert taken.status_code == 400
    merged = await client.patch("/api/collections/sea", json={"name": "town", "merge": True})
    assert merged.json()["documents"] == 4
    assert (await client.patch("/api/collections/sea", json={})).status_code == 404
    gone = (await client.delete("/api/collections/town")).json()
    assert (gone["documents"], gone["traces"]) == (4, [])
    left = (await client.get("/api/collections")).json()["collections"]
    assert [one["name"] for one in left] == ["empty"]


async def test_an_editor_changes_only_what_is_theirs(visitor: Visitor, kb: KnowledgeBase) -> None:
    """``ed`` may edit the town, and nothing else."""
    [seagrass] = kb.catalogue.documents("nature")
    town = kb.catalogue.documents("town")[0]
    async with visitor("ed") as client:
        tries = (
            ("POST", "/api/documents", {**NOTE, "collection": "nature"}, 403),
            ("PUT", "/api/documents", {**NOTE, "collection": "nature"}, 403),
            ("PATCH", f"/api/documents/{seagrass.id}", {"title": "Mine"}, 404),
            ("PATCH", f"/api/documents/{town.id}", {"collection": "nature"}, 403),
            ("DELETE", f"/api/documents/{seagrass.id}", None, 404),
            ("POST", "/api/collections", {"name": "nature"}, 403),
            ("PATCH", "/api/collections/nature", {"description": "x"}, 403),
            ("PATCH", "/api/collections/town", {"name": "nature", "merge": True}, 403),
            ("DELETE", "/api/collections/nature", None, 403),
        )
        for method, path, body, status in tries:
            reply = await client.request(method, path, json=body)
            assert reply.status_code == status, (method, path, reply.text)
        mine = await client.patch(f"/api/documents/{town.id}", json={"title": "Ours"})
        assert mine.status_code == 200
        names = (await client.get("/api/collections")).json()["collections"]
        assert [one["name"] for one in names] == ["town"]
    assert kb.catalogue.facts([seagrass.id])[seagrass.id].title == seagrass.title
