"""A server on loopback that speaks as much of OpenSearch's interface as one index needs."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Reply = tuple[int, Any]


@dataclass
class ClusterDouble:
    """What it was asked, and what it says to what.

    Attributes:
        asked: method, path and body of every request.
        replies: for a word of the path: what is said next; then ``usual`` again.
        index: the name of the index behind every alias; empty: there is none.
        purged: what its mark says.
        silent: while it is set, nothing is answered.
    """

    asked: list[tuple[str, str, str]] = field(default_factory=list)
    replies: dict[str, deque[Reply]] = field(default_factory=dict)
    index: str = "{alias}-000001"
    purged: bool = True
    blocked: bool = False
    silent: bool = False
    awake: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def will_say(self, word: str, *replies: Reply) -> None:
        """Answer the next requests whose path has ``word`` in it so."""
        self.replies.setdefault(word, deque()).extend(replies)

    def bodies(self, word: str) -> list[str]:
        """What was sent to paths with ``word`` in them."""
        return [body for _, path, body in self.asked if word in path]

    def reply(self, method: str, path: str, body: str) -> Reply:
        for word, left in self.replies.items():
            if word in path and left:
                return left.popleft()
        usual: list[tuple[str, Callable[[], Any]]] = [
            ("_bulk", lambda: bulk_answer(body)),
            ("_mget", lambda: {"docs": []}),
            ("_settings", lambda: self._settings(path)),
            ("_tasks", lambda: {"nodes": {}}),
            ("_mapping", lambda: {"acknowledged": True}),
            ("_count", lambda: {"count": 7}),
            ("_search", lambda: hits_answer([])),
            ("_refresh", lambda: {"_shards": {"failed": 0}}),
        ]
        for word, answer in usual:
            if word in path:
                return 200, answer()
        return 200, self._named(path.split("/")[1])

    def _named(self, alias: str) -> dict[str, Any]:
        if not self.index or "*" in alias:
            return {}
        about = {"aliases": {alias: {}}, "mappings": {"_meta": {"purged": self.purged}}}
        return {self.index.format(alias=alias): about}

    def _settings(self, path: str) -> dict[str, Any]:
        name = path.split("/")[1]
        return {name: {"settings": {"index.blocks.write": str(self.blocked).lower()}}}


def bulk_answer(body: str, **failing: Reply) -> dict[str, Any]:
    """What is said to a bulk call: all well, but for the rows that are named."""
    items = []
    for line in body.splitlines():
        action = json.loads(line)
        for kind in ("index", "update"):
            if isinstance(action.get(kind), dict) and "_id" in action[kind]:
                known = action[kind]["_id"]
                status, reason = failing.get(known, (200, None))
                error = {} if reason is None else {"error": {"type": "", "reason": reason}}
                items.append({kind: {"_id": known, "status": status, **error}})
    return {"errors": bool(failing), "items": items}


def failed_items(**failing: Reply) -> dict[str, Any]:
    """What is said to a bulk call of these rows alone."""
    items = [
        {"index": {"_id": known, "status": status, "error": {"type": "", "reason": reason}}}
        if status >= 300
        else {"index": {"_id": known, "status": status}}
        for known, (status, reason) in failing.items()
    ]
    return {"errors": True, "items": items}


def hits_answer(keys: list[str]) -> dict[str, Any]:
    """What is said to a search."""
    hits = [{"_score": 1.5, "fields": {"key": [key]}} for key in keys]
    return {"hits": {"total": {"value": len(keys)}, "hits": hits}}


@contextmanager
def cluster_double() -> Iterator[ClusterDouble]:
    """The server, while it runs."""
    double = ClusterDouble()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            path = unquote(urlsplit(self.path).path)
            double.asked.append((self.command, path, body))
            if double.silent:
                double.awake.wait()
            status, said = double.reply(self.command, path, body)
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that left is no failure."""

    server = Server(("127.0.0.1", 0), Handler)
    double.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield double
    finally:
        double.awake.set()
        server.shutdown()
        server.server_close()
        thread.join()
