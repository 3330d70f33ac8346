"""Leaves out the thoughts that some models write in front of their reply."""

from __future__ import annotations

from typing import Literal

OPENING = "<think>"
CLOSING = "</think>"


class ThoughtFilter:
    """Passes a reply on without a ``<think>…</think>`` block at its very beginning.

    Servers that know their model send thoughts in a field of their own; others leave the tags in
    the text, cut into pieces anywhere. Tags further on are text like any other.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["start", "thinking", "after", "open"] = "start"

    def feed(self, piece: str) -> str:
        """What of the reply may be passed on, now that ``piece`` has arrived."""
        self._held += piece
        if self._state == "start":
            start = self._held.lstrip()
            if start.startswith(OPENING):
                self._state = "thinking"
                self._held = start[len(OPENING) :]
            elif not OPENING.startswith(start):
                self._state = "open"
        if self._state == "thinking":
            _, closing, rest = self._held.partition(CLOSING)
            if closing:
                self._state = "after"
                self._held = rest
            else:
                # Only as much as may be the beginning of the closing tag.
                self._held = self._held[-len(CLOSING) + 1 :]
        if self._state == "after":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "open"
        return self._release() if self._state == "open" else ""

    def finish(self) -> str:
        """The rest, at the reply's end; thoughts that never ended are not passed on."""
        return "" if self._state == "thinking" else self._release()

    def _release(self) -> str:
        released, self._held = self._held, ""
        return released
