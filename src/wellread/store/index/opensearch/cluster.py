"""Calls an OpenSearch cluster: its address, connection pool, retries and errors.

The setting ``index.url`` holds the address::

    opensearch+https://user@one:9200,two:9200/base?shards=3&replicas=1&timeout=30&ca=/etc/ca.pem

``base`` (``wellread`` by default) begins every name stored there, followed by the id of the
knowledge base, so that no two bases touch each other's indexes. The password is read from an
environment variable only. When a call fails because a node died, the client tries another node.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, TransportError
from pydantic import BaseModel, Field, FilePath, ValidationError

from wellread.errors import DamageError, SettingsError, StoreError, invalid_value
from wellread.store.base import ServiceAddress

OVERLOADED = 429
REBUILD_HINT = "'wellread verify --repair' rebuilds the index from the catalogue"
PASSING = frozenset({OVERLOADED, 502, 503, 504})  # statuses of temporary failures
BLOCKED = "cluster_block_exception"
FULL = ("flood-stage", "read-only / allow delete", "disk usage exceeded")
_REFUSED = {
    401: "check the user in index.url and the variable OPENSEARCH_PASSWORD",
    403: "the user in index.url lacks a right; docs/opensearch.md lists those it needs",
    413: "raise http.max_content_length of the cluster",
}


def status_of(error: OpenSearchException) -> int:
    """The HTTP status of the answer; 0 without an answer."""
    status = error.status_code if isinstance(error, TransportError) else 0
    return status if isinstance(status, int) else 0


def error_message(error: OpenSearchException) -> str:
    """The cluster's message about an error, in one line."""
    if not isinstance(error, TransportError):
        return str(error)
    reason = _reason(error.info) if len(error.args) > 2 else ""
    return " ".join((reason or str(error.error)).split())[:300]


def _reason(info: Any) -> str:
    """The root cause in an answer; its first lines only say that something failed."""
    details = info.get("error", info) if isinstance(info, dict) else info
    if not isinstance(details, dict):
        return str(details or "")
    for cause in (*details.get("root_cause", ()), details):
        if cause.get("reason"):
            return f"{cause.get('type', '')}: {cause['reason']}"
    return str(details.get("failures") or details.get("type") or "")


def is_full(reason: str) -> bool:
    """Whether the reason is a node's full disk."""
    return any(word in reason for word in FULL)


def is_write_block(status: int, reason: str) -> bool:
    """Whether the index refuses writes because it is being copied."""
    return status == 403 and BLOCKED in reason and not is_full(reason)


def store_error(action: str, error: OpenSearchException, where: str) -> StoreError:
    """Convert the client's error to the StoreError to raise."""
    if isinstance(error, ConnectionTimeout):
        return StoreError(
            f"could not {action}: OpenSearch at {where} took too long to answer",
            hint="try again; if it persists, the cluster is too small or 'timeout=' too short",
            retryable=True,
        )
    if isinstance(error, NoConnection):
        cause = " ".join(str(error.info).split())[:300]
        return StoreError(
            f"could not {action}: OpenSearch at {where} cannot be reached: {cause}",
            hint="check that it is running, and check index.url",
            retryable="certificate" not in cause.lower(),
        )
    return refusal(action, status_of(error), error_message(error), where)


def refusal(action: str, status: int, reason: str, where: str) -> StoreError:
    """Return the error for an answer with this status, or for an item of a bulk answer."""
    if is_full(reason):
        return StoreError(
            f"could not {action}: a disk of OpenSearch at {where} is full",
            hint="free disk space or add a node; it then accepts writes again by itself",
            retryable=True,
        )
    if status in PASSING:
        return StoreError(
            f"could not {action}: OpenSearch at {where} is overloaded or lacks a node: {reason}",
            hint="try again; if it persists, check the cluster's health",
            retryable=True,
        )
    if status == 404 and "index_not_found" in reason:
        return DamageError(
            f"could not {action}: OpenSearch at {where} no longer has the index", hint=REBUILD_HINT
        )
    if is_write_block(status, reason):
        return StoreError(
            f"could not {action}: the index is being copied, or a purge of it was interrupted",
            hint="try again, or run 'wellread verify --repair'",
            retryable=True,
        )
    return StoreError(
        f"could not {action}: OpenSearch at {where} refused ({status}): {reason}",
        hint=_REFUSED.get(status, "docs/opensearch.md lists what the cluster needs"),
    )


SCHEMES = {"opensearch+http": "http", "opensearch+https": "https"}
PORT = 9200
BASE = "wellread"
FORM = "opensearch+https://user@host:9200,other:9200/base"
MAX_SHARDS = 1_024
_BASE = re.compile(r"[a-z][a-z0-9_-]{0,60}")
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d+))?")


class _Options(BaseModel, extra="forbid", frozen=True):
    """The options of an address, for indexes created in the cluster and for calls."""

    shards: int = Field(default=1, ge=1, le=MAX_SHARDS)
    replicas: int | None = Field(default=None, ge=0, le=MAX_SHARDS)
    timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    ca: FilePath | None = None


