"""Reads the address of a cluster, as the setting ``index.url`` has it.

::

    opensearch+https://user@one:9200,two:9200/base?shards=3&replicas=1&timeout=30&ca=/etc/ca.pem

``base`` is the first part of the name of everything that is kept there (``wellread`` without one);
the id of the base follows, so that no two touch each other's indexes. A password stands in an
environment variable only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from wellread.errors import SettingsError
from wellread.store.base import ServiceAddress

SCHEMES = {"opensearch+http": "http", "opensearch+https": "https"}
PORT = 9200
BASE = "wellread"
FORM = "opensearch+https://user@host:9200,other:9200/base"
MOST_SHARDS = 1_024
_BASE = re.compile(r"[a-z][a-z0-9_-]{0,60}")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """How a cluster is reached, and how new indexes are made in it.

    Attributes:
        hosts: URLs of its nodes.
        base: the first part of the name of everything that is kept, with the id of the base.
        shards: of an index that is made from now on.
        replicas: further copies of each shard; None: one where there is a node for it.
        timeout: seconds that one answer may take.
        ca: file with the certificates that are believed; empty for those of the system.
    """

    hosts: tuple[str, ...]
    user: str
    password: str = field(repr=False)
    base: str
    shards: int = 1
    replicas: int | None = None
    timeout: float = 30.0
    ca: str = ""

    def __str__(self) -> str:
        return ", ".join(self.hosts)


def read_address(service: ServiceAddress) -> ClusterAddress:
    """What the address says.

    Raises:
        SettingsError: it is not of that form.
    """
    url = urlsplit(service.url)
    login, _, named = url.netloc.rpartition("@")
    if ":" in login:
        raise _wrong("holds a password", "put it into OPENSEARCH_PASSWORD")
    hosts = tuple(_host(SCHEMES.get(url.scheme, ""), one) for one in named.split(","))
    user, base = unquote(login), url.path.strip("/") or BASE
    if not _BASE.fullmatch(base):
        raise _wrong(f"has the base {base!r}", "small letters, digits, - and _ make its name")
    if service.password and not user:
        raise _wrong("names no user, and there is a password", f"write it as {FORM}")
    return ClusterAddress(
        hosts=hosts,
        user=user,
        password=service.password,
        base=f"{base}-{service.base}",
        **_options(url.query),
    )


def _host(scheme: str, named: str) -> str:
    if not scheme:
        raise _wrong("begins with another scheme", f"write it as {FORM}")
    host, _, port = named.partition(":") if "]" not in named else _bracketed(named)
    if not _HOST.fullmatch(host) or not (port or str(PORT)).isdecimal():
        raise _wrong(f"names the host {named!r}", f"write it as {FORM}")
    return f"{scheme}://{host}:{port or PORT}"


def _bracketed(named: str) -> tuple[str, str, str]:
    host, end, rest = named.partition("]")
    return host + end, "", rest.removeprefix(":")


def _options(query: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        try:
            given[name] = _OPTIONS[name](value)
        except KeyError:
            known = ", ".join(_OPTIONS)
            raise _wrong(f"has the option {name!r}", f"there are: {known}") from None
        except ValueError as error:
            raise _wrong(f"has {name}={value}", str(error)) from None
    return given


def _whole(value: str, least: int) -> int:
    if not value.isdecimal() or not least <= int(value) <= MOST_SHARDS:
        raise ValueError(f"a whole number from {least} to {MOST_SHARDS}")
    return int(value)


def _seconds(value: str) -> float:
    seconds = float(value)
    if not 0 < seconds < float("inf"):
        raise ValueError("seconds, more than 0")
    return seconds


def _file(value: str) -> str:
    if not Path(value).is_file():
        raise ValueError("there is no such file")
    return value


_OPTIONS = {
    "shards": lambda value: _whole(value, 1),
    "replicas": lambda value: _whole(value, 0),
    "timeout": _seconds,
    "ca": _file,
}


def _wrong(what: str, hint: str) -> SettingsError:
    return SettingsError(f"index.url {what}", hint=hint)
