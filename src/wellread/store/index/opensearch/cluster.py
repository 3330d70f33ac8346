"""Calls to a cluster: its address, one pool of connections per process, and what it refuses.

The setting ``index.url`` holds the address::

    opensearch+https://user@one:9200,two:9200/base?shards=3&replicas=1&timeout=30&ca=/etc/ca.pem

``base`` is the first part of the name of everything that is kept there (``wellread`` without one);
the id of the base follows, so that no two touch each other's indexes. A password stands in an
environment variable only. A node that dies is found out by a call that fails on it; the client then
asks another one.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, TransportError

from wellread.errors import DamageError, SettingsError, StoreError
from wellread.store.base import ServiceAddress

OVERLOADED = 429
MENDS = "'wellread verify --repair' makes the index anew from the catalogue"
PASSING = frozenset({OVERLOADED, 502, 503, 504})  # statuses of what may go by itself
BLOCKED = "cluster_block_exception"
FULL = ("flood-stage", "read-only / allow delete", "disk usage exceeded")
_REFUSED = {
    401: "check the user in index.url and the variable OPENSEARCH_PASSWORD",
    403: "the user in index.url lacks a right; docs/opensearch.md lists those it needs",
    413: "raise http.max_content_length of the cluster",
}


def status_of(error: OpenSearchException) -> int:
    """The status of the answer; 0 where there was none."""
    status = error.status_code if isinstance(error, TransportError) else 0
    return status if isinstance(status, int) else 0


def told_by(error: OpenSearchException) -> str:
    """What the cluster says about it, in one line."""
    if not isinstance(error, TransportError):
        return str(error)
    reason = _reason(error.info) if len(error.args) > 2 else ""
    return " ".join((reason or str(error.error)).split())[:300]


def _reason(info: Any) -> str:
    """The deepest reason of an answer: the first lines only say that something failed."""
    told = info.get("error", info) if isinstance(info, dict) else info
    if not isinstance(told, dict):
        return str(told or "")
    for cause in (*told.get("root_cause", ()), told):
        if cause.get("reason"):
            return f"{cause.get('type', '')}: {cause['reason']}"
    return str(told.get("failures") or told.get("type") or "")


def is_full(reason: str) -> bool:
    """Whether a node's disk is too full to be written."""
    return any(word in reason for word in FULL)


def is_write_block(status: int, reason: str) -> bool:
    """Whether the index takes no rows because it is being copied."""
    return status == 403 and BLOCKED in reason and not is_full(reason)


def store_error(action: str, error: OpenSearchException, where: str) -> StoreError:
    """The error that a failed call ends with."""
    if isinstance(error, ConnectionTimeout):
        return StoreError(
            f"could not {action}: OpenSearch at {where} took too long to answer",
            hint="try again; where it stays so, the cluster is too small or 'timeout=' too short",
            retryable=True,
        )
    if isinstance(error, NoConnection):
        cause = " ".join(str(error.info).split())[:300]
        return StoreError(
            f"could not {action}: OpenSearch at {where} cannot be reached: {cause}",
            hint="check that it runs, and index.url",
            retryable="certificate" not in cause.lower(),
        )
    return refusal(action, status_of(error), told_by(error), where)


def refusal(action: str, status: int, reason: str, where: str) -> StoreError:
    """The error of an answer with this status, or of a part of one."""
    if is_full(reason):
        return StoreError(
            f"could not {action}: a disk of OpenSearch at {where} is full",
            hint="make room or add a node; it takes writes again by itself then",
            retryable=True,
        )
    if status in PASSING:
        return StoreError(
            f"could not {action}: OpenSearch at {where} is overloaded or lacks a node: {reason}",
            hint="try again; where it stays so, look at the cluster's health",
            retryable=True,
        )
    if status == 404 and "index_not_found" in reason:
        return DamageError(
            f"could not {action}: the index is gone from OpenSearch at {where}", hint=MENDS
        )
    if is_write_block(status, reason):
        return StoreError(
            f"could not {action}: the index is being copied, or a purge of it broke off",
            hint="try again, or run 'wellread verify --repair'",
            retryable=True,
        )
    return StoreError(
        f"could not {action}: OpenSearch at {where} refused ({status}): {reason}",
        hint=_REFUSED.get(status, "docs/opensearch.md says what the cluster needs"),
    )


SCHEMES = {"opensearch+http": "http", "opensearch+https": "https"}
PORT = 9200
BASE = "wellread"
FORM = "opensearch+https://user@host:9200,other:9200/base"
MOST_SHARDS = 1_024
_BASE = re.compile(r"[a-z][a-z0-9_-]{0,60}")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """How a cluster is reached, and how new indexes are made in it."""

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
    """What the address says."""
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


THREADS = 32  # that may ask at once without waiting for a connection
LONGEST = 60.0  # seconds of further tries after the first failure
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# A search may meet an index that is just being replaced (404), or a node that just died (500).
ONCE_MORE = frozenset({404, 500})
EXTRA_TRIES = 3

Call = Callable[[OpenSearch], Any]


def pause(seconds: float) -> None:
    """Wait; tests put something else here."""
    time.sleep(seconds)


def pauses() -> Callable[[], float]:
    """Gives the length of the next pause: twice the last one, and a part of it by chance."""
    length = FIRST_PAUSE / 2

    def following() -> float:
        nonlocal length
        length = min(length * 2, LONGEST_PAUSE)
        # Many writers that were refused at once must not come back at once.
        return length * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    return following


class Cluster:
    """One cluster. Threads may share it."""

    def __init__(self, address: ClusterAddress) -> None:
        self.address = address
        secure = address.hosts[0].startswith("https")
        self._client = OpenSearch(
            hosts=list(address.hosts),
            http_auth=(address.user, address.password) if address.user else None,
            use_ssl=secure,
            verify_certs=secure,
            ca_certs=address.ca or None,
            timeout=address.timeout,
            pool_maxsize=THREADS,
            max_retries=len(address.hosts),
            retry_on_timeout=len(address.hosts) > 1,
            retry_on_status=(),
        )

    def run(self, action: str, call: Call, *, longest: float = LONGEST) -> Any:
        """What ``call`` gives, tried again where that may help."""
        following = pauses()
        waited, extra = 0.0, 0
        while True:
            try:
                return call(self._client)
            except OpenSearchException as error:
                extra += status_of(error) in ONCE_MORE
                length = following()
                if not _may_pass(error, extra) or waited + length > longest:
                    raise store_error(action, error, str(self.address)) from error
            waited += length
            pause(length)

    def attempt(self, call: Call) -> Any:
        """What ``call`` gives, without further tries; the caller looks at the client's errors."""
        return call(self._client)


def _may_pass(error: OpenSearchException, extra: int) -> bool:
    if isinstance(error, ConnectionTimeout):
        return False  # it took its time on every node
    if isinstance(error, NoConnection):
        return "certificate" not in str(error.info).lower()
    status = status_of(error)
    return status in PASSING or (status in ONCE_MORE and extra < EXTRA_TRIES)


@lru_cache(maxsize=8)
def cluster_of(address: ClusterAddress) -> Cluster:
    """The cluster at ``address``, with its connections, the same for all of a process."""
    return Cluster(address)
