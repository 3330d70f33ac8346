"""The access that the route of a request requires, and the knowledge base as its asker may see it.

The rule is chosen by the route that the router will run, never by the spelling of the path:
``/mcp%0A`` runs the route ``/mcp``. ``sign_in`` sets the asker of a request; material that the
asker may not read is reported as missing (404).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal, cast

from fastapi import Depends
from starlette.requests import HTTPConnection, Request
from starlette.routing import Match
from starlette.types import Scope

from wellread.errors import UnknownCollectionError, UnknownNameError
from wellread.identity import NOBODY, Asker
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import base_of, sees_all, view_for

# ``open``: anybody; ``own``: users signed in with a browser, about their own account; otherwise the
# scope that the user's role or key must have.
Access = Literal["open", "own", "read", "ask", "edit", "admin"]

MCP_PATH = "/mcp"
Rule = tuple[str, str, Access]  # method, declared path and required access


class RouteRules:
    """Finds the rule of a request."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = {(method, path): access for method, path, access in rules}

    def allows(self, scopes: Collection[str], page: str) -> bool:
        """Whether a user with these scopes may open the page at this path."""
        return self._rules["GET", page] in scopes

    def of(self, scope: Scope) -> tuple[str, Access]:
        """The declared path and the required access; an empty path and ``own`` without a route."""
        path = route_of(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        access = self._rules.get((method, path)) or self._rules.get(("*", path))
        return (path, access) if access else ("", "own")


def route_of(scope: Scope) -> str:
    """The declared path of the route that will run; empty when no route matches.

    It is found as the router finds it and cached in the request's state.
    """
    state = scope.setdefault("state", {})
    if "route" not in state:
        routes = scope["app"].router.routes
        matches = (route for route in routes if route.matches(scope)[0] is Match.FULL)
        state["route"] = getattr(next(matches, None), "path", "")
    return str(state["route"])


def asker_of(request: HTTPConnection) -> Asker:
    """The asker that ``sign_in`` found; ``NOBODY`` without one."""
    asker = getattr(request.state, "asker", None)
    return asker if isinstance(asker, Asker) else NOBODY


def kb_for(request: HTTPConnection) -> KnowledgeBase:
    """The application's knowledge base, restricted to what the asker of ``request`` may read."""
    return view_for(cast(KnowledgeBase, request.app.state.kb), asker_of(request))


def note_opened(request: HTTPConnection, document_id: str) -> None:
    """Record for the audit log that the request shows this document or a part of it."""
    request.state.opened = (*opened_ids(request), document_id)


def opened_ids(request: HTTPConnection) -> tuple[str, ...]:
    """The ids of the documents that the request has shown."""
    document_ids: tuple[str, ...] = getattr(request.state, "opened", ())
    return document_ids


async def _kb_dependency(request: Request) -> KnowledgeBase:
    return kb_for(request)


async def _whole_kb_dependency(request: Request) -> KnowledgeBase:
    kb = kb_for(request)
    if not sees_all(kb):
        raise UnknownNameError(f"nothing was found at {request.url.path}")
    return kb


Kb = Annotated[KnowledgeBase, Depends(_kb_dependency)]
"""The application's knowledge base, restricted to what the asker may read."""

WholeKb = Annotated[KnowledgeBase, Depends(_whole_kb_dependency)]
"""The knowledge base for routes about all of it; 404 for askers who may not read everything."""


def kb_to_change(kb: KnowledgeBase, collection: str) -> KnowledgeBase:
    """The unrestricted knowledge base, to change a collection that the asker may read.

    Whether the asker may change it is checked elsewhere (``sign_in``, ``check_may_edit``).
    """
    if sees_all(kb) or _may_read(kb, collection):
        return base_of(kb)
    raise UnknownCollectionError(f"there is no collection named {collection!r}")


def _may_read(kb: KnowledgeBase, collection: str) -> bool:
    reads = kb.asker.reads
    return isinstance(reads, frozenset) and collection in reads
