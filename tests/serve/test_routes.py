"""One registry: what the application answers is what its routers declare."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Mount, Route

import wellread.serve.http
import wellread.serve.web.pages
from wellread.kb import KnowledgeBase
from wellread.serve.guards.incoming import BodyLimits, _is_visit
from wellread.serve.guards.route_rules import RouteRules, is_queued, route_of
from wellread.serve.http.app import ROUTERS, create_app, rules
from wellread.serve.web.pages.library_pages import UPLOAD_PATH

# /mcp is a protocol of its own (tests/serve/mcp), behind the same checks as every route.
BESIDE = {"/openapi.json", "/static", "/mcp"}


def declared() -> Iterator[tuple[str, APIRouter]]:
    """The router of every module that has one."""
    for package in (wellread.serve.http, wellread.serve.web.pages):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            router = getattr(importlib.import_module(found.name), "router", None)
            if isinstance(router, APIRouter):
                yield found.name, router


def test_every_router_is_in_the_registry() -> None:
    missing = [name for name, router in declared() if all(router is not one for one in ROUTERS)]
    assert missing == []


def test_no_address_is_declared_beside_the_registry(kb: KnowledgeBase) -> None:
    beside = {
        route.path
        for route in create_app(kb).router.routes
        if isinstance(route, Route | Mount) and not isinstance(route, APIRoute)
    }
    own = {route.path for route in create_app(kb).router.routes if isinstance(route, APIRoute)}
    known = {
        route.path for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)
    }
    assert beside == BESIDE
    assert own <= known


def answered(routes: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Method and address of everything that these routes answer, in their order."""
    for route in routes:
        if isinstance(route, Route | APIRoute):
            for method in sorted((route.methods or {"*"}) - {"HEAD"}):
                yield method, route.path
        elif isinstance(route, Mount):
            yield "GET", route.path


def test_every_route_has_a_rule_and_every_rule_a_route_in_the_same_order(
    kb: KnowledgeBase,
) -> None:
    """The table is read beside the routes; a request is judged by the first route that fits."""
    expected = [(method, path) for method, path, _ in rules()]
    assert list(answered(create_app(kb).router.routes)) == expected


def test_what_is_open_and_what_readers_may_do_stands_here() -> None:
    """A route that is declared with too little access is found."""
    open_ones = {path for _, path, access in rules() if access == "open"}
    signing = {"/sign-in", "/sign-in/oidc", "/sign-in/oidc/callback", "/sign-out"}
    assert open_ones == {"/healthz", "/static", *signing}
    assert {method for method, _, access in rules() if access == "read"} == {"GET"}
    assert {path for _, path, access in rules() if access == "own"} == {
        "/account",
        *(f"/account/{name}" for name in ("password", "keys", "forget", "sessions/end")),
        "/account/keys/{key_id}/revoke",
    }
    assert {path for _, path, access in rules() if access == "admin"} == {
        *("/api/usage", "/api/metrics", "/metrics", "/figures", "/usage"),
        *("/settings", "/settings/test", "/health", "/users", "/users/{user_id}"),
    }


def test_an_address_without_a_route_is_for_nobody_but_who_is_signed_in(kb: KnowledgeBase) -> None:
    scope = {"type": "http", "path": "/nowhere", "root_path": "", "app": create_app(kb)}

    def of(**given: str) -> tuple[str, str]:
        return RouteRules(rules()).of({**scope, "state": {}, **given})

    for method in ("GET", "POST", "DELETE"):
        assert of(method=method) == ("", "own")
    assert of(method="HEAD", path="/static/app.js")[1] == "open"
    assert of(method="PUT", path="/usage") == ("", "own")


def spellings(path: str) -> list[str]:
    """A path as somebody may write it to get past what reads its text."""
    encoded = "/" + "".join(f"%{ord(letter):02x}" for letter in path[1:])
    behind = ("%0A", "/", "%2F", ";x", "%00")
    return [encoded, path.upper(), f"/{path}", f"/x/..{path}", *(path + one for one in behind)]


async def test_guards_judge_by_the_route_that_runs_however_its_address_is_spelt(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decided about a request is what is decided about its route as it is declared."""
    ran: list[str] = []

    async def handle(route: Any, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] in (getattr(route, "methods", None) or [scope["method"]]):
            ran.append(route.path)

    async def nothing(*_: object) -> Any:
        pass

    for kind in (Route, APIRoute, Mount):
        monkeypatch.setattr(kind, "handle", handle)
    app = create_app(kb)
    app.router.default = nothing
    judge, bodies = (
        RouteRules(rules()),
        BodyLimits(max_bytes=1, seconds=1, max_bytes_by_route={UPLOAD_PATH: 2}),
    )

    async def judged(method: str, spelt: str) -> tuple[str, tuple[Any, ...]]:
        """The route that runs, and what the guards say to a request that is spelt so."""
        scope = {"type": "http", "method": method, "path": unquote(spelt), "app": app}
        scope |= {"headers": [(b"sec-fetch-site", b"cross-site")], "query_string": b""}
        said = (judge.of(scope), is_queued(scope), bodies.of(scope), _is_visit(scope))
        await app.router(scope, nothing, nothing)
        return ran.pop() if ran else "", (route_of(scope), *said)

    for method, path, access in rules():
        method = "POST" if method == "*" else method
        plain = "/static/app.js" if path == "/static" else re.sub(r"{.*?}", "x", path)
        runs, expected = await judged(method, plain)
        assert (runs, judge.of({"method": method, "state": {"route": path}})) == (
            path,
            (path, access),
        )
        for spelt in spellings(plain):
            runs, said = await judged(method, spelt)
            assert said[0] == runs, (method, spelt)
            assert said == expected or runs != path, (method, spelt)
