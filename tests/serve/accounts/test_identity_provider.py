"""Signing in at an identity provider: a small one on loopback, over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from tests.doubles.post_server import ok
from tests.doubles.web_server import Asked, Reply, WebServer
from tests.serve.accounts.conftest import SECRET, Visitor

from wellread.config import OidcSettings
from wellread.errors import SettingsError
from wellread.kb import KnowledgeBase
from wellread.serve.http.app import create_app
from wellread.serve.web.identity_provider import provider_of
from wellread.store.catalogue.accounts.sign_in_records import Accounts

pytest.importorskip("authlib")
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, CLIENT_SECRET = "wellread", "shared with the provider"
KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": "one"}, private=True) for _ in range(2))


class Provider(WebServer):
    """What an identity provider does, and how a test makes it lie."""

    def __init__(self) -> None:
        self.signed_with = KEY
        self.claims: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.said = {"sub": "ann-1", "preferred_username": "Ann", "groups": ["crew", "deck hands"]}
        self.fails: dict[str, Reply] = {}  # by path
        super().__init__()
        self.issuer = self.url("")

    def reply(self, asked: Asked) -> Reply:
        super().reply(asked)
        parts = urlsplit(asked.path)
        if parts.path in self.fails:
            return self.fails[parts.path]
        match parts.path:
            case "/.well-known/openid-configuration":
                names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
                known = {name: f"{self.issuer}/{name}" for name in names}
                return ok({"issuer": self.issuer, **known})
            case "/jwks_uri":
                return ok(KeySet([KEY]).as_dict(private=False))
            case "/authorization_endpoint":
                given = dict(parse_qsl(parts.query))
                code = f"code-{len(self.codes)}"
                self.codes[code] = given
                back = urlencode({"code": code, "state": given["state"]})
                there = f"{given['redirect_uri']}?{back}"
                return Reply(status=302, headers={"location": there})
        return self.token(asked)

    def token(self, asked: Asked) -> Reply:
        form = dict(parse_qsl(asked.body.decode()))
        visit = self.codes.pop(form["code"], None)
        basic = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET.replace(' ', '%20')}".encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        right = asked.headers["authorization"] in (f"Basic {basic}", f"Basic {plain}")
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if visit is None or not right or visit["code_challenge"] != challenge:
            return Reply(status=400, body=b'{"error": "invalid_grant"}')
        assert visit["code_challenge_method"] == "S256"
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, **self.said}
        claims = {**claims, "nonce": visit["nonce"], **self.claims}
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.signed_with)
        return ok({"access_token": "x", "token_type": "Bearer", "id_token": token})


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture
def server(
    kb: KnowledgeBase,
    accounts: Accounts,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    oidc: dict[str, str],
) -> FastAPI:
    monkeypatch.setenv("OIDC_CLIENT_SECRET", CLIENT_SECRET)
    settings = OidcSettings(issuer=provider.issuer, client_id=CLIENT, **oidc)
    kb.settings = kb.settings.model_copy(update={"oidc": settings})
    return create_app(kb)


@pytest.fixture
def oidc() -> dict[str, str]:
    return {}


async def through(client: httpx.AsyncClient, target: str = "/library") -> httpx.Response:
    """Go to the provider and come back, as a browser does."""
    sent = await client.get("/sign-in/oidc", params={"next": target})
    if sent.status_code != 303:
        return sent
    async with httpx.AsyncClient() as elsewhere:
        back = await elsewhere.get(sent.headers["location"])
    coming = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    return await client.get(back.headers["location"], headers=coming)


async def test_who_comes_from_the_provider_has_an_account_and_its_groups(
    visitor: Visitor, accounts: Accounts, provider: Provider
) -> None:
    async with visitor() as client:
        assert "/sign-in/oidc?next=" in (await client.get("/sign-in")).text
        back = await through(client)
        assert (back.status_code, back.headers.get("location")) == (303, "/library"), back.text
        assert (await client.get("/library")).status_code == 200
        ann = accounts.users.named("ann")
        assert (ann.role, ann.local, ann.subject) == ("reader", False, "ann-1")
        assert {one.name for one in accounts.groups.of(ann.id)} == {"crew", "deck-hands"}
    own = accounts.groups.add("own")
    accounts.groups.join(own.id, ann.id)
    provider.said |= {"preferred_username": "Anna", "groups": ["crew"]}
    async with visitor() as client:
        await through(client)
    assert accounts.users.named("ann").id == ann.id  # known by the subject, not by the name
    assert {one.name for one in accounts.groups.of(ann.id)} == {"crew", "own"}
    assert provider.paths().count("/jwks_uri") == 1
    assert accounts.users.authenticate("ann", "") is None


async def test_a_local_account_is_not_taken_over_by_its_name(
    visitor: Visitor, accounts: Accounts, provider: Provider
) -> None:
    provider.said["preferred_username"] = "root"
    async with visitor() as client:
        assert (await through(client)).status_code == 303
        assert (await client.get("/usage")).status_code == 403
    assert accounts.users.named("root-2").role == "reader"


@pytest.mark.parametrize(
    "lie",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"exp": 1},
        {"nonce": "of another visit"},
        {"azp": "another"},
        {"aud": [CLIENT, "another"]},  # and not said for whom (azp)
        {"sub": None},
    ],
    ids=str,
)
async def test_what_is_not_to_be_believed_signs_nobody_in(
    visitor: Visitor, accounts: Accounts, provider: Provider, lie: dict[str, Any]
) -> None:
    provider.claims = lie
    async with visitor() as client:
        back = await through(client)
        assert back.status_code == 401
        assert "wellread_session" not in client.cookies
        assert len(accounts.users.list_all()) == 3
        provider.claims = {"aud": [CLIENT, "another"], "azp": CLIENT}
        assert (await through(client)).status_code == 303


async def test_a_signature_of_somebody_else_signs_nobody_in(
    visitor: Visitor, provider: Provider
) -> None:
    provider.signed_with = OTHER_KEY
    async with visitor() as client:
        assert (await through(client)).status_code >= 400


async def test_a_visit_counts_once_and_in_the_browser_that_began_it(visitor: Visitor) -> None:
    async with visitor() as client, visitor() as other:
        sent = await client.get("/sign-in/oidc")
        async with httpx.AsyncClient() as elsewhere:
            back = (await elsewhere.get(sent.headers["location"])).headers["location"]
        assert (await other.get(back)).status_code == 400  # no cookie of ours
        forged = back.replace("state=", "state=x")
        assert (await client.get(forged)).status_code == 400
        assert (await client.get(back)).status_code == 400  # that was its one time


@pytest.mark.parametrize("oidc", [{"role": ""}])
async def test_strangers_may_be_kept_out(visitor: Visitor, accounts: Accounts) -> None:
    async with visitor() as client:
        assert (await through(client)).status_code == 403
    assert len(accounts.users.list_all()) == 3


FACTS, KEYS, TOKEN = "/.well-known/openid-configuration", "/jwks_uri", "/token_endpoint"


@pytest.mark.parametrize(
    ("path", "fails", "said", "status"),
    [
        (FACTS, 0, None, 502),
        (FACTS, 503, b"{}", 502),
        (FACTS, 200, b"<html>", 502),
        (KEYS, 0, None, 502),
        (KEYS, 200, b'{"keys": [{"kty": "none"}]}', 502),
        (TOKEN, 0, None, 502),
        (TOKEN, 500, b'{"error": "server_error"}', 502),
        (TOKEN, 200, b"<html>", 502),
        (TOKEN, 200, b"[]", 502),
        (TOKEN, 400, b'{"error": "invalid_grant"}', 401),
        (TOKEN, 200, b"{}", 401),
    ],
)
async def test_a_provider_that_fails_or_refuses_is_told_at_the_door(
    visitor: Visitor, provider: Provider, path: str, fails: int, said: bytes | None, status: int
) -> None:
    hung_up = Reply(raw=[b""])
    provider.fails[path] = hung_up if said is None else Reply(status=fails, body=said)
    async with visitor() as client:
        page = await through(client)
        assert (page.status_code, "identity provider" in page.text) == (status, True)
        sent = await client.post("/sign-in", data={"name": "rea", "password": SECRET})
        assert sent.status_code == 303  # a password still does


def test_a_provider_without_tls_or_a_name_is_refused() -> None:
    with pytest.raises(SettingsError, match="not an https address"):
        provider_of(OidcSettings(issuer="http://id.example", client_id="x"), {})
    with pytest.raises(SettingsError, match="client_id"):
        provider_of(OidcSettings(issuer="https://id.example"), {})
    assert provider_of(OidcSettings(), {}) is None
