"""One request to a web server and its answer, under limits and in good manners.

Requests to one host follow one another, never two at a time and never faster than
``web.interval``. Nothing is kept between two requests: no cookie, no connection.
"""

from __future__ import annotations

import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
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
from wellread.ingest.sources.guarded_network import (
    ENCODINGS,
    BadEncodingError,
    Body,
    Deadline,
    JudgedNetwork,
    TooLargeError,
)

AGENT = "wellread"
CHUNK_STATUSES = (200, 203)  # the only ones whose body is read


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered; header names in lower case, ``data`` unpacked."""

    status: int
    headers: Mapping[str, str]
    data: bytes = b""


@dataclass(slots=True)
class _Host:
    """What is remembered of one host (``free_at`` is monotonic seconds)."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    free_at: float = 0.0
    closed_until: datetime | None = None


class Exchange:
    """Sends requests. Safe to use from several threads.

    Args:
        resolve: host and port to addresses; stands in for the system's resolver in tests.
        wait: sleeps that many seconds.
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
        """Ask for ``address``; redirects and error statuses are answers like others.

        Args:
            limit: most bytes of the body.
            delay: seconds that the host asked for between two requests.
            accept: looks at the answer before its body is read, and may raise.

        Raises:
            FetchError: there was no whole answer within the limits.
        """
        uri = str(address)
        with self._turn(address, max(delay, self.settings.interval)):
            deadline = Deadline(self.settings.timeout)
            try:
                return self._ask(address, headers, deadline, limit, accept)
            except TooLargeError as error:
                reason = f"too large: more than {limit:,} bytes"
                raise FetchError(uri, reason) from error
            except BadEncodingError as error:
                raise FetchError(uri, f"the answer is broken: {error}") from error
            except httpcore.TimeoutException as error:
                raise FetchError(uri, self._too_slow(error, deadline)) from error
            except (httpcore.ProtocolError, httpcore.NetworkError, httpcore.ProxyError) as error:
                raise FetchError(uri, _broken(error)) from error

    def close_until(self, address: httpx.URL, moment: datetime) -> None:
        """The host asked to be left alone until ``moment``."""
        self._host(address).closed_until = moment

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
            "Accept-Encoding": ENCODINGS,
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
            answer = Answer(status=response.status, headers=_plain(response.headers))
            if accept:
                accept(answer)
            if answer.status not in CHUNK_STATUSES:
                return answer
            length = answer.headers.get("content-length", "")
            if length.isdecimal() and int(length[:20]) > limit:
                raise TooLargeError
            body = Body(answer.headers.get("content-encoding", ""), limit)
            for chunk in response.iter_stream():
                body.feed(chunk)
            return Answer(status=answer.status, headers=answer.headers, data=body.finish())

    def _pool(self, address: httpx.URL, deadline: Deadline) -> httpcore.ConnectionPool:
        proxy = _proxy_for(address) if self.settings.use_proxy else ""
        judge = partial(check_addresses, str(address), settings=self.settings)
        network = JudgedNetwork(str(address), self._resolve, None if proxy else judge, deadline)
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
        """Trusted authorities: those of certifi, or SSL_CERT_FILE and SSL_CERT_DIR."""
        return httpx.create_ssl_context()

    def _host(self, address: httpx.URL) -> _Host:
        with self._hosts_lock:
            return self._hosts.setdefault(address.host, _Host())

    @contextmanager
    def _turn(self, address: httpx.URL, interval: float) -> Iterator[None]:
        """This thread's turn to ask the host."""
        host = self._host(address)
        with host.lock:
            closed = host.closed_until
            if closed and closed > datetime.now(UTC):
                reason = asked_to_wait(address.host, closed)
                raise FetchError(str(address), reason, poll_after=closed)
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
            limit = f"{settings.connect_timeout:g} seconds"
            return f"cannot be reached within {limit}"
        return f"the server said nothing for {settings.read_timeout:g} seconds"


def asked_to_wait(host: str, until: datetime) -> str:
    """The reason why a host is not asked now."""
    return f"{host} asks to be left alone until {until:%Y-%m-%d %H:%M:%S} UTC"


def _broken(error: Exception) -> str:
    cause = error.__cause__ or error.__context__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {cause.verify_message}"
    if isinstance(error, httpcore.ConnectError):
        return f"cannot be reached: {error or cause}"
    if isinstance(error, httpcore.ProxyError):
        return f"the proxy refuses: {error}"
    return f"the answer breaks off or is not HTTP: {error or type(error).__name__}"


def _plain(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """The first header of each name, except lists, which are joined."""
    found: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in ("cache-control", "content-encoding") and key in found:
            text = f"{found[key]}, {text}"
        elif key in found:
            continue
        found[key] = text
    return found


def _proxy_for(address: httpx.URL) -> str:
    """The system's proxy for ``address``; empty when it is to be asked directly."""
    if urllib.request.proxy_bypass(address.host):
        return ""
    proxies = urllib.request.getproxies()
    return proxies.get(address.scheme, "") or proxies.get("all", "")
