"""A small local server that speaks a provider's wire format and misbehaves on request.

Real sockets on a free port of 127.0.0.1. Every chat request takes the next reply of the script;
the last one repeats. What a streamed reply looks like is the business of each provider's server.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Event, Lock, Thread
from typing import Any, Self

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
PIECE = 12


def pieces(text: str) -> list[str]:
    """``text`` in pieces of ``PIECE`` characters."""
    borders = [*range(0, len(text), PIECE), len(text)]
    return [text[start:end] for start, end in pairwise(borders)]


def event(value: object, name: str = "") -> bytes:
    """A server-sent event that holds JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


class WireServer(ABC):
    """Runs while the ``with`` block lasts; the servers of the providers inherit it.

    Attributes:
        chat_path: where chat requests are posted.
        base: the path of the base URL.
        models: the names of its models.
        chats: every chat request so far, in order of arrival.
    """

    chat_path: re.Pattern[str]
    base = ""
    models = ("large", "small")

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.chats: list[Request] = []
        self.closing = Event()
        self._replies = tuple(replies)
        self._lock = Lock()
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.base}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next_reply(self, request: Request) -> Scripted:
        """What a chat request is answered with."""
        with self._lock:
            reply = self._replies[min(len(self.chats), len(self._replies) - 1)]
            self.chats.append(request)
        return reply(request) if callable(reply) else reply

    @abstractmethod
    def prompt(self, body: Mapping[str, Any]) -> str:
        """All that the model is told, joined by blank lines."""

    @abstractmethod
    def beginning(self, request: Request, text: str) -> Iterable[bytes]:
        """The events of a stream that brings ``text``, without its end."""

    @abstractmethod
    def said(self, request: Request, reply: Said) -> Iterable[bytes]:
        """All events of a reply."""

    def error_event(self, reply: ErrorEvent) -> bytes:
        """An error inside a stream."""
        return event(self.error_body(Failure(status=503, message=reply.message, code=reply.code)))

    @abstractmethod
    def error_body(self, failure: Failure) -> Mapping[str, Any]:
        """What stands in the body of a failure."""


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
        """List the models."""
        if not self.path.endswith("/models"):
            self._fail(Failure(status=404, message=f"no route {self.path}"))
            return
        listed = {"data": [{"id": name} for name in self.server.script.models]}
        self._send(200, "application/json", json.dumps(listed).encode())

    def do_POST(self) -> None:
        """Answer a chat request from the script."""
        script = self.server.script
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        if not script.chat_path.fullmatch(self.path):
            self._fail(Failure(status=404, message=f"no route {self.path}"))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=self.path, headers=headers, body=body, prompt=script.prompt(body))
        reply = script.next_reply(request)
        try:
            if isinstance(reply, Failure):
                self._fail(reply)
            elif isinstance(reply, Page):
                self._send(200, "text/html; charset=utf-8", reply.html.encode())
            else:
                self._stream(reply, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has left; that is its right

    def _fail(self, reply: Failure) -> None:
        body = json.dumps(self.server.script.error_body(reply)).encode()
        self._send(reply.status, "application/json", body, reply.retry_after)

    def _send(self, status: int, kind: str, data: bytes, retry_after: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if retry_after:
            self.send_header("retry-after", retry_after)
        self._end_headers()
        self.wfile.write(data)

    def _end_headers(self) -> None:
        # One request a connection: no thread waits for a next one when the server closes.
        self.send_header("connection", "close")
        self.end_headers()

    def _stream(self, reply: Scripted, request: Request) -> None:
        """A reply as server-sent events."""
        script = self.server.script
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self._end_headers()
        if isinstance(reply, Text | Calls | Refusal):
            self._parts(script.said(request, reply))
        elif isinstance(reply, Hang | Held | CutOff | Malformed | ErrorEvent):
            self._parts(script.beginning(request, reply.text))
        if isinstance(reply, Held):
            reply.go.wait(IDLE_SECONDS)
            self._parts(script.said(request, Text(text=reply.rest)))
        if isinstance(reply, Hang):
            script.closing.wait(IDLE_SECONDS)
            return
        if isinstance(reply, CutOff) and not reply.cleanly:
            return
        if isinstance(reply, Malformed):
            head = f"event: {reply.name}\n" if reply.name else ""
            self._parts([f"{head}data: {reply.data}\n\n".encode()])
        if isinstance(reply, ErrorEvent):
            self._parts([script.error_event(reply)])
        self._parts([b""])

    def _parts(self, parts: Iterable[bytes]) -> None:
        """Parts of a chunked body; an empty one ends it."""
        for data in parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
