"""Signing in at an identity provider: a small one on loopback, over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import pytest
from fastapi import FastAPI
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


class Provider:
    """What an identity provider does, and how a test makes it lie."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
        self.signed_with = self.key
        self.claims: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.said = {"sub": "ann-1", "preferred_username": "Ann", "groups": ["crew", "deck hands"]}
        self.asked: list[str] = []
        self.fails: dict[str, tuple[int, bytes] | None] = {}  # by path; None: hangs up
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not provider.failed(self):
                    provider.get(self)

            def do_POST(self) -> None:
                if not provider.failed(self):
                    provider.post(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.http.server_port}"

    def failed(self, request: BaseHTTPRequestHandler) -> bool:
        path = urlsplit(request.path).path
        said = self.fails.get(path)
        if said is not None:
            answered(request, said[1], said[0])
        return path in self.fails

    def get(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        self.asked.append(parts.path)
        match parts.path:
            case "/.well-known/openid-configuration":
                names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
                known = {name: f"{self.issuer}/{name}" for name in names}
                answered(request, {"issuer": self.issuer, **known})
            case "/jwks_uri":
                answered(request, KeySet([self.key]).as_dict(private=False))
            case "/authorization_endpoint":
                given = dict(parse_qsl(parts.query))
                code = f"code-{len(self.codes)}"
                self.codes[code] = given
                back = urlencode({"code": code, "state": given["state"]})
                request.send_response(302)
                request.send_header("location", f"{given['redirect_uri']}?{back}")
                request.end_headers()

    def post(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["content-length"])
        form = {name: one[0] for name, one in parse_qs(request.rfile.read(length).decode()).items()}
        asked = self.codes.pop(form["code"], None)
        basic = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET.replace(' ', '%20')}".encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        right = request.headers["authorization"] in (f"Basic {basic}", f"Basic {plain}")
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if asked is None or not right or asked["code_challenge"] != challenge:
            answered(request, {"error": "invalid_grant"}, 400)
            return
        assert asked["code_challenge_method"] == "S256"
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, **self.said}
        claims = {**claims, "nonce": asked["nonce"], **self.claims}
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.signed_with)
        answered(request, {"access_token": "x", "token_type": "Bearer", "id_token": token})


def answered(request: BaseHTTPRequestHandler, body: object, status: int = 200) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


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
    assert provider.asked.count("/jwks_uri") == 1
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
    provider.signed_with = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
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
    ("path", "said", "status"),
    [
        (FACTS, None, 502),
        (FACTS, (503, b"{}"), 502),
        (FACTS, (200, b"<html>"), 502),
        (KEYS, None, 502),
        (KEYS, (200, b'{"keys": [{"kty": "none"}]}'), 502),
        (TOKEN, None, 502),
        (TOKEN, (500, b'{"error": "server_error"}'), 502),
        (TOKEN, (200, b"<html>"), 502),
        (TOKEN, (200, b"[]"), 502),
        (TOKEN, (400, b'{"error": "invalid_grant"}'), 401),
        (TOKEN, (200, b"{}"), 401),
    ],
)
async def test_a_provider_that_fails_or_refuses_is_told_at_the_door(
    visitor: Visitor, provider: Provider, path: str, said: tuple[int, bytes] | None, status: int
) -> None:
    provider.fails[path] = said
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
