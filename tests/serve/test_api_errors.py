from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from tests.serve.conftest import client_of

from wellread import errors
from wellread.config import ServeSettings
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.error_shapes import problem_of
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'"


def assert_problem(response: httpx.Response, status: int, error: str) -> dict[str, str]:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    body: dict[str, str] = response.json()
    assert set(body) == {"error", "detail", "hint"}
    assert body["error"] == error
    assert body["detail"]
    return body


def every_error() -> list[type[errors.WellreadError]]:
    found = [errors.WellreadError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", every_error())
def test_every_error_of_the_tree_becomes_a_problem(kind: type[errors.WellreadError]) -> None:
    error = kind("file:///a", "bad") if kind is errors.SourceError else kind("what happened")
    error.hint = "do this"
    problem = problem_of(error)
    assert problem.status >= 400
    assert problem.error
    assert problem.body()["hint"] == "do this"
    assert "do this" not in problem.detail


async def test_an_unknown_path_and_a_wrong_method_have_the_shape(client: httpx.AsyncClient) -> None:
    assert_problem(await client.get("/nowhere"), 404, "not_found")
    assert_problem(await client.get("/static/nothing.css"), 404, "not_found")
    response = await client.get("/api/ask")
    assert_problem(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "POST"


async def test_an_unexpected_error_tells_nothing_of_the_inside(
    client: httpx.AsyncClient, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: object) -> None:
        raise ZeroDivisionError("/secret/path")

    monkeypatch.setattr(type(kb.catalogue.listings), "kinds", broken)
    response = await client.get("/healthz")
    assert_problem(response, 500, "internal")
    assert "secret" not in response.text
    assert response.headers["content-security-policy"].startswith(POLICY)


async def test_a_store_that_fails_is_unavailable(
    client: httpx.AsyncClient, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_self: object) -> None:
        raise errors.StoreError("the catalogue is locked", hint="wait")

    monkeypatch.setattr(type(kb.catalogue.listings), "kinds", locked)
    body = assert_problem(await client.get("/healthz"), 503, "store")
    assert body["detail"] == "the catalogue is locked"
    assert body["hint"] == "wait"


async def test_switched_off_is_403_and_says_how_to_switch_on(home: Path) -> None:
    overrides = {"qa": {"enabled": False}}
    with open_kb(home, overrides=overrides, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            response = await client.post("/api/ask", json={"question": "Why?"})
            body = assert_problem(response, 403, "qa_disabled")
            assert "qa.enabled" in body["hint"]
            assert "QA_ENABLED" in body["hint"]
            assert (await client.get("/healthz")).status_code == 200


async def test_a_body_over_the_limit_is_413_announced_or_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServeSettings, "max_request_bytes", 100)

    async def in_pieces() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b'{"question"'

    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            announced = await client.post("/api/ask", json={"question": "x" * 100})
            body = assert_problem(announced, 413, "too_large")
            assert "Shorten" in body["hint"]
            headers = {"content-type": "application/json"}
            arriving = await client.post("/api/ask", content=in_pieces(), headers=headers)
            assert_problem(arriving, 413, "too_large")
            fitting = await client.post("/api/ask", json={"question": "x"})
            assert fitting.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:8756", ""])
async def test_another_host_name_is_refused(client: httpx.AsyncClient, host: str) -> None:
    response = await client.get("/healthz", headers={"host": host})
    assert_problem(response, 421, "misdirected_request")


@pytest.mark.parametrize("host", ["localhost:8756", "127.0.0.1", "[::1]:1", "LOCALHOST"])
async def test_names_of_this_machine_are_served(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/healthz", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/view/doc_none", "/static/wellread.css"])
async def test_every_response_carries_the_policy(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.headers["content-security-policy"].startswith(POLICY)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "same-origin"


async def test_health_counts_what_is_there(client: httpx.AsyncClient) -> None:
    body = (await client.get("/healthz")).json()
    assert body["status"] == "ok"
    assert body["documents"] == 4
    assert body["passages"] >= 4
    assert body["version"]


async def test_the_description_names_the_errors(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    responses = described["paths"]["/api/ask"]["post"]["responses"]
    assert {"200", "400", "403", "404", "413"} <= set(responses)
    assert "422" not in responses
