"""Guards around every response: errors in one shape, security headers, a line of the log.

No words of questions, titles or keys are in the log: a request is named by its route as declared.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.serve.error_shapes import INTERNAL, STOPPING, Problem, body_at

ErrorPage = Callable[[Request, Problem], Response]
SOON = 5  # seconds after which who was told "too many", or "stopping", may try again
TOO_MANY_REQUESTS = 429


class Refusals:
    """Tells of a problem: by ``page`` whoever ``wants_page``, everybody else in JSON."""

    def __init__(self, page: ErrorPage, wants_page: Callable[[Request], bool]) -> None:
        self._page = page
        self.wants_page = wants_page

    def response(
        self,
        request: Request,
        problem: Problem,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The response that tells of ``problem``."""
        given = dict(headers or {})
        if problem.status == TOO_MANY_REQUESTS or problem == STOPPING:
            given.setdefault("retry-after", str(pause_after(problem)))
        if self.wants_page(request):
            page = self._page(request, problem)
            page.headers.update(given)
            return page
        told = body_at(request.scope["path"], problem)
        return JSONResponse(told, status_code=problem.status, headers=given)

    async def refuse(
        self,
        problem: Problem,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send that response."""
        response = self.response(Request(scope), problem, headers)
        await response(scope, receive, send)


def pause_after(problem: Problem) -> int:
    """Seconds until it may be otherwise: a budget has the next day (UTC), all else is busy."""
    if problem.error != "budget":
        return problem.wait or SOON
    now = datetime.now(UTC)
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return int((tomorrow - now).total_seconds()) + 1


# Where uvicorn writes too; unlike our own loggers it shows tracebacks without being asked.
server_log = logging.getLogger("uvicorn.error")

# A recording may lie anywhere; it is fetched when somebody presses play.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    # Not "no-referrer": without TLS a browser says by ``Origin`` alone whose page a form is on, and
    # leaves that out there.
    "referrer-policy": "same-origin",
}


class SecurityHeaders:
    """Adds the strict content-security policy and its companions to every response."""

    def __init__(self, app: ASGIApp, refusals: Refusals) -> None:
        self.app = app
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; add the headers as the response starts."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
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
            # It ran when the server was told to stop, and for as long as that waits.
            await self.refusals.refuse(STOPPING, scope, receive, with_headers)
        except Exception:
            if started:
                raise  # the server breaks the connection off, so that nobody takes it for whole
            server_log.exception("%s %s failed", scope["method"], scope["path"])
            await self.refusals.refuse(INTERNAL, scope, receive, with_headers)


logger = logging.getLogger(__name__)
REQUEST_ID = "x-request-id"  # on every response, so that a report can be found in the log


class RequestLog:
    """Writes a line when a response has ended."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and write down how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, known, status = time.perf_counter(), secrets.token_hex(8), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = known
            await send(message)

        state = scope.setdefault("state", {})
        try:
            await self.app(scope, receive, counted)
        finally:
            rights = state.get("rights")
            logger.info(
                "%s %s %d in %.4f s, request %s of %s",
                scope["method"],
                state.get("route", ""),
                status,
                time.perf_counter() - begun,
                known,
                rights.asker.owner if rights is not None else "nobody",
            )
