"""Searches of research that wait, so that a test can look at a run in the middle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from wellread.ask.retrieve.search import search
from wellread.kb import KnowledgeBase
from wellread.research import rounds

PATIENCE = 30.0  # seconds until a test that forgot to open the gate fails


class SearchGate:
    """Lets the first ``free`` searches through; the others wait until it is opened.

    ``reached`` is set when one waits; ``at_gate`` is called when one comes to the gate.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, free: int = 0) -> None:
        self.reached = threading.Event()
        self.at_gate: Callable[[KnowledgeBase], object] = lambda kb: None
        self.queries: list[str] = []
        self._open = threading.Event()
        self._free = free
        monkeypatch.setattr(rounds, "search", self._search)

    def open(self) -> None:
        """Let everything through."""
        self._open.set()

    def _search(self, kb: KnowledgeBase, query: str, *args: Any, **how: Any) -> Any:
        self.queries.append(query)
        if len(self.queries) > self._free and not self._open.is_set():
            self.at_gate(kb)
            self.reached.set()
            assert self._open.wait(PATIENCE)
        return search(kb, query, *args, **how)
