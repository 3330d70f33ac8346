"""Parses web addresses and refuses hosts in private networks (protection against SSRF).

An address that somebody else wrote (a feed's link, a redirect) must not make this machine send
requests to itself or its neighbours. So the host name is resolved first, all its IP addresses are
checked, and ``exchange.py`` connects only to checked addresses.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence

import httpx

from wellread.config import WebSettings
from wellread.errors import SourceError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Resolves host and port to IP addresses; raises OSError when there are none."""

SCHEME_PORTS = {"http": 80, "https": 443}
USUAL_PORTS = (80, 443, 8080, 8443)
LAST_PORT = 65_535
MAX_CHARACTERS = 4_000

_USERINFO = re.compile(r"^(\s*[a-z][a-z0-9+.-]*:/*)[^/?#]*@", re.IGNORECASE)
# To the last "@", as a password may contain anything; a port is none.
_PASSWORD = re.compile(r"^(\s*[a-z][a-z0-9+.-]*:/*)[^/?#@:]*:(?!\d+(?:/|$)).*@", re.I | re.DOTALL)
_HOST = re.compile(rb"[\w.-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Reserved for documentation, protocols and tunnels; not every Python version marks them so.
_SPECIAL = tuple(
    ipaddress.ip_network(net)
    for net in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "3fff::/20")
)


class FetchError(SourceError):
    """A web address could not be read; ``status`` is the HTTP status, 0 without an answer."""

    def __init__(self, uri: str, reason: str, *, status: int = 0) -> None:
        super().__init__(uri, reason)
        self.status = status

    def at(self, uri: str, reason: str) -> FetchError:
        """Return this error for another address and with another reason."""
        return FetchError(uri, reason, status=self.status)


def is_web(text: str) -> bool:
    """Whether ``text`` is a web address (of any scheme) and not a path such as ``C://x``."""
    scheme, separator, _ = text.partition("://")
    is_scheme = bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme.strip()))
    return bool(separator) and is_scheme and scheme.strip().lower() != "file"


def is_page(text: str) -> bool:
    """Whether ``text`` is an address of the web: http or https."""
    return is_web(text) and not is_store(text)


def is_store(text: str) -> bool:
    """Whether ``text`` is an address with a scheme other than http, https and file."""
    return is_web(text) and text.strip().partition("://")[0].lower() not in SCHEME_PORTS


def without_credentials(url: str) -> str:
    """Return ``url`` without user name and password, for reports and logs.

    A user name without a password stays in a store's address, where it says whose mailbox it is.
    """
    secret = _PASSWORD if is_store(url) else _USERINFO
    return " ".join(secret.sub(r"\1…@", url).split())[:MAX_CHARACTERS]


def parse_address(
    url: str, settings: WebSettings | None = None, base: httpx.URL | None = None
) -> httpx.URL:
    """Parse and normalise ``url``: lower-case host, no fragment, no default port.

    Args:
        settings: which ports are allowed; None skips this check.
        base: the address that a relative ``url`` (of a redirect) is relative to.
    """
    name = without_credentials(url)
    try:
        if len(url) > MAX_CHARACTERS:
            raise FetchError(name[:100], f"longer than {MAX_CHARACTERS:,} characters")
        parsed = base.join(url.strip()) if base is not None else httpx.URL(url.strip())
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise FetchError(name, f"not a web address: {error}") from error
    if parsed.scheme not in SCHEME_PORTS:
        scheme = parsed.scheme or "an address without a scheme"
        raise FetchError(name, f"only http and https are supported, not {scheme}")
    if parsed.userinfo:
        raise FetchError(name, "addresses with a user name or password are not supported")
    port = parsed.port or SCHEME_PORTS[parsed.scheme]
    if not _HOST.fullmatch(parsed.raw_host) or port > LAST_PORT:
        lacking = "no such host or port" if host else "no host"
        raise FetchError(name, f"not a web address: {lacking}")
    if settings and port not in USUAL_PORTS and not settings.any_port:
        raise FetchError(name, f"port {port} is not allowed unless web.any_port is true")
    explicit_port = None if port == SCHEME_PORTS[parsed.scheme] else port
    return parsed.copy_with(fragment=None, port=explicit_port, path=parsed.path or "/")


def system_addresses(host: str, port: int) -> list[str]:
    """Resolve ``host`` with the system's resolver, in the order to try the addresses."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


def check_addresses(uri: str, host: str, ips: Sequence[str], settings: WebSettings) -> list[str]:
    """Return ``ips``, the addresses of ``host``, if all of them are allowed.

    One private address among public ones is refused as well: host names that alternate between
    the two are used to get around such checks.
    """
    for text in ips:
        try:
            address = ipaddress.ip_address(text)
        except ValueError as error:
            raise FetchError(uri, f"{host} has no usable address: {text}") from error
        if settings.allow_private and _is_local(address):
            continue
        if not is_public(address):
            named = host if host == text else f"{host} ({text})"
            hint = "" if settings.allow_private else "; web.allow_private allows intranet addresses"
            raise FetchError(uri, f"{named} is not a public address{hint}")
    if not ips:
        raise FetchError(uri, f"the host {host} was not found")
    return list(ips)


def is_public(address: IpAddress) -> bool:
    """Whether ``address`` is a public unicast address, also if IPv4 is embedded in IPv6."""
    if any(address in net for net in _SPECIAL if net.version == address.version):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    inner = _embedded_ipv4(address)
    if inner is not None:
        return is_public(inner)
    return address in _GLOBAL_V6 and address.is_global and not address.is_multicast


def _is_local(address: IpAddress) -> bool:
    """Whether it is this machine or an intranet; link-local (cloud metadata) stays refused."""
    inner = _embedded_ipv4(address) if isinstance(address, ipaddress.IPv6Address) else None
    if inner is not None:
        return _is_local(inner)
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return False
    return address.is_loopback or (address.is_private and not address.is_reserved)


def _embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address (mapped, 6to4, NAT64), if any."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
