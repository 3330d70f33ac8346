"""A small local server that speaks a provider's wire format and misbehaves on request.

Real sockets on a free port of 127.0.0.1. Every chat request takes the next reply of the script;
the last one repeats. What the replies look like is the business of a ``Wire``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Protocol, Self

from tests.doubles.replies import (
    Calls,
    CutOff,
    ErrorEvent,
    Failure,
    Hang,
    Held,
    Malformed,
    Page,
    Refusal,
    Reply,
    Request,
    Said,
    Scripted,
    Text,
)

IDLE_SECONDS = 30.0


class Wire(Protocol):
    """How one provider writes what the script says."""

    def listed(self, path: str) -> Mapping[str, Any] | None:
        """What is at ``path`` for a GET; ``None``: nothing."""
        ...

    def is_chat(self, path: str) -> bool:
        """Whether chat requests are posted there."""
        ...

    def is_streamed(self, request: Request) -> bool:
        """Whether the reply is wanted in pieces."""
        ...

    def prompt(self, body: Mapping[str, Any]) -> str:
        """All that the model is told, joined by blank lines."""
        ...

    def beginning(self, request: Request, text: str) -> Iterable[bytes]:
        """The events of a stream that brings ``text``, without its end."""
        ...

    def said(self, request: Request, reply: Said) -> Iterable[bytes]:
        """All events of a reply."""
        ...

    def whole(self, request: Request, reply: Said) -> Mapping[str, Any]:
        """A reply in one piece."""
        ...

    def error_event(self, reply: ErrorEvent) -> bytes:
        """An error inside a stream."""
        ...

    def error_body(self, failure: Failure) -> Mapping[str, Any]:
        """What stands in the body of a failure."""
        ...


def event(value: object, name: str = "") -> bytes:
    """A server-sent event that holds JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


class WireServer:
    """Runs while the ``with`` block lasts; the servers of the providers inherit it.

    Attributes:
        requests: every request so far, in order of arrival.
    """

    def __init__(self, replies: Sequence[Reply], wire: Wire) -> None:
        if not replies:
            raise ValueError("the script is empty")
        self.requests: list[Request] = []
        self.closing = Event()
        self.wire = wire
        self._replies = tuple(replies)
        self._asked = 0
        self._lock = Lock()
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def chats(self) -> list[Request]:
        """The chat requests among ``requests``."""
        return [request for request in self.requests if self.wire.is_chat(request.path)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def record(self, request: Request) -> None:
        """Note a request."""
        with self._lock:
            self.requests.append(request)

    def next_reply(self, request: Request) -> Scripted:
        """What a chat request is answered with."""
        with self._lock:
            reply = self._replies[min(self._asked, len(self._replies) - 1)]
            self._asked += 1
        return reply(request) if callable(reply) else reply


class _Server(ThreadingHTTPServer):
    # Joined at the end, so that no socket outlives the test.
    daemon_threads = False

    def __init__(self, script: WireServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet: the requests are recorded."""

    def do_GET(self) -> None:
        """Show what the wire format lists."""
        self._record({})
        listed = self._wire.listed(self.path)
        if listed is None:
            self._no_route()
        else:
            self._json(200, listed)

    def do_POST(self) -> None:
        """Answer a chat request from the script."""
        length = int(self.headers.get("content-length", 0))
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            self._fail(Failure(status=400, message="the body is not JSON"))
            return
        request = self._record(body)
        if not self._wire.is_chat(self.path):
            self._no_route()
            return
        reply = self.server.script.next_reply(request)
        try:
            if isinstance(reply, Failure):
                self._fail(reply)
            elif isinstance(reply, Page):
                self._send(200, "text/html; charset=utf-8", reply.html.encode(), {})
            elif self._wire.is_streamed(request):
                self._stream(reply, request)
            else:
                self._whole(reply, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has left; that is its right

    @property
    def _wire(self) -> Wire:
        return self.server.script.wire

    def _record(self, body: Mapping[str, Any]) -> Request:
        request = Request(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
            prompt=self._wire.prompt(body),
        )
        self.server.script.record(request)
        return request

    def _no_route(self) -> None:
        self._fail(Failure(status=404, message=f"no route {self.path}"))

    def _fail(self, reply: Failure) -> None:
        headers = {"retry-after": reply.retry_after} if reply.retry_after else {}
        self._json(reply.status, self._wire.error_body(reply), headers)

    def _json(
        self, status: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        self._send(status, "application/json", json.dumps(value).encode(), headers or {})

    def _send(self, status: int, kind: str, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self._end_headers()
        self.wfile.write(data)

    def _end_headers(self) -> None:
        # One request a connection: no thread waits for a next one when the server closes.
        self.send_header("connection", "close")
        self.end_headers()

    def _whole(self, reply: Scripted, request: Request) -> None:
        """A reply in one piece; what cannot be said in one piece closes the connection."""
        if isinstance(reply, Hang):
            self.server.script.closing.wait(IDLE_SECONDS)
        elif isinstance(reply, ErrorEvent):
            self._fail(Failure(status=500, message=reply.message, code=reply.code))
        elif isinstance(reply, Malformed):
            self._send(200, "application/json", reply.data.encode(), {})
        elif isinstance(reply, Text | Calls | Refusal):
            self._json(200, self._wire.whole(request, reply))
        self.close_connection = True

    def _stream(self, reply: Scripted, request: Request) -> None:
        """A reply as server-sent events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self._end_headers()
        if isinstance(reply, Text | Calls | Refusal):
            self._parts(self._wire.said(request, reply))
        elif isinstance(reply, Hang | Held | CutOff | Malformed | ErrorEvent):
            self._parts(self._wire.beginning(request, reply.text))
        if isinstance(reply, Held):
            reply.go.wait(IDLE_SECONDS)
            self._parts(self._wire.said(request, Text(text=reply.rest)))
        if isinstance(reply, Hang):
            self.server.script.closing.wait(IDLE_SECONDS)
            return
        if isinstance(reply, CutOff) and not reply.cleanly:
            return
        if isinstance(reply, Malformed):
            head = f"event: {reply.name}\n" if reply.name else ""
            self._parts([f"{head}data: {reply.data}\n\n".encode()])
        if isinstance(reply, ErrorEvent):
            self._parts([self._wire.error_event(reply)])
        self._parts([b""])

    def _parts(self, parts: Iterable[bytes]) -> None:
        """Parts of a chunked body; an empty one ends it."""
        for data in parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
