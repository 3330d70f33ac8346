"""``GET /api/entities/{name}``: an entity over HTTP."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from wellread.ingest.joining.mention_linking import link_mentions
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase

OSPREY = """---
id: fleet/osprey
type: vessel
title: Osprey
url: https://harbour.example/fleet/osprey/
aliases: [the ferry Osprey]
relations:
  - {type: moors_at, target: north-pier}
---
A ferry.
"""


@pytest.fixture
def fleet(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """The town, with its ferry as an entity, and the same name in another collection."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "osprey.md").write_text(OSPREY, encoding="utf-8")
    for collection in ("town", "nature"):
        add(kb, [str(folder)], collection=collection)
        link_mentions(kb.catalogue, collection)
    return kb


@pytest.mark.parametrize(
    "name",
    ["fleet/osprey", "osprey", "The%20ferry%20Osprey", "https://harbour.example/fleet/osprey"],
)
async def test_an_entity_with_relations_and_mentions(
    fleet: KnowledgeBase, client: httpx.AsyncClient, name: str
) -> None:
    response = await client.get(f"/api/entities/{name}", params={"collection": "town"})
    assert response.status_code == 200, response.text
    body = response.json()
    assert (body["id"], body["collection"], body["others"]) == ("fleet/osprey", "town", [])
    assert [(one["relation"], one["name"], one["entity"]) for one in body["relations"]] == [
        ("moors_at", "north-pier", None)
    ]
    assert body["mentionTotal"] == {"documents": 1, "mentions": 1}
    (mention,) = body["mentions"]
    assert mention["quote"] == "The ferry Osprey was bought for 2.6 million euros in 2021."
    assert mention["locator"] == "§ The ferry"
    document = fleet.catalogue.document(mention["documentId"])
    assert document is not None
    name_span = mention["nameSpan"]
    assert document.text[name_span["start"] : name_span["end"]] == "The ferry Osprey"
    assert mention["quote"] == document.text[slice(*mention["sourceSpan"].values())]
    page = await client.get(mention["viewUrl"])
    assert "The ferry Osprey was bought for 2.6 million euros in 2021." in page.text
    assert (await client.get(body["viewUrl"])).status_code == 200


async def test_what_is_not_there_is_an_error_of_its_own(
    fleet: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    response = await client.get("/api/entities/Ospray")
    assert response.status_code == 404
    assert response.json() == {
        "error": "not_found",
        "detail": "no entity is called 'Ospray'",
        "hint": "similar names: Osprey",
    }
    response = await client.get("/api/entities/Osprey?collection=atlantis")
    assert (response.status_code, response.json()["error"]) == (404, "unknown_topic")
    response = await client.get("/api/entities/Osprey?limit=-1")
    assert (response.status_code, response.json()["error"]) == (400, "bad_request")
