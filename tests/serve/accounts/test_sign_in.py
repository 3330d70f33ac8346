"""Signing in and out, what a stranger gets, and what ends a sign-in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest
from argon2.exceptions import VerifyMismatchError
from fastapi import FastAPI, Request
from sqlalchemy import update
from starlette import types as asgi
from tests.serve.accounts.conftest import BASE_URL, SECRET, Visitor, program, signed_in
from tests.serve.conftest import client_of

from wellread.identity import EVERYTHING, LOCAL
from wellread.kb import KnowledgeBase
from wellread.serve.guards.route_rules import MAX_WAITING
from wellread.serve.guards.sign_in import COOKIE, MAX_HASHES, SignIn
from wellread.serve.http.app import create_app, rules
from wellread.store.catalogue.accounts import user_records
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.schema.stored_values import Rights, Scope
from wellread.store.schema.tables import api_keys


def an_address(path: str) -> str:
    """An address of a route, with something in the place of its parameters."""
    return "/".join("x" if part.startswith("{") else part for part in path.split("/"))


async def test_a_stranger_is_refused_everywhere_but_at_the_door(server: FastAPI) -> None:
    transport = httpx.ASGITransport(server, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        for method, path, access in rules():
            if access == "open":
                continue
            method = "POST" if method == "*" else method
            response = await client.request(method, an_address(path))
            assert response.status_code == 401, (method, path)
            assert response.headers["www-authenticate"] == "Bearer"
            said = response.json()["error"]
            assert (said["code"] if path.startswith("/v1") else said) == "unauthorized"


async def test_what_is_open_tells_a_stranger_nothing(visitor: Visitor) -> None:
    async with visitor() as client:
        health = await client.get("/healthz")
        assert health.json()["documents"] == 0
        page = await client.get("/sign-in")
        assert "/library" not in page.text
        assert (await client.get("/static/app.js")).status_code == 200


async def test_a_page_sends_to_the_door_and_back(visitor: Visitor) -> None:
    async with visitor() as client:
        sent = await client.get("/search?query=ferry&mode=text")
        assert sent.status_code == 303
        assert sent.headers["location"] == "/sign-in?next=%2Fsearch%3Fquery%3Dferry%26mode%3Dtext"
        back = await signed_in(client, "rea", next="/search?query=ferry&mode=text")
        assert back.headers["location"] == "/search?query=ferry&mode=text"
        assert (await client.get("/search?query=ferry")).status_code == 200


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", "a\nb"]
)
async def test_nobody_is_sent_elsewhere_after_signing_in(visitor: Visitor, target: str) -> None:
    async with visitor() as client:
        assert (await signed_in(client, "rea", next=target)).headers["location"] == "/"


async def test_the_cookie_is_kept_from_scripts_and_other_sites(visitor: Visitor) -> None:
    async with visitor() as client:
        plain = (await signed_in(client, "rea")).headers["set-cookie"].lower()
    async with visitor(base_url="https://localhost") as client:
        over_tls = (await signed_in(client, "rea")).headers["set-cookie"].lower()
    assert plain.startswith(COOKIE)
    for said in ("httponly", "samesite=lax", "path=/"):
        assert said in plain
        assert said in over_tls
    assert "secure" in over_tls
    assert "secure" not in plain


async def test_a_wrong_name_and_a_wrong_password_look_the_same(
    visitor: Visitor, accounts: Accounts
) -> None:
    async with visitor() as client:
        unknown = await signed_in(client, "nobody")
        wrong = await signed_in(client, "rea", "wrong " + SECRET)
        accounts.users.set_disabled(accounts.users.named("rea").id, True)
        disabled = await signed_in(client, "rea")
    assert {one.status_code for one in (unknown, wrong, disabled)} == {401}
    assert unknown.text == wrong.text == disabled.text
    assert "set-cookie" not in unknown.headers


async def test_failed_sign_ins_are_slowed_down_also_with_the_right_password(
    visitor: Visitor,
) -> None:
    async with visitor() as client:
        for _ in range(5):
            assert (await signed_in(client, "rea", "wrong " + SECRET)).status_code == 401
        late = await signed_in(client, "rea")
        assert late.status_code == 429
        assert 0 < int(late.headers["retry-after"]) <= 60
        assert (await signed_in(client, "ed")).status_code == 303  # others are not


class SlowHasher:
    """Stands in for the hasher: counts, and lets nothing through until it is let."""

    def __init__(self) -> None:
        self.run_hashing = 0
        self.open = threading.Event()

    def verify(self, _kept: str, password: str) -> None:
        self.run_hashing += 1
        assert self.open.wait(30)
        if password != SECRET:
            raise VerifyMismatchError

    def check_needs_rehash(self, _kept: str) -> bool:
        return False


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, accounts: Accounts) -> Iterator[SlowHasher]:
    made = SlowHasher()
    accounts.users.authenticate("", "")  # makes the hash of nobody's password
    monkeypatch.setattr(user_records, "_HASHER", made)
    yield made
    made.open.set()


QUEUE = MAX_HASHES + MAX_WAITING


@pytest.mark.parametrize(
    ("name", "address", "allowed"),
    [("rea", "10.0.0.{}", 5), ("nobody{}", "10.0.0.1", 20), ("nobody{}", "10.0.0.{}", QUEUE)],
    ids=["of one name", "from one address", "all that may wait"],
)
async def test_of_many_guesses_at_once_no_more_are_looked_at_than_one_after_the_other(
    visitor: Visitor, slow: SlowHasher, name: str, address: str, allowed: int
) -> None:
    told: list[int] = []

    async def tries(name: str, address: str, password: str) -> None:
        async with visitor(address=address) as client:
            response = await signed_in(client, name, password)
            assert response.status_code != 429 or int(response.headers["retry-after"]) > 0
            told.append(response.status_code)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(tries, name.format(number), address.format(number), "wrong")
            while len(told) < 60 - allowed:
                await anyio.sleep(0.005)
            if allowed < QUEUE:  # somebody else finds room
                group.start_soon(tries, "ed", "10.1.0.1", SECRET)
            slow.open.set()
        if allowed == QUEUE:
            await tries("ed", "10.1.0.1", SECRET)
    assert slow.run_hashing == allowed + 1
    assert {one: told.count(one) for one in told} == {429: 60 - allowed, 401: allowed, 303: 1}


async def test_a_right_password_is_no_failed_try(visitor: Visitor) -> None:
    async with visitor() as client:
        for password in ["wrong", *[SECRET] * 6, *["wrong"] * 4]:
            assert (await signed_in(client, "rea", password)).status_code != 429
        for given in ("wrong", SECRET):
            assert (await signed_in(client, "rea", given)).status_code == 429


async def test_a_sign_in_ends(visitor: Visitor, accounts: Accounts) -> None:
    rea = accounts.users.named("rea")
    async with visitor("rea") as one, visitor("rea") as other:
        assert (await one.post("/sign-out")).status_code == 303
        assert (await one.get("/library")).status_code == 303  # to the door
        assert (await other.get("/library")).status_code == 200
        ended = await other.post("/account/sessions/end")
        assert ended.status_code == 303
        assert (await other.get("/library")).status_code == 303
    async with visitor("rea") as third:
        new = "another " + SECRET
        changed = {"current": SECRET, "new": new, "again": new}
        assert (await third.post("/account/password", data=changed)).status_code == 303
        assert (await third.get("/library")).status_code == 303
        assert (await signed_in(third, "rea", new)).status_code == 303
        accounts.users.set_disabled(rea.id, True)
        assert (await third.get("/library")).status_code == 303


async def test_a_cookie_does_not_do_for_a_request_that_no_page_of_ours_made(
    visitor: Visitor,
) -> None:
    async with visitor("ed") as client:
        silent = client.build_request("POST", "/preferences", data={"length": "short"})
        del silent.headers["sec-fetch-site"]
        assert (await client.send(silent)).status_code == 403
        foreign = {"sec-fetch-site": "cross-site"}
        for method, path, access in rules():
            if method in ("POST", "PUT", "PATCH", "DELETE") and access != "open":
                response = await client.request(method, an_address(path), headers=foreign)
                assert response.status_code == 403, path
        ours = client.build_request("POST", "/preferences", data={"length": "short"})
        del ours.headers["sec-fetch-site"]
        ours.headers["origin"] = BASE_URL
        assert (await client.send(ours)).status_code < 400


async def test_without_users_all_rights_are_those_of_the_machine(kb: KnowledgeBase) -> None:
    seen = await state_of(create_app(kb))
    assert seen.asker == LOCAL
    assert seen.user is None
    assert seen.scopes == {"read", "ask", "edit", "admin"}


async def test_where_others_come_nobody_is_let_in_without_users(kb: KnowledgeBase) -> None:
    app = create_app(kb, require_sign_in=True)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://box.example") as client:
        assert (await client.get("/api/documents")).status_code == 401
    kb.catalogue.accounts.users.add("root", "admin", SECRET)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://box.example", headers={"sec-fetch-site": "none"}
    ) as client:
        assert (await signed_in(client, "root")).status_code == 303
        assert (await client.get("/api/documents")).status_code == 200


async def test_the_first_user_shuts_the_door_of_a_running_server(kb: KnowledgeBase) -> None:
    async with client_of(create_app(kb)) as client:
        assert (await client.get("/api/documents")).status_code == 200
        kb.catalogue.accounts.users.add("root", "admin", SECRET)
        assert (await client.get("/api/documents")).status_code == 401


async def test_whose_request_it_is_stands_in_its_state(server: FastAPI, accounts: Accounts) -> None:
    rea, root = accounts.users.named("rea"), accounts.users.named("root")
    _, key = accounts.keys.new(rea.id, "script", ("read",))
    held = await state_of(server, f"Bearer {key}")
    assert held.asker.owner == rea.id
    assert held.asker.reads == frozenset({"town"})
    _, key = accounts.keys.new(root.id, "script", ("read",))
    assert (await state_of(server, f"Bearer {key}")).asker.reads == EVERYTHING
    stranger = await state_of(server, path="/healthz")
    assert stranger.asker.reads == frozenset()
    assert stranger.asker.owner != LOCAL.owner


async def state_of(app: FastAPI, bearer: str = "", path: str = "/api/documents") -> Rights:
    """What the guard puts into the state of a request."""
    seen: list[Rights] = []

    async def ends(scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        state = Request(scope).state
        assert state.asker == state.rights.asker
        seen.append(state.rights)

    headers = [(b"authorization", bearer.encode())] if bearer else []
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "app": app}
    unused: Any = None
    guard = SignIn(ends, app.state.authenticator, unused)
    await guard({**scope, "headers": headers}, unused, unused)
    return seen[0]


# --- keys ---


async def test_a_key_opens_every_interface_within_its_scopes(
    server: FastAPI, accounts: Accounts
) -> None:
    ed = accounts.users.named("ed")
    made, reading = accounts.keys.new(ed.id, "reading", ("read",))
    _, asking = accounts.keys.new(ed.id, "asking", ("read", "ask"))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    question = {"question": "What was the ferry bought for?"}
    chat = {"model": "wellread", "messages": [{"role": "user", "content": question["question"]}]}
    async with program(server, reading) as client:
        assert (await client.get("/api/documents")).status_code == 200
        assert (await client.get("/v1/models")).status_code == 200
        assert (await client.post("/api/ask", json=question)).status_code == 403
        assert (await client.post("/v1/chat/completions", json=chat)).status_code == 403
        assert (await client.post("/mcp", json=call)).status_code == 403
        assert (await client.get("/account")).status_code == 403  # for people
    async with program(server, asking) as client:
        assert (await client.post("/api/ask", json=question)).status_code == 200
        assert (await client.post("/v1/chat/completions", json=chat)).status_code == 200
        assert (await client.post("/library/sample")).status_code == 403
    _, only_asking = accounts.keys.new(ed.id, "only asking", ("ask",))
    async with program(server, only_asking) as client:
        for path in ("/mcp", "/mcp%0A"):
            assert (await client.post(path, json=call)).status_code == 403
    accounts.keys.revoke(made.id)
    async with program(server, reading) as client:
        late = await client.get("/api/documents")
        assert late.status_code == 401
        assert "invalid_token" in late.headers["www-authenticate"]
    async with program(server, "wr_" + "x" * 43) as client:
        assert (await client.get("/api/documents")).status_code == 401


async def test_a_key_is_made_at_the_account_page_and_shown_once(
    visitor: Visitor, server: FastAPI
) -> None:
    async with visitor("rea") as client:
        made = await client.post("/account/keys", data={"name": "notes", "scope": ["read"]})
        key = made.text.partition("<code>wr_")[2].partition("</code>")[0]
        assert key
        page = await client.get("/account")
        assert f"wr_{key}" not in page.text
        assert f"wr_{key}"[:10] in page.text
    async with program(server, f"wr_{key}") as client:
        assert (await client.get("/api/documents")).status_code == 200


async def test_a_key_to_some_collections_is_no_admins_and_sees_no_other_conversation(
    visitor: Visitor, server: FastAPI, accounts: Accounts
) -> None:
    root = accounts.users.named("root")
    asked = {"town": "What was the ferry bought for?", "nature": "What do meadows store?"}
    async with visitor("root") as client:
        for topic, question in asked.items():
            told = await client.post("/api/ask", json={"question": question, "topicId": topic})
            assert told.status_code == 200
        beyond = told.json()["sessionId"]
        wanted = {"name": "k", "scope": ["admin"], "collection": "town"}
        refused = await client.post("/account/keys", data=wanted)
        assert (refused.status_code, "cannot have the scope admin" in refused.text) == (400, True)
        scopes: tuple[Scope, ...] = ("read", "ask", "admin")
        _, key = accounts.keys.new(root.id, "made before", scopes[:2], ["town"])
        with accounts.keys._database.write() as connection:
            connection.execute(update(api_keys).values(scopes=scopes))
        assert accounts.keys.of(root.id)[0].scopes == ("read", "ask")
        async with program(server, key) as limited:
            assert (await limited.get("/usage")).status_code == 403
            listed = (await limited.get("/api/sessions")).json()["sessions"]
            assert [one["title"] for one in listed] == [asked["town"]]
            assert asked["nature"] not in (await limited.get("/conversations")).text
            mine = f"/api/sessions/{beyond}"
            for method, body in (("GET", None), ("DELETE", None)):
                assert (await limited.request(method, mine, json=body)).status_code == 404
            again = {"question": asked["town"], "topicId": "town", "sessionId": beyond}
            assert (await limited.post("/api/ask", json=again)).json()["sessionId"] != beyond
        listed = (await client.get("/api/sessions")).json()["sessions"]
        assert {one["title"] for one in listed} == set(asked.values())


# --- rates ---


async def test_who_comes_too_often_waits_and_others_do_not(
    kb: KnowledgeBase, accounts: Accounts
) -> None:
    users = kb.settings.users.model_copy(update={"requests_per_minute": 3})
    kb.settings = kb.settings.model_copy(update={"users": users})
    app = create_app(kb)
    keys = [accounts.keys.new(accounts.users.named("rea").id, n, ("read",))[1] for n in "ab"]
    async with program(app, keys[0]) as client:
        codes = [(await client.get("/api/documents")).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        late = await client.get("/api/documents")
        assert 0 < int(late.headers["retry-after"]) <= 60
    async with program(app, keys[1]) as client:
        assert (await client.get("/api/documents")).status_code == 200
