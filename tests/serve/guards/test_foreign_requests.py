"""A page of another address changes nothing and costs nothing, whatever it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from tests.serve.test_api_errors import assert_problem

from wellread.kb import KnowledgeBase
from wellread.serve.guards.route_rules import MCP_PATH
from wellread.serve.http.app import ROUTERS

FOREIGN: tuple[dict[str, str], ...] = (
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://[127.0.0.1"},
    {"origin": "https://127.0.0.1"},
)
VISIT = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
    "accept": "text/html",
}


def routes() -> Iterator[tuple[str, str]]:
    """Every address with each of its methods."""
    waiting: list[APIRouter] = list(ROUTERS)
    for router in waiting:
        for route in router.routes:
            inner = getattr(route, "original_router", None)  # newer releases keep it apart
            if inner is not None:
                waiting.append(inner)
            elif isinstance(route, APIRoute):
                for method in sorted(route.methods or ()):
                    yield method, re.sub(r"[{}]|:path", "", route.path)
    yield from (("POST", MCP_PATH), ("GET", MCP_PATH), ("DELETE", MCP_PATH))
    yield from (("GET", "/static/wellread.css"), ("GET", "/openapi.json"))


async def test_no_route_answers_a_page_of_another_address(client: httpx.AsyncClient) -> None:
    refused = 0
    for method, path in routes():
        for headers in FOREIGN:
            response = await client.request(method, path, headers=headers)
            assert response.status_code == 403, (method, path, headers)
            refused += 1
    assert refused > 400


@pytest.mark.parametrize("kind", ["text/plain", "application/json", ""])
async def test_no_kind_of_body_gets_a_question_through(
    client: httpx.AsyncClient, kb: KnowledgeBase, kind: str
) -> None:
    body = b'{"question": "When was the ferry bought?"}'
    headers = {**FOREIGN[2], "content-type": kind}
    assert_problem(await client.post("/api/ask", content=body, headers=headers), 403, "forbidden")
    assert kb.catalogue.answers() == []


async def test_a_person_may_follow_a_link_to_a_page(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/documents")).json()["documents"][0]["documentId"]
    for path in ("/", "/library", f"/view/{document}?start=0&end=5", "/search"):
        assert (await client.get(path, headers=VISIT)).status_code == 200, path


@pytest.mark.parametrize("path", ["/search?query=ferry", "/api/search?query=ferry", "/api/jobs"])
async def test_but_not_to_a_search_or_the_interface(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path, headers=VISIT)).status_code == 403


async def test_nor_asks_a_question_by_it(client: httpx.AsyncClient) -> None:
    for headers in (VISIT, {**VISIT, "sec-fetch-site": "same-site"}):
        reply = await client.get("/", params={"q": "When?"}, headers=headers)
        assert reply.status_code == 200  # the box is filled, and nothing is asked
        assert "When?" in reply.text


async def test_our_own_pages_and_programs_are_served(client: httpx.AsyncClient) -> None:
    own: list[dict[str, str]] = [{}, {"origin": "http://127.0.0.1"}]
    own += [{"sec-fetch-site": site} for site in ("same-origin", "none")]
    for headers in own:
        response = await client.get("/api/search", params={"query": "ferry"}, headers=headers)
        assert response.status_code == 200
        changed = await client.post("/api/answers/none/verify", headers=headers)
        assert changed.status_code == 404
