"""The outermost guard: its headers are on every response, also on that of an unexpected error."""

from __future__ import annotations

import asyncio
import logging

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.serve.error_shapes import INTERNAL, STOPPING
from wellread.serve.guards.refusals import Refusals

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
