"""Errors below /v1 have OpenAI's form, with the status that tells what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import client_of
from tests.serve.openai.conftest import COST, complete, user
from tests.serve.test_api_ask import failing

from wellread.errors import BudgetError, ModelTimeoutError
from wellread.kb import open_kb
from wellread.serve.http import chat_completions
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}


def shaped(reply: httpx.Response) -> dict[str, Any]:
    body = reply.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert isinstance(error["code"], str)
    return error


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages.0.role"),
        ({"messages": [user(" ")]}, "messages"),
        ({"messages": [user("Hi"), {"role": "assistant", "content": "Ho"}]}, "messages"),
        ({"messages": [{"role": "system", "content": "Hi"}]}, "messages"),
        ({"messages": [IMAGE]}, "messages[0].content[0]"),
        ({"messages": [user("long " * 2_000)]}, None),
    ],
)
async def test_what_cannot_be_served_is_a_400_that_names_the_field(
    client: httpx.AsyncClient, fields: dict[str, Any], param: str | None
) -> None:
    body = {"model": "wellread", "messages": [user(COST)], **fields}
    reply = await client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 400
    error = shaped(reply)
    assert (error["type"], error["param"]) == ("invalid_request_error", param)


@pytest.mark.parametrize("name", ["gpt-9", "wellread/atlantis", "wellread-deep/", "", "wellread/"])
async def test_an_unknown_model_is_a_404_that_names_those_there_are(
    client: httpx.AsyncClient, name: str
) -> None:
    for stream in (False, True):
        error = shaped(reply := await complete(client, COST, model=name, stream=stream))
        assert reply.status_code == 404
        assert (error["code"], error["param"]) == ("model_not_found", "model")
        assert "wellread-deep/nature" in error["message"]


async def test_the_models_are_everything_and_each_collection(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [one["id"] for one in listed["data"]] == [
        "wellread",
        "wellread-deep",
        "wellread/nature",
        "wellread/town",
        "wellread-deep/nature",
        "wellread-deep/town",
    ]
    for path in ("wellread/town", "wellread%2Ftown"):
        assert (await client.get(f"/v1/models/{path}")).json() == listed["data"][3]
    reply = await client.get("/v1/models/gpt-9")
    assert (reply.status_code, shaped(reply)["code"]) == (404, "model_not_found")


async def test_what_does_not_exist_says_what_does(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/embeddings", json={"input": "x"})
    assert reply.status_code == 404
    assert "docs/programs.md" in shaped(reply)["message"]
    reply = await client.get("/v1/chat/completions", headers={"accept": "text/html"})
    assert reply.status_code == 405
    assert "docs/programs.md" in shaped(reply)["message"]
    assert set((await client.get("/api/nothing")).json()) == {"error", "detail", "hint"}


async def test_a_body_that_is_no_json_or_too_large(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    path = "/v1/chat/completions"
    reply = await client.post(path, content=b"{", headers=headers)
    assert (reply.status_code, shaped(reply)["type"]) == (400, "invalid_request_error")
    reply = await client.post(path, content=b" " * 1_000_001, headers=headers)
    assert (reply.status_code, shaped(reply)["code"]) == (413, "too_large")


async def test_other_hosts_and_pages_are_refused_in_the_same_form(
    client: httpx.AsyncClient,
) -> None:
    reply = await client.get("/v1/models", headers={"host": "evil.example"})
    assert (reply.status_code, shaped(reply)["code"]) == (421, "misdirected_request")
    headers = {"origin": "https://evil.example"}
    reply = await client.post("/v1/chat/completions", json={}, headers=headers)
    assert (reply.status_code, shaped(reply)["type"]) == (403, "permission_error")


async def test_where_asking_is_off_nothing_is_asked(scripted_home: Path) -> None:
    overrides = {"qa": {"enabled": False}}
    with open_kb(scripted_home, overrides=overrides, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            reply = await complete(client, "x")
            assert reply.status_code == 403
            error = shaped(reply)
            assert (error["type"], error["code"]) == ("permission_error", "qa_disabled")
            assert (await client.get("/v1/models")).status_code == 200


async def test_any_key_is_taken(client: httpx.AsyncClient) -> None:
    for value in ("Bearer sk-anything", "Basic eA==", ""):
        reply = await client.get("/v1/models", headers={"authorization": value})
        assert reply.status_code == 200


OUT = BudgetError("the budget of today is used up", hint="raise budget.daily")
LATE = ModelTimeoutError("the model took 120 s")


@pytest.mark.parametrize(
    ("error", "status", "kind", "retry"),
    [
        (OUT, 429, "insufficient_quota", "false"),
        (LATE, 504, "server_error", "true"),
        (ZeroDivisionError("a secret path"), 500, "server_error", None),
    ],
)
async def test_a_failure_is_a_status_or_the_end_of_the_stream(
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    kind: str,
    retry: str | None,
) -> None:
    monkeypatch.setattr(chat_completions, "answer_in_mode", failing(error, late=False))
    for stream in (False, True):
        reply = await complete(client, COST, stream=stream)
        assert reply.status_code == status
        assert shaped(reply)["type"] == kind
        assert reply.headers.get("x-should-retry") == retry
    monkeypatch.setattr(chat_completions, "answer_in_mode", failing(error, late=True))
    reply = await complete(client, COST, stream=True)
    assert reply.status_code == 200
    lines = [line for line in reply.text.split("\n") if line.startswith("data: ")]
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["type"] == kind
    assert "a secret path" not in reply.text
