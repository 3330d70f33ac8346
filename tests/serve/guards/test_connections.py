"""What a socket may do to the server: trickle, stay silent, speak no HTTP."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.openai.conftest import listening

from wellread.config import ServeSettings
from wellread.kb import open_kb
from wellread.serve.http.app import listen
from wellread.testing.embedding import ReadableEmbedder

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def place(filled_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Where a server listens that waits a moment for headers."""
    home = tmp_path_factory.mktemp("connections") / "home"
    shutil.copytree(filled_home, home)
    patch = pytest.MonkeyPatch()
    patch.setattr(ServeSettings, "header_seconds", 0.3)
    with open_kb(home, embedder=ReadableEmbedder()) as kb, listening(kb) as address:
        host, _, port = address.removeprefix("http://").rpartition(":")
        yield host, int(port)
    patch.undo()


def reply_to(place: tuple[str, int], *pieces: bytes) -> bytes:
    """All that the server sends until it closes."""
    with socket.create_connection(place, timeout=20) as connection:
        for piece in pieces:
            connection.sendall(piece)
        got = b""
        while piece := connection.recv(65_536):
            got += piece
        return got


def assert_told(reply: bytes, status: int, error: str) -> None:
    head, _, body = reply.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status, reply
    assert b"content-security-policy" in head
    told = json.loads(body)
    assert set(told) == {"error", "detail", "hint"}
    assert told["error"] == error


@pytest.mark.parametrize("sent", [b"G", HEAD, HEAD + b"X-Slow: "])
def test_headers_that_do_not_end_are_not_waited_for(place: tuple[str, int], sent: bytes) -> None:
    assert_told(reply_to(place, sent), 408, "request_timeout")


def test_nor_those_of_a_second_request(place: tuple[str, int]) -> None:
    reply = reply_to(place, HEAD + b"\r\n", b"GET /hea")
    assert reply.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in reply


def test_a_silent_connection_is_closed_without_a_word(place: tuple[str, int]) -> None:
    assert reply_to(place) == b""


def test_what_is_no_http_is_told_in_our_shape(place: tuple[str, int]) -> None:
    assert_told(reply_to(place, b"\x16\x03\x01\x02\x00\x01\r\n\r\n"), 400, "bad_request")


def test_headers_without_end_are_refused(place: tuple[str, int]) -> None:
    reply = reply_to(place, HEAD + b"X-Long: " + b"x" * 40_000)
    assert_told(reply, 431, "request_header_fields_too_large")


def test_an_upgrade_is_answered_as_any_request(place: tuple[str, int]) -> None:
    asked = HEAD + b"Connection: close, Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert reply_to(place, asked).startswith(b"HTTP/1.1 200")


async def test_no_part_of_a_reply_waits_for_an_acknowledgement() -> None:
    accepted: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
    with listen("127.0.0.1", 0) as listener:
        async with await asyncio.start_server(
            lambda *ends: accepted.set_result(ends[1]), sock=listener
        ):
            _, asking = await asyncio.open_connection(*listener.getsockname())
            replying = await accepted
            sends_at_once = replying.get_extra_info("socket").getsockopt(
                socket.IPPROTO_TCP, socket.TCP_NODELAY
            )
            for writer in (asking, replying):
                writer.close()
                await writer.wait_closed()
    assert sends_at_once
