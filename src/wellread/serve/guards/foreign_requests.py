"""Requests that a page of another address makes in its visitor's name, refused.

A browser says where a request comes from (``Sec-Fetch-Site``, or ``Origin`` where it is older);
programs send neither and are let through. This holds for every address of the server, whatever is
behind it, and does not depend on how a body is read. A person who follows a link from elsewhere is
let in, but finds nothing asked or searched by it.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from wellread.serve.error_shapes import problem_of_status
from wellread.serve.guards.refusals import Refusals
from wellread.serve.guards.route_rules import route_of

READING = ("GET", "HEAD")
OUR_SITES = ("same-origin", "none")  # none: typed, or a bookmark
INTERFACES = ("/api/", "/v1/", "/mcp")  # what no person reads
SEARCHES = "query"  # the parameter by which pages search
FOREIGN = problem_of_status(
    403,
    "The request comes from a page of another address.",
    "Use the pages of this server, or send neither Origin nor Sec-Fetch-Site.",
)
FOREIGN_SEARCH = problem_of_status(
    403,
    "A page of another address has linked to a search.",
    "Type the address into the browser, or search here.",
)


class ForeignRequests:
    """Refuses what comes from elsewhere, but for a page that a person opens by a link."""

    def __init__(self, app: ASGIApp, refusals: Refusals) -> None:
        self.app = app
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on unless it comes from elsewhere."""
        if scope["type"] != "http" or not is_foreign(scope):
            await self.app(scope, receive, send)
        elif not _is_visit(scope):
            await self.refusals.refuse(FOREIGN, scope, receive, send)
        elif _searches(scope):
            await self.refusals.refuse(FOREIGN_SEARCH, scope, receive, send)
        else:
            await self.app(scope, receive, send)


def is_foreign(scope: Scope) -> bool:
    """Whether a page of another address made the request."""
    headers = Headers(scope=scope)
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site:
        return site.strip().lower() not in OUR_SITES
    if origin is None:
        return False
    try:
        named = urlsplit(origin)
    except ValueError:
        return True
    return (named.scheme, named.netloc) != (scope["scheme"], headers.get("host", ""))


def _is_visit(scope: Scope) -> bool:
    """Whether a person followed a link to a page, and no picture, script or frame loads it."""
    headers = Headers(scope=scope)
    opens = headers.get("sec-fetch-mode", "navigate") == "navigate"
    whole = headers.get("sec-fetch-dest", "document") == "document"
    page = not route_of(scope).startswith(INTERFACES) and "origin" not in headers
    return scope["method"] in READING and opens and whole and page


def _searches(scope: Scope) -> bool:
    given = parse_qsl(scope["query_string"].decode("latin-1"))
    return any(name == SEARCHES and value.strip() for name, value in given)
