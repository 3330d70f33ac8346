"""One registry: what the application answers is what its routers declare."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route

import wellread.serve.api
import wellread.serve.openai
import wellread.serve.web.pages
from wellread.kb import KnowledgeBase
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
