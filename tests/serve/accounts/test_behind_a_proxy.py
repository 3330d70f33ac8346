"""Behind a reverse proxy, the log, the probes."""

from __future__ import annotations

import logging
from typing import Any, cast

import httpx
import pytest
from tests.serve.accounts.conftest import OUR_PAGE, Visitor, signed_in

from wellread.kb import KnowledgeBase
from wellread.serve.http.app import server_config
from wellread.store.catalogue.accounts.sign_in_records import Accounts

PROXY, CLIENT = "10.0.0.1", "203.0.113.7"
FORWARDED = {"x-forwarded-for": CLIENT, "x-forwarded-proto": "https", "host": "wellread.example"}


def behind(kb: KnowledgeBase, address: str, **served: Any) -> httpx.AsyncClient:
    """A client of the server as it is run, whose connections come from that address."""
    settings = kb.settings.serve.model_copy(update=served)
    kb.settings = kb.settings.model_copy(update={"serve": settings})
    config = server_config(kb)
    config.load()
    app = cast(Any, config.loaded_app)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(address, 1))
    headers = {**OUR_PAGE, **FORWARDED}
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)


@pytest.fixture
def names() -> dict[str, Any]:
    return {"names": ("wellread.example",), "proxies": (PROXY,)}


async def test_what_a_trusted_proxy_says_is_believed(
    kb: KnowledgeBase, accounts: Accounts, names: dict[str, Any]
) -> None:
    async with behind(kb, PROXY, **names) as client:
        signed = await signed_in(client, "rea")
        assert signed.status_code == 303
        assert "secure" in signed.headers["set-cookie"].lower()
        own = {"sec-fetch-site": "", "origin": "https://wellread.example"}
        changed = await client.post("/preferences", data={"length": "short"}, headers=own)
        assert changed.status_code != 403 or "another address" not in changed.text
    assert accounts.audit.newest()[-1].address == CLIENT


async def test_what_anybody_else_says_is_not(
    kb: KnowledgeBase, accounts: Accounts, names: dict[str, Any]
) -> None:
    async with behind(kb, "198.51.100.9", **names) as client:
        signed = await signed_in(client, "rea")
        assert "secure" not in signed.headers["set-cookie"].lower()
    assert accounts.audit.newest()[0].address == "198.51.100.9"


async def test_without_the_setting_no_proxy_is_believed(
    kb: KnowledgeBase, accounts: Accounts
) -> None:
    async with behind(kb, "127.0.0.1", names=("wellread.example",)) as client:
        await signed_in(client, "rea")
    assert accounts.audit.newest()[0].address == "127.0.0.1"


async def test_a_request_is_one_line_without_words_of_anybody(
    visitor: Visitor, accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wellread.serve.guards.refusals")
    async with visitor("rea") as client:
        given = await client.get("/api/documents/The%20ferry", params={"topic": "town"})
    lines = [one.getMessage() for one in caplog.records if one.name.endswith("refusals")]
    assert lines[-1].startswith(f"GET /api/documents/{{name:path}} {given.status_code} in ")
    known, user = given.headers["x-request-id"], accounts.users.named("rea").id
    assert lines[-1].endswith(f"request {known} of {user}")
    assert "ferry" not in lines[-1]
    assert all("pier" not in one for one in lines)
