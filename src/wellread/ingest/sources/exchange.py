"""Sends a request to a web server, with limits on time, size and request rate.

Requests to one host are sent one at a time and not more often than ``web.interval`` allows.
Nothing is kept between two requests: no cookies, no connections.

The network back end is written for httpcore, the layer below httpx, because only there can two
things be guaranteed: the name is resolved once and the connection goes to the checked address,
which defeats DNS rebinding; and every read ends at one deadline, so that a server which sends a
byte now and then, even in headers, cannot block a run. A body is cut off at a limit while it is
decompressed: a few kilobytes can expand to gigabytes.
"""

from __future__ import annotations

import ssl
import threading
import time
import urllib.request
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore
import httpx

from wellread.config import WebSettings
from wellread.ingest.sources.addresses import (
    SCHEME_PORTS,
    FetchError,
    Resolve,
    check_addresses,
    system_addresses,
)

Check = Callable[[str, Sequence[str]], Sequence[str]]
"""Returns those addresses of a host that are allowed; raises FetchError."""


class Deadline:
    """The moment at which all waiting for a request ends."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self._at

    def left(self, limit: float | None) -> float:
        """Return the seconds left, at most ``limit``.

        Raises:
            httpcore.ReadTimeout: no time is left.
        """
        seconds_left = self._at - time.monotonic()
        if seconds_left <= 0:
            raise httpcore.ReadTimeout
        return seconds_left if limit is None else min(seconds_left, limit)


class CheckedNetwork(httpcore.NetworkBackend):
    """Resolves a host, has ``judge`` check its addresses, and connects only to checked ones.

    Args:
        judge: None allows every address (the connection goes to the user's own proxy).
    """

    def __init__(self, uri: str, resolve: Resolve, judge: Check | None, deadline: Deadline) -> None:
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
        """Connect to the first checked address that answers.

        Raises:
            FetchError: the host is unknown or not allowed.
            httpcore.ConnectError, httpcore.ConnectTimeout: none of its addresses answers.
        """
        addresses = self._addresses(host, port, timeout)
        allowed = self._judge(host, addresses) if self._judge else addresses
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
        """Resolve ``host`` in a thread, as the system's resolver has no time limit."""
        results: list[Sequence[str]] = []
        problems: list[OSError | UnicodeError] = []

        def ask() -> None:
            try:
                results.append(self._resolve(host, port))
            except (OSError, UnicodeError) as error:  # UnicodeError: a label that is too long
                problems.append(error)

        thread = threading.Thread(target=ask, daemon=True, name="resolve")
        thread.start()
        thread.join(self._deadline.left(timeout))
        if problems:
            raise FetchError(self._uri, f"the host {host} was not found: {problems[0]}")
        if not results:
            raise FetchError(self._uri, f"the host {host} was not found in time")
        return results[0]


class _LimitedStream(httpcore.NetworkStream):
    """A stream on which no wait exceeds the deadline."""

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
        encrypted = self._stream.start_tls(ssl_context, server_hostname, left)
        return _LimitedStream(encrypted, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


ENCODING = "gzip"

_GZIP = zlib.MAX_WBITS | 16
_GZIP_START = b"\x1f\x8b"
BROKEN = "the answer is broken"


class BodyError(Exception):
    """The body is larger than allowed, or not compressed in the way that its header says."""


def check_size(length: int, limit: int) -> None:
    """Raise if a body of this length is larger than allowed."""
    if length > limit:
        raise BodyError(f"too large: more than {limit:,} bytes")


class Body:
    """Collects and decompresses the chunks of a body, up to a limit."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._packed = 0
        self._pieces: list[bytes] = []
        self._length = 0
        self._packs = encoding.strip().lower().removeprefix("x-") == ENCODING
        self._unpacker = zlib.decompressobj(_GZIP)
        if not self._packs and encoding.strip().lower() not in ("", "identity"):
            raise BodyError(f"{BROKEN}: compressed as {encoding[:40]}, which was not requested")

    def feed(self, chunk: bytes) -> None:
        """Add the next chunk."""
        self._packed += len(chunk)
        check_size(self._packed, self._limit)
        if not self._packs:
            self._keep(chunk)
            return
        try:
            self._unpack(chunk)
        except zlib.error as error:
            raise BodyError(f"{BROKEN}: declared as gzip, but is not: {error}") from error

    def finish(self) -> bytes:
        """Return the whole body."""
        if self._packs and self._packed and not self._unpacker.eof:
            raise BodyError(f"{BROKEN}: the compressed data is incomplete")
        return b"".join(self._pieces)

    def _unpack(self, chunk: bytes) -> None:
        while chunk:
            if self._unpacker.eof:
                if not chunk.startswith(_GZIP_START):  # padding after the end
                    return
                self._unpacker = zlib.decompressobj(_GZIP)
            # One byte more than the rest of the limit shows that the body is too large.
            self._keep(self._unpacker.decompress(chunk, self._limit - self._length + 1))
            chunk = self._unpacker.unconsumed_tail or self._unpacker.unused_data

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        check_size(self._length, self._limit)
        self._pieces.append(piece)


AGENT = "wellread"
CHUNK_STATUSES = (200, 203)  # the only statuses whose body is read


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's answer; header names are in lower case, ``data`` is decompressed."""

    status: int
    headers: Mapping[str, str]
    data: bytes = b""


@dataclass(slots=True)
class _Host:
    """The rate limit state of one host (``free_at`` is in monotonic seconds)."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    free_at: float = 0.0


class Exchange:
    """Sends requests. Safe to use from several threads.

    Args:
        resolve: resolves host and port to addresses; tests replace it.
    """

    def __init__(
        self,
        settings: WebSettings,
        *,
        resolve: Resolve = system_addresses,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self.settings = settings
        self._resolve = resolve
        self._wait = wait
        self._hosts: dict[str, _Host] = {}
        self._hosts_lock = threading.Lock()
        self._agent = f"{AGENT}/{version('wellread')}"

    def get(
        self,
        address: httpx.URL,
        headers: Mapping[str, str],
        *,
        limit: int,
        delay: float = 0.0,
        accept: Callable[[Answer], object] | None = None,
    ) -> Answer:
        """Request ``address``; redirects and error statuses are returned like other answers.

        Args:
            delay: seconds between two requests that the host asks for.
        """
        uri = str(address)
        with self._turn(address, max(delay, self.settings.interval)):
            deadline = Deadline(self.settings.timeout)
            try:
                return self._ask(address, headers, deadline, limit, accept)
            except BodyError as error:
                raise FetchError(uri, str(error)) from error
            except httpcore.TimeoutException as error:
                raise FetchError(uri, self._too_slow(error, deadline)) from error
            except (httpcore.ProtocolError, httpcore.NetworkError, httpcore.ProxyError) as error:
                raise FetchError(uri, _failure_reason(error)) from error

    def _ask(
        self,
        address: httpx.URL,
        headers: Mapping[str, str],
        deadline: Deadline,
        limit: int,
        accept: Callable[[Answer], object] | None,
    ) -> Answer:
        sent = {
            "Host": address.netloc.decode("ascii"),
            "User-Agent": self._agent,
            "Accept": "*/*",
            "Accept-Encoding": ENCODING,
            "Connection": "close",
            **headers,
        }
        settings = self.settings
        waits = dict.fromkeys(("connect", "pool"), settings.connect_timeout)
        waits |= dict.fromkeys(("read", "write"), settings.read_timeout)
        where = httpcore.URL(
            scheme=address.raw_scheme,
            host=address.raw_host,
            port=address.port,
            target=address.raw_path,
        )
        lines = list(sent.items())
        with (
            self._pool(address, deadline) as pool,
            pool.stream("GET", where, headers=lines, extensions={"timeout": waits}) as response,
        ):
            answer = Answer(status=response.status, headers=_header_dict(response.headers))
            if accept:
                accept(answer)
            if answer.status not in CHUNK_STATUSES:
                return answer
            length = answer.headers.get("content-length", "")
            check_size(int(length[:20]) if length.isdecimal() else 0, limit)
            body = Body(answer.headers.get("content-encoding", ""), limit)
            for chunk in response.iter_stream():
                body.feed(chunk)
            return Answer(status=answer.status, headers=answer.headers, data=body.finish())

    def _pool(self, address: httpx.URL, deadline: Deadline) -> httpcore.ConnectionPool:
        proxy = _proxy_for(address) if self.settings.use_proxy else ""
        judge = partial(check_addresses, str(address), settings=self.settings)
        network = CheckedNetwork(str(address), self._resolve, None if proxy else judge, deadline)
        if not proxy:
            return httpcore.ConnectionPool(ssl_context=self._tls, network_backend=network)
        parts = urlsplit(proxy)
        login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
        return httpcore.HTTPProxy(
            f"{parts.scheme}://{parts.hostname}:{parts.port or SCHEME_PORTS['http']}",
            proxy_auth=login,
            ssl_context=self._tls,
            network_backend=network,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The trusted certificate authorities: certifi's, or SSL_CERT_FILE and SSL_CERT_DIR."""
        return httpx.create_ssl_context()

    @contextmanager
    def _turn(self, address: httpx.URL, interval: float) -> Iterator[None]:
        with self._hosts_lock:
            host = self._hosts.setdefault(address.host, _Host())
        with host.lock:
            pause = host.free_at - time.monotonic()
            if pause > 0:
                self._wait(pause)
            try:
                yield
            finally:
                host.free_at = time.monotonic() + interval

    def _too_slow(self, error: httpcore.TimeoutException, deadline: Deadline) -> str:
        settings = self.settings
        if deadline.passed:
            return f"took longer than {settings.timeout:g} seconds"
        if isinstance(error, httpcore.ConnectTimeout):
            return f"cannot be reached within {settings.connect_timeout:g} seconds"
        return f"the server sent nothing for {settings.read_timeout:g} seconds"


def _failure_reason(error: Exception) -> str:
    cause = error.__cause__ or error.__context__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {cause.verify_message}"
    if isinstance(error, httpcore.ConnectError):
        return f"cannot be reached: {error or cause}"
    if isinstance(error, httpcore.ProxyError):
        return f"the proxy refuses the request: {error}"
    return f"the answer is incomplete or not HTTP: {error or type(error).__name__}"


def _header_dict(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the first header of each name; several content encodings are joined."""
    first_values: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key == "content-encoding" and key in first_values:
            text = f"{first_values[key]}, {text}"
        elif key in first_values:
            continue
        first_values[key] = text
    return first_values


def _proxy_for(address: httpx.URL) -> str:
    """Return the system's proxy for ``address``; empty for a direct connection."""
    if urllib.request.proxy_bypass(address.host):
        return ""
    proxies = urllib.request.getproxies()
    return proxies.get(address.scheme, "") or proxies.get("all", "")
