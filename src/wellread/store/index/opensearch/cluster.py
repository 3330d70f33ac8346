"""Calls to a cluster: one pool of connections per process, tried again when that may help.

A node that dies is found out by a call that fails on it; the client then asks another one and
leaves the dead one alone for a while. What the cluster itself refuses for want of room or time
(429, 502, 503, 504) is asked again after a pause that grows. A search that lacks a shard is a
failed one here: half of the rows would look like all of them.

Every call that changes rows names them by their ids, so a repeated one does no harm.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException

from wellread.store.index.opensearch.cluster_address import ClusterAddress
from wellread.store.index.opensearch.cluster_errors import PASSING, status_of, store_error

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
        """What ``call`` gives, tried again where that may help.

        Args:
            action: what is being done, for messages ("search the index by words").
            longest: seconds of further tries.

        Raises:
            StoreError: it failed for good.
        """
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
