"""The server, run in this process."""

from __future__ import annotations

import contextlib
import signal
import socket

import pytest
from sse_starlette.sse import AppStatus

from wellread.kb import KnowledgeBase
from wellread.serve.http.app import serve


def test_the_address_is_told_when_it_takes_connections(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interrupt ends the streams of this process for good; other tests have some.
    monkeypatch.setattr(AppStatus, "should_exit", False)
    told: list[str] = []

    def connect(address: str) -> None:
        told.append(address)
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=10):
            signal.raise_signal(signal.SIGINT)  # the server stops; a refusal would be raised here

    with contextlib.suppress(KeyboardInterrupt):  # not raised where interrupts are ignored
        serve(kb, "127.0.0.1", 0, on_ready=connect)
    assert len(told) == 1
