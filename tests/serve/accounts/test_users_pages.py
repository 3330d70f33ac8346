"""The pages on which an admin manages users."""

from __future__ import annotations

import httpx
from fastapi import FastAPI
from tests.serve.accounts.conftest import SECRET, Visitor
from tests.serve.conftest import client_of

from wellread.kb import KnowledgeBase
from wellread.serve.http.app import create_app
from wellread.store.catalogue.accounts.sign_in_records import Accounts


async def test_a_user_is_added_given_a_collection_and_shut_out(
    visitor: Visitor, accounts: Accounts
) -> None:
    async with visitor("root") as root:
        new = {"name": "Nan", "password": "a new pier", "role": "reader"}
        made = await root.post("/users", data=new)
        address = made.headers["location"]
        access = {"collection": ["*", "town", "nature"], "access": ["", "", "reader"]}
        change = {"role": "reader", "allowed": "true", **access}
        assert (await root.post(address, data=change)).headers["location"] == "/users"
        assert "nature" in (await root.get("/users")).text
        async with visitor() as nan:
            signing = {"name": "nan", "password": "a new pier"}
            assert (await nan.post("/sign-in", data=signing)).status_code == 303
            listed = (await nan.get("/api/documents")).json()
            assert {item["collection"] for item in listed["documents"]} == {"nature"}
            assert (await nan.get("/users")).status_code == 403
            await root.post(address, data={**change, "access": ["", "", ""]})
            assert (await nan.get("/api/documents")).json()["documents"] == []
            await root.post(address, data={"role": "reader"})
            assert (await nan.get("/api/documents")).status_code == 401
    assert accounts.users.named("nan").disabled
    changes = [entry.target for entry in accounts.audit.newest(20, action="changed")]
    assert any(target.startswith("POST /users users add usr_") for target in changes)


async def test_what_cannot_be_is_refused_with_what_was_typed(
    visitor: Visitor, accounts: Accounts
) -> None:
    own = accounts.users.named("root").id
    async with visitor("root") as root:
        short = await root.post("/users", data={"name": "Nan", "password": "x", "role": "editor"})
        assert short.status_code == 400
        assert "fewer than 10 characters" in short.text
        assert 'value="Nan"' in short.text
        last = await root.post(f"/users/{own}", data={"role": "reader", "allowed": "true"})
        assert (last.status_code, "the last admin" in last.text) == (400, True)
        assert 'value="reader" checked' in last.text
    assert accounts.users.named("root").role == "admin"


async def test_a_new_password_signs_its_user_out(visitor: Visitor, accounts: Accounts) -> None:
    address = f"/users/{accounts.users.named('rea').id}"
    change = {"role": "reader", "allowed": "true", "password": f"{SECRET} again"}
    async with visitor("root") as root, visitor("rea") as rea:
        assert (await rea.get("/account")).status_code == 200
        assert (await rea.post(address, data=change)).status_code == 403
        await root.post(address, data=change)
        assert (await rea.get("/account")).status_code == 303


async def test_the_first_user_is_an_admin_and_has_to_sign_in(kb: KnowledgeBase) -> None:
    server: FastAPI = create_app(kb)
    async with client_of(server, accept="text/html") as client:
        form = {"name": "ana", "password": "a pier in fog", "role": "reader"}
        assert (await client.post("/users", data=form)).status_code == 400
        made: httpx.Response = await client.post("/users", data=form | {"role": "admin"})
        left = await client.get(made.headers["location"])
        assert left.headers["location"].startswith("/sign-in")


async def test_errors_on_the_account_page_keep_what_was_typed(visitor: Visitor) -> None:
    async with visitor("rea") as rea:
        wanted = {"name": "notes", "days": "soon", "scope": "read", "collection": "town"}
        refused = await rea.post("/account/keys", data=wanted)
        assert (refused.status_code, "is not a number of days" in refused.text) == (400, True)
        assert 'value="notes"' in refused.text
        differing = {"current": SECRET, "new": "a pier in rain", "again": "a pier in snow"}
        refused = await rea.post("/account/password", data=differing)
        assert (refused.status_code, "differ" in refused.text) == (400, True)
        names = (await rea.get("/account")).text
        assert 'name="collection" value="nature"' not in names
