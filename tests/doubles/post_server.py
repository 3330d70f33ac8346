"""A small local server that takes JSON by POST, the way servers of models do.

Each request takes the next reply of the script; when the script is empty, the usual one comes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.doubles.web_server import Asked, Reply, WebServer

Script = Callable[[dict[str, Any]], Reply]


def ok(body: object) -> Reply:
    """A good reply that holds JSON."""
    return Reply(body=json.dumps(body).encode())


def fixed(reply: Reply, *, delay: float = 0.0) -> Script:
    """The same reply whatever is asked, ``delay`` seconds late."""

    def script(_: dict[str, Any]) -> Reply:
        time.sleep(delay)
        return reply

    return script


class PostServer(WebServer):
    """Answers at ``paths`` until it is closed: by ``script``, and by ``usual`` after its end."""

    def __init__(self, usual: Script, *paths: str) -> None:
        self.usual = usual
        self.script: list[Script] = []
        super().__init__(dict.fromkeys(paths, self._posted))

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What was posted, oldest first."""
        with self._lock:
            return [json.loads(asked.body) for asked in self.asked]

    @property
    def keys(self) -> list[str | None]:
        """How the clients proved who they are, oldest first."""
        with self._lock:
            return [asked.headers.get("authorization") for asked in self.asked]

    def _posted(self, asked: Asked) -> Reply:
        with self._lock:
            script = self.script.pop(0) if self.script else self.usual
        return script(json.loads(asked.body))
