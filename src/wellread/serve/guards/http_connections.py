"""Connections under a time limit: the line and the headers of a request have to come soon.

The server itself ends only connections that are idle after a response. One that sends a byte now
and then (slow loris), or none at all, would be kept for ever, and a few hundred of them use up
what a process may open. What is no HTTP is answered in the shape of every other error.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from wellread.serve.error_shapes import Problem, problem_of_status
from wellread.serve.guards.security_headers import SECURITY_HEADERS

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
