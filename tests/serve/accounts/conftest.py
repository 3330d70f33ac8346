"""A server with three users: an admin, an editor of the town, a reader of the town."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from fastapi import FastAPI
from tests.serve.conftest import client_of

from wellread.kb import KnowledgeBase
from wellread.serve.http.app import create_app
from wellread.store.catalogue.accounts import user_records
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.schema.stored_values import Role

BASE_URL = "http://127.0.0.1"
SECRET = "a pier in the fog"
OUR_PAGE = {"sec-fetch-site": "same-origin", "accept": "text/html"}
Visitor = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords cost next to nothing here; the default parameters are made for attackers."""
    monkeypatch.setattr(user_records, "_HASHER", PasswordHasher.from_parameters(CHEAPEST))
    user_records._unknown_user_hash.cache_clear()


@pytest.fixture
def accounts(kb: KnowledgeBase) -> Accounts:
    made = kb.catalogue.accounts
    made.users.add("root", "admin", SECRET)
    roles: dict[str, Role] = {"ed": "editor", "rea": "reader"}
    for name, role in roles.items():
        user = made.users.add(name, role, SECRET)
        made.grants.give("town", "editor", user_id=user.id)
    return made


@pytest.fixture
def server(kb: KnowledgeBase, accounts: Accounts) -> FastAPI:
    return create_app(kb)


@pytest.fixture
def visitor(server: FastAPI) -> Visitor:
    """A browser without a cookie; with ``name``, one that signs in."""

    @asynccontextmanager
    async def opened(
        name: str = "", address: str = "127.0.0.1", **options: Any
    ) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(server, raise_app_exceptions=False, client=(address, 1))
        made = {"base_url": BASE_URL, "headers": OUR_PAGE, **options}
        async with httpx.AsyncClient(transport=transport, **made) as client:
            if name:
                response = await signed_in(client, name)
                assert response.status_code == 303, response.text
            yield client

    return opened


async def signed_in(
    client: httpx.AsyncClient, name: str, password: str = SECRET, **more: str
) -> httpx.Response:
    return await client.post("/sign-in", data={"name": name, "password": password, **more})


def program(server: FastAPI, key: str) -> httpx.AsyncClient:
    """A client that shows a key, as programs do."""
    return client_of(server, authorization=f"Bearer {key}")
