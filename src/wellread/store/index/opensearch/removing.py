"""Removes rows by a query, and counts them."""

from __future__ import annotations

from collections.abc import Callable

from opensearchpy.exceptions import OpenSearchException

from wellread.errors import StoreError
from wellread.store.index.opensearch.bulk_writes import NO_INDEX, IndexMovedError
from wellread.store.index.opensearch.cluster import Cluster
from wellread.store.index.opensearch.cluster_errors import is_write_block, status_of, told_by
from wellread.store.index.opensearch.passage_queries import Query

DOING = "remove from the index"
ROUNDS = 5  # rows that somebody writes meanwhile are removed in the next one
SECONDS = 600  # that one removal may take


def remove_editions(cluster: Cluster, name: str, query: Query, mark: Callable[[], None]) -> int:
    """Remove what ``query`` finds in the index ``name``; how many rows went.

    Args:
        mark: is called before the first row goes.

    Raises:
        IndexMovedError: the index is being copied, or was replaced.
        StoreError: some rows may be left.
    """
    removed = 0
    for _ in range(ROUNDS):
        if not _there(cluster, name, query):
            return removed
        mark()
        removed += _remove(cluster, name, query)
    raise StoreError(
        f"could not {DOING}: somebody keeps writing the same rows", hint="try again", retryable=True
    )


def _there(cluster: Cluster, name: str, query: Query) -> int:
    """How many rows there are, with those that an unfinished write left unrefreshed."""
    try:
        cluster.run(DOING, lambda client: client.indices.refresh(index=name))
        told = cluster.run(DOING, lambda client: client.count(index=name, body={"query": query}))
    except StoreError as error:
        _raise_if_moved(error)
        raise
    return int(told["count"])


def _remove(cluster: Cluster, name: str, query: Query) -> int:
    params = {"conflicts": "proceed", "refresh": "true", "request_timeout": SECONDS}
    try:
        told = cluster.run(
            DOING,
            lambda client: client.delete_by_query(index=name, body={"query": query}, params=params),
        )
    except StoreError as error:
        _raise_if_moved(error)
        raise
    return int(told["deleted"])


def _raise_if_moved(error: StoreError) -> None:
    cause = error.__cause__
    if isinstance(cause, OpenSearchException):
        status, reason = status_of(cause), told_by(cause)
        if NO_INDEX in reason or is_write_block(status, reason):
            raise IndexMovedError(reason) from error