class ClusterAddress(_Options):
    """The hosts and login of a cluster, with the options of the address."""

    hosts: tuple[str, ...]
    user: str
    password: str = Field(repr=False)
    base: str

    def __str__(self) -> str:
        return ", ".join(self.hosts)


def read_address(service: ServiceAddress) -> ClusterAddress:
    """Parse the address of a cluster; raise SettingsError when it is invalid."""
    url = urlsplit(service.url)
    login, _, host_list = url.netloc.rpartition("@")
    if ":" in login:
        raise _url_error("contains a password", "put it into OPENSEARCH_PASSWORD")
    hosts = tuple(_host(SCHEMES.get(url.scheme, ""), host) for host in host_list.split(","))
    user, base = unquote(login), url.path.strip("/") or BASE
    if not _BASE.fullmatch(base):
        raise _url_error(f"has the base {base!r}", "use only lower-case letters, digits, - and _")
    if service.password and not user:
        raise _url_error("names no user, but a password is set", f"write it as {FORM}")
    return ClusterAddress(
        hosts=hosts,
        user=user,
        password=service.password,
        base=f"{base}-{service.base}",
        **_options(url.query),
    )


def _host(scheme: str, address: str) -> str:
    if not scheme:
        raise _url_error("begins with another scheme", f"write it as {FORM}")
    match = _HOST.fullmatch(address)
    if match is None:
        raise _url_error(f"names the host {address!r}", f"write it as {FORM}")
    return f"{scheme}://{match[1]}:{match[2] or PORT}"


def _options(query: str) -> dict[str, Any]:
    try:
        return _Options(**dict(parse_qsl(query, keep_blank_values=True))).model_dump()
    except ValidationError as error:
        fault = error.errors()[0]
        hint = f"the options are: {', '.join(_Options.model_fields)}"
        wrong = f"{fault['loc'][0]}={fault['input']}: {invalid_value(fault, 'it')}"
        raise _url_error(f"has {wrong}", hint) from None


def _url_error(problem: str, hint: str) -> SettingsError:
    return SettingsError(f"index.url {problem}", hint=hint)


THREADS = 32  # connections in the pool
RETRY_SECONDS = 60.0  # seconds of retries after the first failure
FIRST_PAUSE, MAX_PAUSE = 0.1, 5.0  # seconds
# A call may meet an index that is just being replaced, a node that has not heard of it yet (404),
# or a node that just died (500).
ONCE_MORE = frozenset({404, 500})
EXTRA_TRIES = 7  # some five seconds; a busy node was half a second behind

Call = Callable[[OpenSearch], Any]


def pause(seconds: float) -> None:
    """Wait; tests replace this."""
    time.sleep(seconds)


class Cluster:
    """A client of one cluster. Thread-safe."""

    def __init__(self, address: ClusterAddress) -> None:
        self.address = address
        secure = address.hosts[0].startswith("https")
        self._client = OpenSearch(
            hosts=list(address.hosts),
            http_auth=(address.user, address.password) if address.user else None,
            use_ssl=secure,
            verify_certs=secure,
            ca_certs=str(address.ca) if address.ca else None,
            timeout=address.timeout,
            pool_maxsize=THREADS,
            max_retries=len(address.hosts),
            retry_on_timeout=len(address.hosts) > 1,
            retry_on_status=(),
        )

    def ask(
        self, action: str, api: str, *, longest: float = RETRY_SECONDS, **arguments: Any
    ) -> Any:
        """Call one function of the client's interface, such as ``indices.refresh``, by ``run``."""
        return self.run(
            action, lambda client: attrgetter(api)(client)(**arguments), longest=longest
        )

    def run(self, action: str, call: Call, *, longest: float = RETRY_SECONDS) -> Any:
        """Run ``call`` with retries of temporary failures, and return its result."""
        waited, extra, pause_seconds = 0.0, 0, FIRST_PAUSE / 2
        while True:
            try:
                return call(self._client)
            except OpenSearchException as error:
                extra += status_of(error) in ONCE_MORE
                pause_seconds = min(pause_seconds * 2, MAX_PAUSE)
                # Many writers that were refused together must not retry together.
                length = pause_seconds * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
                if not _is_temporary(error, extra) or waited + length > longest:
                    raise store_error(action, error, str(self.address)) from error
            waited += length
            pause(length)


def _is_temporary(error: OpenSearchException, extra: int) -> bool:
    if isinstance(error, ConnectionTimeout):
        return False  # every node timed out
    if isinstance(error, NoConnection):
        return "certificate" not in str(error.info).lower()
    status = status_of(error)
    if status in PASSING:
        return not is_full(error_message(error))
    return status in ONCE_MORE and extra < EXTRA_TRIES


@lru_cache(maxsize=8)
def cluster_of(address: ClusterAddress) -> Cluster:
    """Return the client of ``address``, shared by the whole process."""
    return Cluster(address)
