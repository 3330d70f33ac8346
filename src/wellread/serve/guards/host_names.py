"""Requests that name another host than this machine, refused.

A web page could otherwise point a name of its own at 127.0.0.1 and read the answers (DNS
rebinding); the browser then sends that name.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from wellread.serve.error_shapes import problem_of_status
from wellread.serve.guards.refusals import Refusals


class LocalNames:
    """Refuses requests that name another host than these."""

    def __init__(self, app: ASGIApp, names: Collection[str] | None, refusals: Refusals) -> None:
        """``names``: None: any, which is for servers on which everybody has to sign in.

        A page of another name has no cookie of theirs.
        """
        self.app = app
        self.names = None if names is None else frozenset(map(str.lower, names))
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when it names this machine."""
        if scope["type"] != "http" or self.names is None or _host(scope) in self.names:
            await self.app(scope, receive, send)
            return
        problem = problem_of_status(
            421,
            f"This server does not answer for the host {_host(scope)!r}.",
            "Use http://127.0.0.1 with the port that it printed, or name the host in serve.names.",
        )
        await self.refusals.refuse(problem, scope, receive, send)


def _host(scope: Scope) -> str:
    """The host that the request names, without its port."""
    named = Headers(scope=scope).get("host", "").lower()
    if named.startswith("["):
        return named.partition("]")[0] + "]"
    return named.partition(":")[0]
