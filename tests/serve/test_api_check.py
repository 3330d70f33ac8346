"""``POST /api/check``."""

from __future__ import annotations

import httpx
import pytest

FERRY = "The ferry Osprey was bought for 2.6 million euros in 2021."


async def check(client: httpx.AsyncClient, **body: object) -> httpx.Response:
    return await client.post("/api/check", json=body)


async def test_against_what_is_stored(client: httpx.AsyncClient) -> None:
    response = await check(client, text=f"{FERRY} It carries forty passengers [3].")
    assert response.status_code == 200
    body = response.json()
    assert body["borneOut"] is False
    assert body["counts"] == {
        "quoted": 1,
        "supported": 0,
        "partial": 1,
        "unsupported": 0,
        "not_checked": 0,
    }
    first, second = body["sentences"]
    assert (first["verdict"], first["method"]) == ("quoted", "verbatim")
    assert body["text"][second["start"] : second["end"]] == "It carries forty passengers [3]."
    citation = body["citations"][0]
    assert citation["number"] == first["citations"][0]
    assert citation["quote"] == FERRY
    assert citation["answerSpan"] == {"start": 0, "end": len(FERRY)}
    view = await client.get(citation["viewUrl"])
    assert view.status_code == 200


async def test_a_topic_limits_it(client: httpx.AsyncClient) -> None:
    body = (await check(client, text=FERRY, topicId="nature")).json()
    assert body["counts"]["quoted"] == 0
    assert (await check(client, text=FERRY, topicId="nowhere")).status_code == 404


async def test_against_texts_that_are_given(client: httpx.AsyncClient) -> None:
    sources = [{"text": "Tea is served at the pier.", "title": "Tea"}, {"text": "It rains."}]
    body = (await check(client, text=f"Tea is served at the pier. {FERRY}", sources=sources)).json()
    assert [one["verdict"] for one in body["sentences"]] == ["quoted", "partial"]
    citation = body["citations"][0]
    assert (citation["title"], citation["viewUrl"], citation["link"]) == ("Tea", "", "")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "text"),
        ({"text": " "}, "text"),
        ({"text": "# Head"}, "no sentence"),
        ({"text": "It rains.", "topic": "x"}, "topic"),
        ({"text": "It rains.", "sources": [{"title": "x"}]}, "sources.0.text"),
        ({"text": "It rains.", "sources": [{"text": "x"}] * 101}, "sources"),
        ({"text": "It rains.", "sources": [{"text": "x"}], "topicId": "town"}, "exclude"),
    ],
)
async def test_what_is_wrong_is_named(
    client: httpx.AsyncClient, body: dict[str, object], detail: str
) -> None:
    response = await check(client, **body)
    assert response.status_code == 400
    assert detail in response.json()["detail"]
