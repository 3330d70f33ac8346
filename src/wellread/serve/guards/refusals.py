"""Middleware for every response: error bodies, security headers, the request log.

The log contains no questions, titles or keys: it names a request by its declared route.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.serve.error_shapes import INTERNAL, STOPPING, Problem, body_at

ErrorPage = Callable[[Request, Problem], Response]
RETRY_SECONDS = 5  # seconds until a client may retry after "too many requests" or "stopping"
TOO_MANY_REQUESTS = 429


class ErrorResponses:
    """Builds error responses: an HTML page for browsers, JSON for everybody else."""

    def __init__(self, page: ErrorPage, wants_page: Callable[[Request], bool]) -> None:
        self._page = page
        self.wants_page = wants_page

    def response(
        self, request: Request, problem: Problem, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Return the response for ``problem``, with ``Retry-After`` if a retry may succeed."""
        all_headers = dict(headers or {})
        if problem.status == TOO_MANY_REQUESTS or problem == STOPPING:
            all_headers.setdefault("retry-after", str(retry_seconds(problem)))
        if self.wants_page(request):
            page = self._page(request, problem)
            page.headers.update(all_headers)
            return page
        body = body_at(request.scope["path"], problem)
        return JSONResponse(body, status_code=problem.status, headers=all_headers)

    async def send(
        self,
        problem: Problem,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send the error response for ``problem``."""
        response = self.response(Request(scope), problem, headers)
        await response(scope, receive, send)


class Guard(ABC):
    """Middleware that handles HTTP requests; other messages pass."""

    def __init__(self, app: ASGIApp, responses: ErrorResponses) -> None:
        self.app = app
        self.responses = responses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an HTTP request."""
        handle = self.handle if scope["type"] == "http" else self.app
        await handle(scope, receive, send)

    @abstractmethod
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to ``self.app``, or answer it."""


def retry_seconds(problem: Problem) -> int:
    """Return the seconds until a retry may succeed; budgets are renewed at midnight UTC."""
    if problem.error != "budget":
        return problem.wait or RETRY_SECONDS
    now = datetime.now(UTC)
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return int((tomorrow - now).total_seconds()) + 1


# Uvicorn's own logger; unlike ours it shows tracebacks without -v.
server_log = logging.getLogger("uvicorn.error")

# Recordings may be on any host; they are fetched when somebody presses play.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    # Not "no-referrer": without TLS, ``Origin`` is the only header that names the page of a form,
    # and browsers omit it under that policy.
    "referrer-policy": "same-origin",
}


class SecurityHeaders(Guard):
    """Adds the strict content-security policy and its companions to every response."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; add the headers when the response starts."""
        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except asyncio.CancelledError:
            if started or not scope["app"].state.stopping:
                raise
            # The request outlasted the grace period of a stopping server.
            await self.responses.send(STOPPING, scope, receive, with_headers)
        except Exception:
            if started:
                raise  # the server drops the connection, so that the body is not taken for complete
            server_log.exception("%s %s failed", scope["method"], scope["path"])
            await self.responses.send(INTERNAL, scope, receive, with_headers)


logger = logging.getLogger(__name__)
REQUEST_ID = "x-request-id"  # on every response, to find it in the log


class RequestLog(Guard):
    """Logs one line per response when it has ended."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and log its status and duration."""
        started, request_id, status = time.perf_counter(), secrets.token_hex(8), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        state = scope.setdefault("state", {})
        try:
            await self.app(scope, receive, send_with_id)
        finally:
            rights = state.get("rights")
            logger.info(
                "%s %s %d in %.4f s, request %s of %s",
                scope["method"],
                state.get("route", ""),
                status,
                time.perf_counter() - started,
                request_id,
                rights.asker.owner if rights is not None else "nobody",
            )
