"""One line of the log for each request: what was asked for as the route is declared, and by whom.

No words of questions, titles or keys: the address is that of the route, without its parameters.
"""

from __future__ import annotations

import logging
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            facts = {
                "request": known,
                "method": scope["method"],
                "route": state.get("route", ""),
                "status": status,
                "seconds": round(time.perf_counter() - begun, 4),
                "user": rights.asker.owner if rights is not None else "",
                "trace": state.get("trace", ""),
            }
            logger.info("%s %s %d", facts["method"], facts["route"], status, extra=facts)
