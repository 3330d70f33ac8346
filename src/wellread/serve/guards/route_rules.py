"""The rights that each route requires, and the knowledge base as the asker may see it.

The rule is chosen by the route that the router will run, never by the spelling of the path:
``/mcp%0A`` runs the route ``/mcp``. A test fails when a route has no rule. ``sign_in`` sets the
asker of a request; material that the asker may not read is reported as missing (404).
"""

from __future__ import annotations

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
_RULES = """
read   GET     /openapi.json
ask    POST    /api/ask
ask    POST    /api/query
ask    POST    /api/query/deep
read   GET     /api/answers
read   GET     /api/answers/{answer_id}
ask    POST    /api/answers/{answer_id}/verify
read   GET     /api/answers/{answer_id}/export
read   GET     /api/sessions
read   GET     /api/sessions/{session_id}
ask    DELETE  /api/sessions/{session_id}
edit   GET     /api/jobs
edit   GET     /api/jobs/{job_id}
edit   POST    /api/jobs/{job_id}/cancel
admin  GET     /api/usage
read   GET     /api/entities/{name:path}
read   GET     /api/entities
read   GET     /api/stories
read   GET     /api/search
read   GET     /api/search/speaker/{name:path}
read   GET     /api/search/date-range
read   GET     /api/segments/{passage_id}/context
read   GET     /api/similar
read   GET     /api/documents
read   GET     /api/documents/{name:path}
read   GET     /api/videos
read   GET     /api/videos/{name:path}/transcript
read   GET     /api/topics
read   GET     /api/topics/{name:path}/timeline
edit   PUT     /api/answers/{answer_id}/feedback
edit   PATCH   /api/answers/{answer_id}/feedback
read   GET     /api/answers/{answer_id}/feedback
edit   DELETE  /api/answers/{answer_id}/feedback
edit   GET     /api/feedback
read   GET     /api/gaps
edit   POST    /api/gaps/ask
read   GET     /api/gaps/{cluster_id}
read   GET     /api/gaps/{cluster_id}/suggestion
edit   PATCH   /api/gaps/{gap_id}
read   GET     /api/questions/patterns
read   GET     /api/coverage
admin  GET     /api/metrics
open   GET     /healthz
admin  GET     /metrics
read   GET     /api/preferences
ask    PATCH   /api/preferences
read   GET     /v1/models
read   GET     /v1/models/{name:path}
ask    POST    /v1/chat/completions
ask    GET     /
read   GET     /ask/{run_id}
read   GET     /ask/{run_id}/wait
ask    POST    /ask/{run_id}/cancel
read   GET     /ask/{run_id}/events
read   GET     /answers/{answer_id}
ask    POST    /answers/{answer_id}/verify
edit   POST    /answers/{answer_id}/feedback
edit   POST    /answers/{answer_id}/feedback/remove
read   GET     /conversations
read   GET     /conversations/{session_id}
ask    POST    /conversations/{session_id}/remove
read   GET     /view/{document_id}
read   GET     /documents/{document_id}/pages/{number}.png
read   GET     /documents/{document_id}/media
read   GET     /library
edit   GET     /library/add
edit   POST    /library/upload
edit   POST    /library/address
edit   POST    /library/text
edit   POST    /library/sample
edit   POST    /library/remove
edit   GET     /library/jobs
edit   GET     /library/jobs/{job_id}
edit   POST    /library/jobs/{job_id}/cancel
edit   POST    /library/jobs/{job_id}/retry
read   GET     /search
read   GET     /stories
read   GET     /stories/{story_id}
read   GET     /entities
read   GET     /entities/{name:path}
read   GET     /coverage
read   GET     /gaps
read   GET     /gaps/{cluster_id}
edit   POST    /gaps/{gap_id}/status
admin  GET     /figures
admin  GET     /usage
read   GET     /docs
read   GET     /preferences
ask    POST    /preferences
ask    POST    /preferences/learned
ask    POST    /notices/seen
open   GET     /sign-in
open   POST    /sign-in
open   GET     /sign-in/oidc
open   GET     /sign-in/oidc/callback
open   POST    /sign-out
own    GET     /account
own    POST    /account/password
own    POST    /account/keys
own    POST    /account/keys/{key_id}/revoke
own    POST    /account/sessions/end
own    POST    /account/forget
ask    *       /mcp
open   GET     /static
"""


def rules() -> list[tuple[str, str, Access]]:
    """Every rule as method, path and required access, in the order of the routes."""
    lines = (line.split() for line in _RULES.strip().splitlines())
    return [(method, path, _checked_access(access)) for access, method, path in lines]


class RouteRules:
    """Finds the rule of a request."""

    def __init__(self) -> None:
        self._rules = {(method, path): access for method, path, access in rules()}

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


def _checked_access(access: str) -> Access:
    match access:
        case "open" | "own" | "read" | "ask" | "edit" | "admin":
            return access
    raise ValueError(f"{access!r} is not a kind of access")


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
