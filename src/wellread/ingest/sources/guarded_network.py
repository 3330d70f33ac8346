"""Connections for fetching: only to addresses that were judged, and never longer than allowed.

A back end for httpcore, the layer below httpx, because only there can both be promised: the name
is resolved once and the connection made to what it resolved to, so that a name which changes its
mind between check and use (DNS rebinding) gains nothing; and every read ends at one deadline, so
that a server which sends a byte now and then, in headers too, holds nobody up. The host of the
request stays the name, so certificates are checked against it as usual.

A body is unpacked as it comes and cut off at a limit. A few kilobytes can unpack to gigabytes, so
zlib is asked for no more than the limit still leaves, whatever it could give.
"""

from __future__ import annotations

import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore

from wellread.ingest.sources.addresses import FetchError, Resolve

Judge = Callable[[str, Sequence[str]], Sequence[str]]
"""Host and its addresses to those that may be asked; raises FetchError."""


class Deadline:
    """A moment after which nothing is waited for."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._at

    def left(self, most: float | None) -> float:
        """Seconds to wait now: what is left, at most ``most``.

        Raises:
            httpcore.ReadTimeout: nothing is left.
        """
        left = self._at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left if most is None else min(left, most)


class JudgedNetwork(httpcore.NetworkBackend):
    """Resolves a host, lets ``judge`` look at what came out, and connects to exactly that.

    Args:
        uri: what is being fetched, for messages.
        judge: None lets everything through (the connection is to a proxy of the user's own).
    """

    def __init__(self, uri: str, resolve: Resolve, judge: Judge | None, deadline: Deadline) -> None:
        self._uri = uri
        self._resolve = resolve
        self._judge = judge
        self._deadline = deadline
        self._system = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first judged address that answers.

        Raises:
            FetchError: the host is unknown, or may not be asked.
            httpcore.ConnectError, httpcore.ConnectTimeout: none of its addresses answers.
        """
        found = self._addresses(host, port, timeout)
        allowed = self._judge(host, found) if self._judge else found
        problem: httpcore.NetworkError | httpcore.TimeoutException = httpcore.ConnectError(host)
        for address in allowed:
            try:
                stream = self._system.connect_tcp(
                    address, port, self._deadline.left(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
            else:
                return _LimitedStream(stream, self._deadline)
        raise problem

    def _addresses(self, host: str, port: int, timeout: float | None) -> Sequence[str]:
        """What ``host`` resolves to, in limited time: the system's resolver has no limit itself."""
        found: list[Sequence[str]] = []
        problems: list[OSError | UnicodeError] = []

        def ask() -> None:
            try:
                found.append(self._resolve(host, port))
            except (OSError, UnicodeError) as error:  # UnicodeError: a label that is too long
                problems.append(error)

        thread = threading.Thread(target=ask, daemon=True, name="resolve")
        thread.start()
        thread.join(self._deadline.left(timeout))
        if problems:
            raise FetchError(self._uri, f"the host {host} was not found: {problems[0]}")
        if not found:
            raise FetchError(self._uri, f"the host {host} was not found in time")
        return found[0]


class _LimitedStream(httpcore.NetworkStream):
    """A stream whose every wait ends at the deadline."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout)
        return _LimitedStream(
            self._stream.start_tls(ssl_context, server_hostname, left), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


ENCODINGS = "gzip, deflate"

_GZIP = zlib.MAX_WBITS | 16
_GZIP_START = b"\x1f\x8b"


class TooLargeError(Exception):
    """The body is larger than allowed."""


class BadEncodingError(Exception):
    """The body is not packed in the way that its header says."""


class Body:
    """Collects the pieces of a body.

    Args:
        encoding: the Content-Encoding header.
        limit: most bytes, packed and unpacked.

    Raises:
        BadEncodingError: an encoding that was not asked for.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._packed = 0
        self._pieces: list[bytes] = []
        self._length = 0
        self._head = b""
        self._encoding = encoding.strip().lower().removeprefix("x-")
        self._unpacker: zlib._Decompress | None = None
        if self._encoding not in ("", "identity", "gzip", "deflate"):
            raise BadEncodingError(f"packed as {encoding[:40]}, which was not asked for")

    def feed(self, chunk: bytes) -> None:
        """Take the next piece.

        Raises:
            TooLargeError, BadEncodingError: see there.
        """
        self._packed += len(chunk)
        if self._packed > self._limit:
            raise TooLargeError
        if self._encoding in ("", "identity"):
            self._keep(chunk)
            return
        try:
            self._unpack(chunk)
        except zlib.error as error:
            raise BadEncodingError(f"not {self._encoding} as it says: {error}") from error

    def finish(self) -> bytes:
        """The whole body.

        Raises:
            BadEncodingError: it ends in the middle.
        """
        unpacker = self._unpacker
        if unpacker is None and self._head:
            raise BadEncodingError(f"not {self._encoding} as it says")
        if unpacker is not None and not unpacker.eof:
            raise BadEncodingError("the packed data ends in the middle")
        return b"".join(self._pieces)

    def _unpack(self, chunk: bytes) -> None:
        if self._unpacker is None:
            self._head += chunk
            if len(self._head) < 2:  # it takes two bytes to see what it is
                return
            chunk, self._head = self._head, b""
            self._unpacker = zlib.decompressobj(self._window_bits(chunk))
        while chunk:
            if self._unpacker.eof:
                if not chunk.startswith(_GZIP_START):  # padding after the end
                    return
                self._unpacker = zlib.decompressobj(_GZIP)
            # One byte more than is left shows that there is too much.
            self._keep(self._unpacker.decompress(chunk, self._limit - self._length + 1))
            chunk = self._unpacker.unconsumed_tail or self._unpacker.unused_data

    def _window_bits(self, head: bytes) -> int:
        """By the first bytes: servers call both raw deflate and zlib ``deflate``."""
        if self._encoding == "gzip" or head.startswith(_GZIP_START):
            return _GZIP
        is_zlib = head[0] & 0x0F == 8 and int.from_bytes(head[:2]) % 31 == 0
        return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > self._limit:
            raise TooLargeError
        self._pieces.append(piece)
