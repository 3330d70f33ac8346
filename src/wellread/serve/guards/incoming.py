"""Middleware that checks a request's host, origin, headers and body before any work is done.

Browsers send the origin of a request (``Sec-Fetch-Site``, or ``Origin`` from older ones); programs
send neither and pass. A body is read completely before the route runs, so that a slow client cannot
block a worker and the next message can only be the disconnect; the bodies of uploads are counted
and timed while their routes read them.
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
from wellread.serve.guards.refusals import SECURITY_HEADERS, ErrorResponses, Guard
from wellread.serve.guards.route_rules import READING_METHODS, route_of


class AllowedHosts(Guard):
    """Refuses requests whose ``Host`` header is not one of these names.

    A hostile page could otherwise point its own host name at 127.0.0.1 and read the answers (DNS
    rebinding); the browser then sends that host name.
    """

    def __init__(
        self, app: ASGIApp, names: Collection[str] | None, responses: ErrorResponses
    ) -> None:
        """``names`` is None for any host, on servers where everybody has to sign in.

        There, the browser does not send the session cookie to another host name.
        """
        super().__init__(app, responses)
        self.names = None if names is None else frozenset(map(str.lower, names))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when its host is allowed."""
        if self.names is None or _host(scope) in self.names:
            await self.app(scope, receive, send)
            return
        problem = problem_of_status(
            421,
            f"This server does not answer for the host {_host(scope)!r}.",
            "Use http://127.0.0.1 with the port that it printed, or name the host in serve.names.",
        )
        await self.responses.send(problem, scope, receive, send)


def _host(scope: Scope) -> str:
    """Return the host in the ``Host`` header, in lower case and without its port."""
    host = Headers(scope=scope).get("host", "").lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


OWN_SITES = ("same-origin", "none")  # none: a typed address or a bookmark
INTERFACES = ("/api/", "/v1/", "/mcp")  # for programs only
SEARCH_PARAMETER = "query"  # the query parameter of pages that search
FOREIGN = problem_of_status(
    403,
    "The request comes from a page on another site.",
    "Use the pages of this server, or send neither Origin nor Sec-Fetch-Site.",
)
FOREIGN_SEARCH = problem_of_status(
    403,
    "A page on another site linked to a search.",
    "Type the address into the browser, or search from a page of this server.",
)


class ForeignRequests(Guard):
    """Refuses requests made by other sites, except a link that a person follows to a page."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on unless another site made it."""
        if not is_foreign(scope) or (_is_visit(scope) and not _searches(scope)):
            await self.app(scope, receive, send)
        else:
            problem = FOREIGN_SEARCH if _is_visit(scope) else FOREIGN
            await self.responses.send(problem, scope, receive, send)


def is_foreign(scope: Scope) -> bool:
    """Whether a page on another site made the request."""
    headers = Headers(scope=scope)
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site:
        return site.strip().lower() not in OWN_SITES
    if origin is None:
        return False
    try:
        page = urlsplit(origin)
    except ValueError:
        return True
    return (page.scheme, page.netloc) != (scope["scheme"], headers.get("host", ""))


def _is_visit(scope: Scope) -> bool:
    """Whether a person followed a link to a page; not an image, script or frame that loads it."""
    headers = Headers(scope=scope)
    navigates = headers.get("sec-fetch-mode", "navigate") == "navigate"
    is_document = headers.get("sec-fetch-dest", "document") == "document"
    is_page = not route_of(scope).startswith(INTERFACES) and "origin" not in headers
    return scope["method"] in READING_METHODS and navigates and is_document and is_page


def _searches(scope: Scope) -> bool:
    parameters = parse_qsl(scope["query_string"].decode("latin-1"))
    return any(name == SEARCH_PARAMETER and value.strip() for name, value in parameters)


MIN_BYTES_PER_SECOND = 64_000  # the speed that a body must reach after its first seconds
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MAX_JSON_DEPTH = 200  # nested levels; no valid request has more than four


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """The largest size and longest duration of a request body.

    Attributes:
        max_bytes_by_route: byte limits of routes that read their bodies themselves (uploads).
        seconds: time allowed besides that which the body takes at ``MIN_BYTES_PER_SECOND``.
    """

    max_bytes: int
    seconds: float
    max_bytes_by_route: Mapping[str, int] = field(default_factory=dict)

    def of(self, scope: Scope) -> int:
        """Return the maximum number of bytes of this request's body."""
        return self.max_bytes_by_route.get(route_of(scope), self.max_bytes)


class RefusedBodyError(Exception):
    """Raised for a body that is too large, too slow or incomplete."""

    def __init__(self, problem: Problem | None = None) -> None:
        super().__init__(problem.detail if problem else "the client has disconnected")
        self.problem = problem


