"""Connections for fetching: only to addresses that were judged, and never longer than allowed.

A back end for httpcore, the layer below httpx, because only there can both be promised: the name
is resolved once and the connection made to what it resolved to, so that a name which changes its
mind between check and use (DNS rebinding) gains nothing; and every read ends at one deadline, so
that a server which sends a byte now and then, in headers too, holds nobody up. The host of the
request stays the name, so certificates are checked against it as usual.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore

from wellread.ingest.sources.web.addresses import FetchError, Resolve

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
