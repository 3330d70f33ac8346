"""Web addresses, and which machines may be asked: the guard against requests into a private net.

An address that somebody else wrote (a feed's link, a redirect) must not make this machine talk to
itself or to its neighbours. So the name is resolved first, every address it stands for is judged,
and ``exchange.py`` connects to exactly what was judged.
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
"""Host and port to addresses; raises OSError when there are none."""

SCHEME_PORTS = {"http": 80, "https": 443}
USUAL_PORTS = (80, 443, 8080, 8443)
LAST_PORT = 65_535
LONGEST = 4_000

_USERINFO = re.compile(r"^(\s*[a-z][a-z0-9+.-]*:/*)[^/?#]*@", re.IGNORECASE)
_HOST = re.compile(rb"[\w.-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Given out for documentation, protocols and tunnels, but not marked so by every Python version.
_SPECIAL = tuple(
    ipaddress.ip_network(net)
    for net in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "3fff::/20")
)


class FetchError(SourceError):
    """A web address could not be read; ``status``: what the server answered, 0 when nothing."""

    def __init__(self, uri: str, reason: str, *, status: int = 0) -> None:
        super().__init__(uri, reason)
        self.status = status

    def at(self, uri: str, reason: str) -> FetchError:
        """The same of another address, told in other words."""
        return FetchError(uri, reason, status=self.status)


def is_web(given: str) -> bool:
    """Whether ``given`` is an address and not a path (other schemes than http are refused later).

    A scheme of one letter is a drive of Windows.
    """
    scheme, separator, _ = given.partition("://")
    known = bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme.strip()))
    return bool(separator) and known and scheme.strip().lower() != "file"


def shown(url: str) -> str:
    """``url`` without a user name and a password, fit for reports and logs."""
    return " ".join(_USERINFO.sub(r"\1…@", url).split())[:LONGEST]


def parse_address(
    url: str, settings: WebSettings | None = None, base: httpx.URL | None = None
) -> httpx.URL:
    """``url`` in its usual form: lower-case host, no fragment, no default port.

    Args:
        settings: say which ports may be asked; None does not look at the port.
        base: what a relative ``url`` (of a redirect) is relative to.
    """
    name = shown(url)
    try:
        if len(url) > LONGEST:
            raise FetchError(name[:100], f"longer than {LONGEST:,} characters")
        parsed = base.join(url.strip()) if base is not None else httpx.URL(url.strip())
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise FetchError(name, f"not a web address: {error}") from error
    if parsed.scheme not in SCHEME_PORTS:
        raise FetchError(name, f"only http and https are read, not {parsed.scheme or 'this'}")
    if parsed.userinfo:
        raise FetchError(name, "an address with a user name or a password in it is not read")
    port = parsed.port or SCHEME_PORTS[parsed.scheme]
    if not _HOST.fullmatch(parsed.raw_host) or port > LAST_PORT:
        lacking = "no such host or port" if host else "no host"
        raise FetchError(name, f"not a web address: {lacking}")
    if settings and port not in USUAL_PORTS and not settings.any_port:
        raise FetchError(name, f"port {port} is not asked; web.any_port allows it")
    usual = None if port == SCHEME_PORTS[parsed.scheme] else port
    return parsed.copy_with(fragment=None, port=usual, path=parsed.path or "/")


def system_addresses(host: str, port: int) -> list[str]:
    """What the system's resolver says that ``host`` stands for, in the order to try them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def check_addresses(uri: str, host: str, found: Sequence[str], settings: WebSettings) -> list[str]:
    """``found``, when every one of the addresses may be asked.

    One private address among public ones is refused as well: names that change between the two
    are how the guard is got around.
    """
    for text in found:
        try:
            address = ipaddress.ip_address(text)
        except ValueError as error:
            raise FetchError(uri, f"{host} has no usable address: {text}") from error
        if settings.allow_private and _is_near(address):
            continue
        if not is_public(address):
            named = host if host == text else f"{host} ({text})"
            more = (
                "" if settings.allow_private else "; web.allow_private reads those of an intranet"
            )
            raise FetchError(uri, f"{named} is not an address of the public web{more}")
    if not found:
        raise FetchError(uri, f"the host {host} was not found")
    return list(found)


def is_public(address: IpAddress) -> bool:
    """Whether ``address`` is one machine of the public internet, also behind IPv6 wrappings."""
    if any(address in net for net in _SPECIAL if net.version == address.version):
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    inner = _wrapped(address)
    if inner is not None:
        return is_public(inner)
    return address in _GLOBAL_V6 and address.is_global and not address.is_multicast


def _is_near(address: IpAddress) -> bool:
    """This machine or an intranet; link-local (where clouds keep secrets) stays closed."""
    inner = _wrapped(address) if isinstance(address, ipaddress.IPv6Address) else None
    if inner is not None:
        return _is_near(inner)
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return False
    return address.is_loopback or (address.is_private and not address.is_reserved)


def _wrapped(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to (mapped, 6to4, NAT64)."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour
