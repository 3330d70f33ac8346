"""One registry: what the application answers is what its routers declare."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Mount, Route

import wellread.serve.api
import wellread.serve.openai
import wellread.serve.web.pages
from wellread.kb import KnowledgeBase
from wellread.serve.guards.route_rules import RouteRules, rules
from wellread.serve.server.app import ROUTERS, create_app

# /mcp is a protocol of its own (tests/serve/mcp), behind the same checks as every route.
BESIDE = {"/openapi.json", "/static", "/mcp"}


def declared() -> Iterator[tuple[str, APIRouter]]:
    """The router of every module that has one."""
    for package in (wellread.serve.api, wellread.serve.openai, wellread.serve.web.pages):
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
        inner = getattr(route, "original_router", None)
        if inner is not None:  # newer releases of FastAPI keep a router whole
            yield from answered(inner.routes)
        elif isinstance(route, Route | APIRoute):
            for method in sorted((route.methods or {"*"}) - {"HEAD"}):
                yield method, route.path
        elif isinstance(route, Mount):
            yield "GET", route.path


def test_every_route_has_a_rule_and_every_rule_a_route_in_the_same_order(
    kb: KnowledgeBase,
) -> None:
    """The order counts: an address is judged by the first rule that fits, as by the first route."""
    expected = [(method, path) for method, path, _ in rules()]
    assert list(answered(create_app(kb).router.routes)) == expected


def test_an_address_without_a_route_is_for_nobody_but_who_is_signed_in() -> None:
    scope = {"type": "http", "path": "/nowhere", "root_path": ""}
    for method in ("GET", "POST", "DELETE"):
        assert RouteRules().of({**scope, "method": method}) == ("", "own")
    assert RouteRules().of({**scope, "method": "HEAD", "path": "/static/app.js"})[1] == "open"
    assert RouteRules().of({**scope, "method": "PUT", "path": "/users"}) == ("", "own")