class RequestBodies(Guard):
    """Reads each body within its limits and passes it on in one message."""

    def __init__(self, app: ASGIApp, limits: BodyLimits, responses: ErrorResponses) -> None:
        super().__init__(app, responses)
        self.limits = limits

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its whole body, or refuse it."""
        limit = self.limits.of(scope)
        content_length = Headers(scope=scope).get("content-length", "")
        if content_length.isdecimal() and (len(content_length) > 18 or int(content_length) > limit):
            await self.responses.send(too_large(limit), scope, receive, send)
            return
        reader = _Reader(receive, limit, self.limits.seconds)
        if route_of(scope) in self.limits.max_bytes_by_route:
            await self.app(scope, reader.next_or_http_error, send)
            return
        try:
            body = await reader.read_all()
        except RefusedBodyError as error:
            if error.problem is not None:
                closing = {"connection": "close"}
                await self.responses.send(error.problem, scope, receive, send, closing)
            return
        problem = unreadable_problem(scope, body)
        if problem is not None:
            await self.responses.send(problem, scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)


class _Reader:
    """Receives a body, limiting its bytes and seconds."""

    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive = receive
        self._limit = limit
        self._seconds = seconds
        self._started = asyncio.get_running_loop().time()
        self._received_bytes = 0
        self._ended = False

    async def next(self) -> Message:
        """Return the next message; raises when a limit is exceeded."""
        if self._ended:
            return await self._receive()
        deadline = self._started + self._seconds + self._received_bytes / MIN_BYTES_PER_SECOND
        try:
            async with asyncio.timeout_at(deadline):
                message = await self._receive()
        except TimeoutError:
            raise RefusedBodyError(TOO_SLOW) from None
        self._received_bytes += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._received_bytes > self._limit:
            raise RefusedBodyError(too_large(self._limit))
        return message

    async def read_all(self) -> bytes:
        chunks = []
        while not self._ended:
            message = await self.next()
            if message["type"] == "http.disconnect":
                raise RefusedBodyError
            chunks.append(message.get("body", b""))
        return b"".join(chunks)

    async def next_or_http_error(self) -> Message:
        """Return ``next()`` for a route that reads its own body; limits raise an HTTP error."""
        try:
            return await self.next()
        except RefusedBodyError as error:
            problem = error.problem or TOO_SLOW
            raise HTTPException(problem.status, problem.detail) from error


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that returns ``body`` first and afterwards waits for the disconnect."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_next() -> Message:
        if unread:
            return unread.pop()
        while (message := await receive())["type"] != "http.disconnect":
            pass  # after a complete body, only the disconnect matters
        return message

    return receive_next


TOO_SLOW = problem_of_status(
    HTTPStatus.REQUEST_TIMEOUT,
    "The request body arrived too slowly.",
    "Send it again over a faster connection.",
)


def too_large(limit: int) -> Problem:
    """Return the problem for a body that is larger than ``limit`` bytes."""
    return problem_of_status(
        413, f"The request body is larger than {limit:,} bytes.", "Shorten it."
    )


UNREADABLE = problem_of_status(
    400,
    "The request contains an invalid character: NUL, or half of a surrogate pair.",
    "Remove it; texts must be valid Unicode without U+0000.",
)
TOO_DEEP = problem_of_status(
    400, f"The JSON is nested deeper than {MAX_JSON_DEPTH} levels.", "Nest it less."
)


def unreadable_problem(scope: Scope, body: bytes) -> Problem | None:
    """Return the problem with the characters of a request; None if all of them can be stored.

    Invalid JSON passes, because the routes report where it is wrong.
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
    unchecked = [(value, 0)]
    while unchecked:
        item, depth = unchecked.pop()
        if depth > MAX_JSON_DEPTH:
            return TOO_DEEP
        if isinstance(item, dict):
            unchecked += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            unchecked += [(part, depth + 1) for part in item]
        elif isinstance(item, str) and any(
            letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in item
        ):
            return UNREADABLE
    return None


MAX_HEADER_BYTES = 32_768  # including the request line
SLOW_HEADERS = problem_of_status(
    HTTPStatus.REQUEST_TIMEOUT,
    "The headers of the request did not arrive in time.",
    "Send all headers at once.",
)
NOT_HTTP = problem_of_status(400, "This is not an HTTP request.", "Send HTTP/1.1 to this port.")
LONG_HEADERS = problem_of_status(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"The headers of the request are larger than {MAX_HEADER_BYTES:,} bytes.",
    "Send long texts in the body of a POST.",
)
_PROBLEM_BY_STATUS: Mapping[int, Problem] = {LONG_HEADERS.status: LONG_HEADERS}


def timed_connection(header_seconds: float) -> type[H11Protocol]:
    """Return a connection class whose headers must arrive within ``header_seconds``."""
    return type("TimedConnection", (TimedConnection,), {"header_seconds": header_seconds})


class TimedConnection(H11Protocol):
    """An HTTP connection with a timer that runs while it waits for a request."""

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None
    _received = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer for the first request."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Process received bytes; the timer runs until the headers are complete."""
        if self._timer is None and not self._is_busy:
            self._start_timer()
        self._received = True
        super().data_received(data)
        if self._is_busy:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Start the timer when the beginning of the next request has already arrived."""
        super().on_response_complete()
        if self._timer is None and not self._is_busy and self.conn.trailing_data[0]:
            self._start_timer()
            self._received = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - replaced by our own message
        """Answer an unreadable request with our error body, and close."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._send_problem(_PROBLEM_BY_STATUS.get(status, NOT_HTTP))

    @property
    def _is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _start_timer(self) -> None:
        self._received = False
        self._timer = self.loop.call_later(self.header_seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self._is_busy or self.transport.is_closing():
            return
        if self._received:
            self._send_problem(SLOW_HEADERS)
        else:
            self.transport.close()  # browsers open connections in advance

    def _send_problem(self, problem: Problem) -> None:
        if self.conn.our_state is not h11.IDLE and self.conn.our_state is not h11.SEND_RESPONSE:
            self.transport.abort()  # a response has been sent, at least in part
            return
        body = json.dumps(problem.body()).encode()
        headers: dict[str, Any] = {
            **SECURITY_HEADERS,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        reason = HTTPStatus(problem.status).phrase
        response = h11.Response(
            status_code=problem.status, headers=list(headers.items()), reason=reason.encode()
        )
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            output = self.conn.send(event)
            if output:
                self.transport.write(output)
        self.transport.close()
