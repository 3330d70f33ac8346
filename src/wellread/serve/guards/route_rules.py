"""What each route demands of who asks for it, once there are users.

A request is judged by the route that will answer it, which the routes themselves are asked for, and
never by how its path is spelt: ``/mcp%0A`` runs the route ``/mcp``. A test holds the table and the
routes together: a new route has no rule, and fails it.
"""

from __future__ import annotations

from typing import Literal

from starlette.routing import Match
from starlette.types import Scope

# ``open``: anybody; ``own``: whoever is signed in with a browser, about themselves; else the scope
# that their role, or their key, has to have.
Access = Literal["open", "own", "read", "ask", "edit", "admin"]

MCP_PATH = "/mcp"
_RULES = """
read   GET     /openapi.json
ask    POST    /api/ask
ask    POST    /api/check
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
