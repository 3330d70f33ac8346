"""Bodies that are too large, too slow, or hold what is no text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx
import pytest
from tests.serve.conftest import client_of
from tests.serve.test_api_errors import assert_problem

from wellread.config import ServeSettings
from wellread.kb import open_kb
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
HALF = "\\ud800"
BODIES = (
    ("/api/ask", '{"question": "ferry", "sessionId": "%s"}'),
    ("/api/ask", '{"question": "ferry", "options": {"speakers": ["%s"]}}'),
    ("/v1/chat/completions", '{"model": "wellread", "messages": [{"role": "user", "%s": "a"}]}'),
    ("/api/answers/none/verify", '["%s"]'),
)


@pytest.mark.parametrize(("path", "body"), BODIES)
@pytest.mark.parametrize("odd", [HALF, "\\u0000", "\\udc00\\ud800"])
async def test_text_that_is_none_is_refused(
    client: httpx.AsyncClient, path: str, body: str, odd: str
) -> None:
    response = await client.post(path, content=body % odd, headers=JSON)
    assert response.status_code == 400
    assert "surrogate" in response.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_so_it_is_without_an_escape(client: httpx.AsyncClient, encoding: str) -> None:
    body = '{"question": "a \ud800"}'.encode(encoding, "surrogatepass")
    assert_problem(await client.post("/api/ask", content=body, headers=JSON), 400, "bad_request")


async def test_a_whole_pair_is_a_letter(client: httpx.AsyncClient) -> None:
    body = '{"question": "When was the ferry bought? \\ud83d\\ude00"}'
    assert (await client.post("/api/ask", content=body, headers=JSON)).status_code == 200


@pytest.mark.parametrize("path", ["/api/search?query=a%00", "/api/documents/a%00", "/static/%00"])
async def test_nul_in_an_address_is_refused(client: httpx.AsyncClient, path: str) -> None:
    assert_problem(await client.get(path), 400, "bad_request")


@pytest.mark.parametrize("body", ["title=a%00&text=b", "title=a\0&text=b"])
async def test_and_in_a_form(client: httpx.AsyncClient, body: str) -> None:
    response = await client.post("/library/text", content=body, headers=FORM)
    assert_problem(response, 400, "bad_request")


@pytest.mark.parametrize("charset", ["unicode_escape", "undefined", "nonsense", "utf-16"])
async def test_a_form_in_an_odd_encoding_is_no_crash(
    client: httpx.AsyncClient, charset: str
) -> None:
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    fields = (("title", "a \\ud800"), ("text", "b"))
    body = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields
    )
    response = await client.post(
        "/library/text", content=body + "--x--\r\n", headers={"content-type": kind}
    )
    assert response.status_code < 500


@pytest.mark.parametrize("levels", [201, 100_000])
async def test_json_of_endless_depth_is_refused(client: httpx.AsyncClient, levels: int) -> None:
    body = '{"question": ' + "[" * levels + "]" * levels + "}"
    assert_problem(await client.post("/api/ask", content=body, headers=JSON), 400, "bad_request")


@pytest.mark.parametrize("path", ["/api/ask", "/library/upload", "/v1/chat/completions", "/mcp"])
async def test_a_body_that_never_ends_is_not_waited_for(
    home: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dripping() -> AsyncIterator[bytes]:
        yield b"--x\r\n"
        await anyio.sleep_forever()

    monkeypatch.setattr(ServeSettings, "body_seconds", 0.05)
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        async with client_of(create_app(kb)) as client:
            headers = {"content-type": "multipart/form-data; boundary=x"}
            response = await client.post(path, content=dripping(), headers=headers)
            assert response.status_code == 408
            assert "slow" in response.text
            assert "content-security-policy" in response.headers


async def test_a_browser_is_shown_a_page(client: httpx.AsyncClient) -> None:
    html = {"accept": "text/html"}
    for response in (
        await client.post("/library/text", content=b"x" * 1_100_000, headers=html),
        await client.post("/library/sample", headers={**html, "origin": "http://evil.example"}),
        await client.get("/", headers={**html, "host": "evil.example"}),
        await client.get("/search?query=%00", headers=html),
        await client.get("/nowhere", headers=html),
        await client.put("/library", headers=html),
    ):
        assert response.status_code in (400, 403, 404, 405, 413, 421)
        assert response.headers["content-type"].startswith("text/html")
        assert "content-security-policy" in response.headers
