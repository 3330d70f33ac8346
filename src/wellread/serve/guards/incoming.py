"""Guards on what comes in: the host it names, the page it comes from, its headers and its body.

Each refuses before any work is done. A browser says where a request comes from (``Sec-Fetch-Site``,
or ``Origin`` where it is older); programs send neither and are let through. A body of which every
byte is there cannot hold up a worker, and what reads on knows that the next message says that the
client has gone; uploads are counted and timed while their routes read them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import h11
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from wellread.serve.error_shapes import Problem, problem_of_status
from wellread.serve.guards.refusals import SECURITY_HEADERS, Refusals
from wellread.serve.guards.route_rules import route_of


class LocalNames:
    """Refuses requests that name another host than these.

    A page could otherwise point a name of its own at 127.0.0.1 and read the answers (DNS
    rebinding); the browser then sends that name.
    """

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


SLOWEST = 64_000  # bytes a second that a body has to come at, once its first seconds are over
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
DEEPEST = 200  # levels of JSON; nothing that is asked for has five


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How large a body may be, and how slow.

    Attributes:
        larger: routes whose bodies have a limit of their own (uploads), read by their routes.
        seconds: until the first byte has come; after that at ``SLOWEST`` at least.
    """

    most_bytes: int
    seconds: float
    larger: Mapping[str, int] = field(default_factory=dict)

    def of(self, scope: Scope) -> int:
        """The most bytes that a body may have at the address that is asked."""
        return self.larger.get(route_of(scope), self.most_bytes)


class RefusedBodyError(Exception):
    """A body that is too large, too slow, or broken off."""

    def __init__(self, problem: Problem | None = None) -> None:
        super().__init__(problem.detail if problem else "the client has gone")
        self.problem = problem


class RequestBodies:
    """Reads bodies within their limits, and passes them on whole."""

    def __init__(self, app: ASGIApp, limits: BodyLimits, refusals: Refusals) -> None:
        self.app = app
        self.limits = limits
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its whole body, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.limits.of(scope)
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and (len(announced) > 18 or int(announced) > limit):
            await self.refusals.refuse(too_large(limit), scope, receive, send)
            return
        reader = _Reader(receive, limit, self.limits.seconds)
        if route_of(scope) in self.limits.larger:
            await self.app(scope, reader.counted, send)
            return
        try:
            body = await reader.whole()
        except RefusedBodyError as error:
            if error.problem is not None:
                closing = {"connection": "close"}
                await self.refusals.refuse(error.problem, scope, receive, send, closing)
            return
        problem = unreadable(scope, body)
        if problem is not None:
            await self.refusals.refuse(problem, scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)


class _Reader:
    """Receives a body, counting its bytes and its seconds."""

    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._begun = asyncio.get_running_loop().time()
        self._taken = 0
        self._ended = False

    async def next(self) -> Message:
        """The next message."""
        if self._ended:
            return await self._receive()
        until = self._begun + self._seconds + self._taken / SLOWEST
        try:
            async with asyncio.timeout_at(until):
                message = await self._receive()
        except TimeoutError:
            raise RefusedBodyError(TOO_SLOW) from None
        self._taken += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._taken > self._limit:
            raise RefusedBodyError(too_large(self._limit))
        return message

    async def whole(self) -> bytes:
        """The body."""
        pieces = []
        while not self._ended:
            message = await self.next()
            if message["type"] == "http.disconnect":
                raise RefusedBodyError
            pieces.append(message.get("body", b""))
        return b"".join(pieces)

    async def counted(self) -> Message:
        """As ``next``, for a route that reads a body itself and ends as with any HTTP error."""
        try:
            return await self.next()
        except RefusedBodyError as error:
            problem = error.problem or TOO_SLOW
            raise HTTPException(problem.status, problem.detail) from error


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body once, and from then on whatever comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        if waiting:
            return waiting.pop()
        while (message := await receive())["type"] != "http.disconnect":
            pass  # of a request that was read whole, nothing else can be told
        return message

    return replayed


