"""Reads every row back, page by page, as the index was when it began."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wellread.errors import StoreError
from wellread.store.base import HeldRow
from wellread.store.index.opensearch.cluster import Cluster
from wellread.store.index.opensearch.passage_mapping import ID, KEY, TEXT, VECTOR
from wellread.store.row_values import unpack

KEYS_AT_ONCE = 5_000
ROWS_AT_ONCE = 500
KEPT = "5m"  # how long the cluster keeps the view between two pages
NEW_VIEWS = 3
HAS_VECTOR = "has_vector"

Hit = dict[str, Any]


def keys(cluster: Cluster, alias: str) -> Iterator[str]:
    """The packed key of every row."""
    body = {
        "size": KEYS_AT_ONCE,
        "query": {"match_all": {}},
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": [KEY],
    }
    for hit in _pages(cluster, alias, body, "list the index"):
        yield hit["fields"][KEY][0]


def held_rows(cluster: Cluster, alias: str) -> Iterator[HeldRow]:
    """Every row, as it is compared with what should be there."""
    there = {"exists": {"field": VECTOR, "_name": HAS_VECTOR}}
    body = {
        "size": ROWS_AT_ONCE,
        "query": {"bool": {"must": [{"match_all": {}}], "should": [there]}},
        "_source": [TEXT, "collection"],
        "docvalue_fields": [KEY],
    }
    for hit in _pages(cluster, alias, body, "read the index"):
        passage_id, document_id, version, start, end = unpack(hit["fields"][KEY][0])
        kept = hit["_source"]
        vector = HAS_VECTOR in hit.get("matched_queries", ())
        place = (passage_id, document_id, version, start, end)
        yield HeldRow(*place, kept["collection"], kept[TEXT], vector)


def _pages(cluster: Cluster, alias: str, body: Hit, action: str) -> Iterator[Hit]:
    """All hits in the order of their ids. A view that goes with its node is opened anew."""
    view, after, renewed = _opened(cluster, alias, action), None, 0
    try:
        while True:
            asked = {**body, "sort": [{ID: "asc"}], "pit": {"id": view, "keep_alive": KEPT}}
            if after is not None:
                asked["search_after"] = after
            try:
                answer = _page(cluster, asked, action)
            except StoreError:
                renewed += 1
                if renewed > NEW_VIEWS:
                    raise
                view = _opened(cluster, alias, action)
                continue
            view = answer["pit_id"]
            hits = answer["hits"]["hits"]
            if not hits:
                return
            yield from hits
            after = hits[-1]["sort"]
    finally:
        _close(cluster, view)


def _page(cluster: Cluster, body: Hit, action: str) -> Any:
    params = {"allow_partial_search_results": "false"}
    return cluster.run(action, lambda client: client.search(body=body, params=params), longest=5.0)


def _opened(cluster: Cluster, alias: str, action: str) -> str:
    made = cluster.run(
        action,
        lambda client: client.create_pit(
            index=alias, params={"keep_alive": KEPT, "allow_partial_pit_creation": "false"}
        ),
    )
    return str(made["pit_id"])


def _close(cluster: Cluster, view: str) -> None:
    cluster.run(
        "let go of a view of the index",
        lambda client: client.delete_pit(body={"pit_id": [view]}, params={"ignore": 404}),
    )
