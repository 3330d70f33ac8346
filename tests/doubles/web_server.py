"""A small local web server that serves pages and misbehaves on request.

Real sockets on a free port of 127.0.0.1. A path answers with what it was given: one reply again
and again, or a function of the request. Every request is kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Self

IDLE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request; ``path`` with its query, header names in lower case, ``body`` of a POST."""

    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is sent: ``body`` in one piece or in several, or ``raw`` instead of everything.

    A length among the headers is sent as it is, true or not.
    """

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: Iterable[bytes] = ()


Page = Reply | Callable[[Asked], Reply]
MISSING = Reply(status=404, body=b"nothing here")


class WebServer:
    """Serves ``pages``, which may change at any time, until it is closed.

    Replies that wait look at ``closing``, which is set when the server ends.
    """

    def __init__(self, pages: Mapping[str, Page] | None = None) -> None:
        self.pages: dict[str, Page] = dict(pages or {})
        self.asked: list[Asked] = []
        self.closing = Event()
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def url(self, path: str = "/") -> str:
        """The address of ``path``."""
        return f"http://127.0.0.1:{self.port}{path}"

    def paths(self) -> list[str]:
        """The paths that were asked for, oldest first."""
        with self._lock:
            return [asked.path for asked in self.asked]

    def close(self) -> None:
        """End the server and every reply that waits."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def reply(self, asked: Asked) -> Reply:
        """What is at the path of the request."""
        with self._lock:
            self.asked.append(asked)
            page = self.pages.get(asked.path, MISSING)
        return page if isinstance(page, Reply) else page(asked)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = IDLE_SECONDS

            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers.get("content-length", 0))))

            def _answer(self, body: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = server.reply(Asked(path=self.path, headers=headers, body=body))
                self.close_connection = True
                # A client that has seen enough hangs up in the middle.
                with contextlib.suppress(ConnectionError):
                    self._send(reply)

            def _send(self, reply: Reply) -> None:
                for piece in reply.raw:
                    self.wfile.write(piece)
                    self.wfile.flush()
                if reply.raw:
                    return
                self.send_response(reply.status)
                named = {name.lower() for name in reply.headers}
                if isinstance(reply.body, bytes) and "content-length" not in named:
                    self.send_header("Content-Length", str(len(reply.body)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                pieces = [reply.body] if isinstance(reply.body, bytes) else reply.body
                for piece in pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                """Keep quiet."""

        return Handler
