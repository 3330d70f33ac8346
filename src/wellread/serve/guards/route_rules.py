"""What each route demands of who asks for it, once there are users.

A request is judged by the route that will answer it, which the routes themselves are asked for, and
never by how its path is spelt: ``/mcp%0A`` runs the route ``/mcp``. A test holds the table and the
routes together: a new route has no rule, and fails it. In whose name a request is answered stands
here too: ``sign_in`` notes the asker, and what is not the asker's is not there (404).
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
from wellread.kb.seen_by import seen_by, sees_all, whole_of

# ``open``: anybody; ``own``: whoever is signed in with a browser, about themselves; else the scope
# that their role, or their key, has to have.
Access = Literal["open", "own", "read", "ask", "edit", "admin"]

MCP_PATH = "/mcp"
_RULES = """
read   GET     /openapi.json
ask    POST    /api/ask
ask    POST    /api/catalogue
ask    POST    /api/query
ask    POST    /api/query/deep
ask    POST    /api/research
read   GET     /api/research
read   GET     /api/research/{run_id}
ask    POST    /api/research/{run_id}/start
read   GET     /api/research/{run_id}/events
ask    POST    /api/research/{run_id}/cancel
ask    DELETE  /api/research/{run_id}
read   GET     /api/answers
read   GET     /api/answers/{answer_id}
ask    POST    /api/answers/{answer_id}/verify
read   GET     /api/answers/{answer_id}/export
read   GET     /api/sessions
read   GET     /api/sessions/{session_id}
ask    PATCH   /api/sessions/{session_id}
ask    DELETE  /api/sessions/{session_id}
edit   GET     /api/jobs
edit   GET     /api/jobs/{job_id}
edit   POST    /api/jobs/{job_id}/cancel
admin  GET     /api/usage
open   GET     /healthz
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
admin  GET     /metrics
read   GET     /api/preferences
ask    PATCH   /api/preferences
read   GET     /v1/models
read   GET     /v1/models/{name:path}
ask    POST    /v1/chat/completions
open   GET     /livez
open   GET     /readyz
ask    GET     /
read   GET     /ask/{run_id}
read   GET     /ask/{run_id}/wait
ask    POST    /ask/{run_id}/cancel
read   GET     /ask/{run_id}/events
read   GET     /answers/{answer_id}
ask    POST    /answers/{answer_id}/verify
read   GET     /answers/{answer_id}/table.csv
read   GET     /answers
edit   POST    /answers/{answer_id}/feedback
edit   POST    /answers/{answer_id}/feedback/remove
read   GET     /conversations
read   GET     /conversations/{session_id}
ask    POST    /conversations/{session_id}/rename
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
read   GET     /search/context/{passage_id}
read   GET     /stories
read   GET     /stories/{story_id}
read   GET     /entities
read   GET     /entities/{name:path}
read   GET     /timeline
read   GET     /media
read   GET     /coverage
read   GET     /gaps
read   GET     /gaps/patterns
edit   POST    /gaps/ask
read   GET     /gaps/{cluster_id}
edit   POST    /gaps/{gap_id}/status
admin  GET     /figures
read   GET     /preferences
ask    POST    /preferences
ask    POST    /preferences/learned
ask    POST    /notices/seen
admin  GET     /usage
read   GET     /docs
admin  GET     /settings
admin  GET     /health
admin  POST    /health/verify
admin  POST    /health/repair
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
admin  GET     /users
admin  POST    /users
admin  POST    /users/{user_id}/change
admin  POST    /users/{user_id}/remove
admin  POST    /users/groups
admin  POST    /users/groups/{group_id}/remove
admin  POST    /users/grants
admin  POST    /users/grants/take
admin  GET     /users/audit
ask    *       /mcp
open   GET     /static
"""


def rules() -> list[tuple[str, str, Access]]:
    """Every rule: method, address, what it demands; in the order of the routes."""
    lines = (line.split() for line in _RULES.strip().splitlines())
    return [(method, path, _known(access)) for access, method, path in lines]


class RouteRules:
    """Finds the rule of a request."""

    def __init__(self) -> None:
        self._rules = {(method, path): access for method, path, access in rules()}

    def of(self, scope: Scope) -> tuple[str, Access]:
        """The address as it is declared, and what it demands; ``own`` where no route answers."""
        path = route_of(scope)
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        access = self._rules.get((method, path)) or self._rules.get(("*", path))
        return (path, access) if access else ("", "own")


def route_of(scope: Scope) -> str:
    """The address, as declared, of the route that will run; empty where none will.

    It is found as the router finds it, once for each request.
    """
    state = scope.setdefault("state", {})
    if "route" not in state:
        found = (one for one in scope["app"].router.routes if one.matches(scope)[0] is Match.FULL)
        state["route"] = getattr(next(found, None), "path", "")
    return str(state["route"])


def _known(access: str) -> Access:
    match access:
        case "open" | "own" | "read" | "ask" | "edit" | "admin":
            return access
    raise ValueError(f"{access!r} is no kind of access")


def asker_of(request: HTTPConnection) -> Asker:
    """Who asks: whom the sign-in found; without users, whoever sits at the machine."""
    found = getattr(request.state, "asker", None)
    return found if isinstance(found, Asker) else NOBODY


def opened_for(request: HTTPConnection) -> KnowledgeBase:
    """The knowledge base of the application as the asker of ``request`` has it.

    Raises:
        StoreError: the catalogue cannot be opened.
    """
    return seen_by(cast(KnowledgeBase, request.app.state.kb), asker_of(request))


def note_opened(request: HTTPConnection, document_id: str) -> None:
    """The request is shown this document, or a part of it: for the audit log."""
    request.state.opened = (*opened_by(request), document_id)


def opened_by(request: HTTPConnection) -> tuple[str, ...]:
    """The ids of the documents that the request was shown."""
    noted: tuple[str, ...] = getattr(request.state, "opened", ())
    return noted


async def _opened(request: Request) -> KnowledgeBase:
    return opened_for(request)


async def _opened_whole(request: Request) -> KnowledgeBase:
    kb = opened_for(request)
    if not sees_all(kb):
        raise UnknownNameError(f"there is nothing at {request.url.path}")
    return kb


Kb = Annotated[KnowledgeBase, Depends(_opened)]
"""The knowledge base that the application is over, as the asker has it."""

WholeKb = Annotated[KnowledgeBase, Depends(_opened_whole)]
"""The same for what concerns all of it; who may not read everything finds nothing there (404)."""


def to_change(kb: KnowledgeBase, collection: str) -> KnowledgeBase:
    """The whole knowledge base, for a change of a collection that the asker was given.

    Whether the asker may change anything at all is for the sign-in to say.

    Raises:
        UnknownCollectionError: the asker may not read it.
    """
    if sees_all(kb) or _reads(kb, collection):
        return whole_of(kb)
    raise UnknownCollectionError(f"there is no collection named {collection!r}")


def _reads(kb: KnowledgeBase, collection: str) -> bool:
    reads = kb.asker.reads
    return isinstance(reads, frozenset) and collection in reads