TOO_SLOW = problem_of_status(
    HTTPStatus.REQUEST_TIMEOUT,
    "The request came too slowly.",
    "Send it again at once.",
)


def too_large(limit: int) -> Problem:
    """The problem of a body that is larger than ``limit`` bytes."""
    return problem_of_status(
        413,
        f"The request body is larger than {limit:,} bytes.",
        "Shorten it.",
    )


UNREADABLE = problem_of_status(
    400,
    "The request holds a character that is none: NUL, or half of a surrogate pair.",
    "Leave it out; texts are valid Unicode without U+0000.",
)
TOO_DEEP = problem_of_status(
    400, f"The JSON is nested deeper than {DEEPEST} levels.", "Send it flat."
)


def unreadable(scope: Scope, body: bytes) -> Problem | None:
    """What is wrong with the text of a request; None when all of it can be kept as it is.

    JSON that is none passes: the routes say where it is wrong.
    """
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return UNREADABLE
    if not body:
        return None
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    if kind in FORMS:
        return UNREADABLE if b"\0" in body or b"%00" in body else None
    try:
        value = json.loads(body)
    except ValueError:
        return None
    except RecursionError:
        return TOO_DEEP
    return _unreadable_value(value)


def _unreadable_value(value: object) -> Problem | None:
    waiting = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        if depth > DEEPEST:
            return TOO_DEEP
        if isinstance(each, dict):
            waiting += [(part, depth + 1) for pair in each.items() for part in pair]
        elif isinstance(each, list):
            waiting += [(part, depth + 1) for part in each]
        elif isinstance(each, str) and ("\0" in each or _half_pairs(each)):
            return UNREADABLE
    return None


def _half_pairs(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


LONGEST_HEADERS = 32_768  # bytes of line and headers
SLOW_HEADERS = problem_of_status(
    HTTPStatus.REQUEST_TIMEOUT,
    "The headers of the request did not come in time.",
    "Send them at once.",
)
NO_HTTP = problem_of_status(400, "This is no HTTP request.", "Speak HTTP/1.1 to this port.")
LONG_HEADERS = problem_of_status(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"The headers of the request are larger than {LONGEST_HEADERS:,} bytes.",
    "Put long texts into the body of a POST.",
)
_BY_STATUS: Mapping[int, Problem] = {LONG_HEADERS.status: LONG_HEADERS}


def within(header_seconds: float) -> type[H11Protocol]:
    """The protocol of connections on which headers must come within that time."""
    return type("TimedConnection", (TimedConnection,), {"header_seconds": header_seconds})


class TimedConnection(H11Protocol):
    """One connection. A timer runs whenever a request is waited for, and none is worked on."""

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None
    _heard = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in what has come; the timer goes on until the headers are whole."""
        if self._timer is None and not self._works:
            self._wait()
        self._heard = True
        super().data_received(data)
        if self._works:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the rest of the next request, where its beginning has come already."""
        super().on_response_complete()
        if self._timer is None and not self._works and self.conn.trailing_data[0]:
            self._wait()
            self._heard = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says it in our shape
        """Tell of what is no request that can be read, and close."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._tell(_BY_STATUS.get(status, NO_HTTP))

    @property
    def _works(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._heard = False
        self._timer = self.loop.call_later(self.header_seconds, self._overdue)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _overdue(self) -> None:
        self._timer = None
        if self._works or self.transport.is_closing():
            return
        if self._heard:
            self._tell(SLOW_HEADERS)
        else:
            self.transport.close()  # browsers open connections that they may need

    def _tell(self, problem: Problem) -> None:
        if self.conn.our_state is not h11.IDLE and self.conn.our_state is not h11.SEND_RESPONSE:
            self.transport.abort()  # a response is half sent, or has been
            return
        body = json.dumps(problem.body()).encode()
        told: dict[str, Any] = {
            **SECURITY_HEADERS,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        reason = HTTPStatus(problem.status).phrase
        response = h11.Response(
            status_code=problem.status, headers=list(told.items()), reason=reason.encode()
        )
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            sent = self.conn.send(event)
            if sent:
                self.transport.write(sent)
        self.transport.close()
