"""The passage index in OpenSearch: BM25 and vector search, ranked like the embedded index.

Vector search compares a small number of rows (after the filters) exactly, and searches the vector
graph for more. The ``_id`` identifies a row, so that a row sent twice is stored once. A call that
may replace or remove rows first clears the ``purged`` flag of the index, and is repeated when the
index was replaced meanwhile (``index_copies``).

A bulk call is not all or nothing: every item of its answer is checked. Rows that the cluster was
too busy for are sent again after a growing pause (``Cluster.run``), so that writers slow down.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException, TransportError

from wellread.errors import SettingsError, StoreError
from wellread.store.base import Fingerprint, Floats, HeldRow, IndexKey, IndexRow, ServiceAddress
from wellread.store.index.opensearch.cluster import (
    OVERLOADED,
    PASSING,
    Cluster,
    cluster_of,
    error_message,
    is_full,
    is_write_block,
    read_address,
    status_of,
)
from wellread.store.index.opensearch.index_copies import (
    PURGED,
    AliasTarget,
    alias_of,
    drop,
    index_of_alias,
    indexes_of_base,
    make,
    replace_by_copy,
    require_index_of_alias,
    store_meta,
    wait_for_copy,
)
from wellread.store.index.opensearch.passage_queries import (
    KEY,
    MAX_RESULTS,
    TIE_SLACK,
    VECTOR,
    Query,
    clean,
    cosine,
    editions,
    exact_search,
    held_rows,
    keys,
    limits,
    nearest,
    numbers,
    ranking,
    to_document,
    with_vector,
    words,
)
from wellread.store.row_values import (
    check_query_vector,
    check_shape,
    edition,
    last_positions,
    ranked,
    to_index_key,
    unit,
)
from wellread.types import Candidate, Filters

MAX_CALL_BYTES = 1 << 20  # size of one bulk call
CALLS_AT_ONCE = 4  # while one call waits for its further copy, others are worked on
RETRY_SECONDS = 300.0  # seconds of retries for the same rows
CONFLICT = 409
GONE = 404
NO_INDEX = "index_not_found"


def write_all(cluster: Cluster, alias: str, actions: Iterable[bytes], action: str) -> None:
    """Run the bulk actions, no two of one row; afterwards both searches find the rows."""
    batches = list(_batches(actions))
    if len(batches) == 1:  # refreshes only the shards it wrote to
        _write(cluster, alias, batches[0], action, refresh=True)
        return
    with ThreadPoolExecutor(CALLS_AT_ONCE) as senders:
        list(senders.map(lambda batch: _write(cluster, alias, batch, action), batches))
    cluster.ask(action, "indices.refresh", index=alias)


def _write(
    cluster: Cluster, alias: str, batch: Sequence[bytes], action: str, *, refresh: bool = False
) -> None:
    """Send one bulk call, and repeat it for the rows that the cluster was too busy for."""
    params = {"require_alias": "true", "refresh": "true" if refresh else "false"}
    unsent = list(batch)

    def send(client: OpenSearch) -> None:
        nonlocal unsent
        answer = client.bulk(index=alias, body=b"".join(unsent), params=params)
        unsent, reason = _refused(unsent, answer)
        if unsent:
            raise TransportError(OVERLOADED, reason, {})  # so that the call is repeated

    cluster.run(action, send, longest=RETRY_SECONDS)


def _refused(sent: Sequence[bytes], answer: Any) -> tuple[list[bytes], str]:
    """Return the actions to send again and the reason; raise on a permanent failure."""
    unsent, last_reason = [], ""
    for line, item in zip(sent, answer["items"], strict=True):
        ((kind, result),) = item.items()
        status = result["status"]
        details = result.get("error") or {}
        reason = f"{details.get('type', '')}: {details.get('reason', '')}"
        gone = kind == "update" and status == GONE and NO_INDEX not in reason
        if status < 300 or gone:  # the row to update was removed meanwhile
            continue
        if status not in {*PASSING, CONFLICT} or is_full(reason):
            raise TransportError(status, reason, {})
        unsent.append(line)
        last_reason = reason
    return unsent, last_reason


def _batches(actions: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for action in actions:
        if batch and size + len(action) > MAX_CALL_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(action)
        size += len(action)
    if batch:
        yield batch


def _lines(*values: dict[str, Any]) -> bytes:
    """Return the lines of one bulk action."""
    written = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)
    return "".join(f"{line}\n" for line in written).encode()


def _was_moved(error: StoreError) -> bool:
    """Whether the target index is being copied, or was replaced meanwhile."""
    cause = error.__cause__
    if not isinstance(cause, OpenSearchException):
        return False
    reason = error_message(cause)
    return NO_INDEX in reason or is_write_block(status_of(cause), reason)


REMOVING = "remove from the index"
REMOVE_SECONDS = 600  # timeout of one removal
EXACT_ROWS = 5_000  # most rows that are compared exactly
MIN_K = 100  # with a smaller k the graph misses too many of the nearest rows
MAX_K = 10_000
REMOVE_AT_ONCE = 500
LOOK_AT_ONCE = 1_000
ID_ONLY = {"_source": "false"}

T = TypeVar("T")


class OpenSearchIndex:
    """A ``store.base.KeptIndex`` in an OpenSearch cluster. Open it once; thread-safe.

    The class itself is the ``store.base.IndexBackend`` of addresses.
    """

    def __init__(self, cluster: Cluster, alias: str, fingerprint: Fingerprint) -> None:
        self._cluster = cluster
        self._alias = alias
        self._fingerprint = fingerprint

    @classmethod
    def open(cls, address: ServiceAddress, fingerprint: Fingerprint) -> OpenSearchIndex:
        """See ``IndexBackend.open``."""
        cluster = _cluster(address)
        alias = alias_of(cluster.address.base, fingerprint)
        if index_of_alias(cluster, alias) is None:
            make(cluster, alias, fingerprint)
        return cls(cluster, alias, fingerprint)

    @classmethod
    def others(cls, address: ServiceAddress, *keep: Fingerprint) -> list[str]:
        """See ``IndexBackend.others``."""
        cluster = _cluster(address)
        base = cluster.address.base
        used = {alias_of(base, fingerprint) for fingerprint in keep}
        indexes = indexes_of_base(cluster, base).items()
        return sorted(name for name, about in indexes if used.isdisjoint(about.get("aliases", {})))

    @classmethod
    def set_aside(cls, address: ServiceAddress, fingerprint: Fingerprint) -> None:
        """See ``IndexBackend.set_aside``; the index is kept without its alias."""
        cluster = _cluster(address)
        alias = alias_of(cluster.address.base, fingerprint)
        target = index_of_alias(cluster, alias)
        if target is not None:
            action = "set the index aside"
            cluster.ask(action, "indices.delete_alias", index=target.name, name=alias)

    @classmethod
    def drop_others(cls, address: ServiceAddress, *keep: Fingerprint) -> list[str]:
        """See ``IndexBackend.drop_others``."""
        names = cls.others(address, *keep)
        drop(_cluster(address), names)
        return names

    # --- writing ---

    def write(self, rows: Sequence[IndexRow], vectors: Floats | None) -> None:
        """See ``Index.write``."""
        if vectors is not None:
            check_shape(vectors, len(rows), self._fingerprint.dimensions)
        units = None if vectors is None else unit(vectors)
        positions = last_positions(row.passage_id for row in rows)
        if not positions:
            return
        row_ids = [clean(rows[position].passage_id) for position in positions]
        actions = [
            _lines(
                {"index": {"_id": row_id}},
                to_document(rows[position], None if units is None else units[position]),
            )
            for row_id, position in zip(row_ids, positions, strict=True)
        ]

        def run(target: AliasTarget) -> None:
            if target.purged and self._has_any(target, row_ids):
                store_meta(self._cluster, target.name, {**target.meta, PURGED: False})
            write_all(self._cluster, target.writing, actions, "write to the index")

        self._apply(run)

    def set_vectors(self, passage_ids: Sequence[str], vectors: Floats) -> None:
        """See ``Index.set_vectors``."""
        check_shape(vectors, len(passage_ids), self._fingerprint.dimensions)
        units = unit(vectors)
        actions = [
            _lines(
                {"update": {"_id": clean(passage_ids[position]), "retry_on_conflict": 3}},
                {"doc": {VECTOR: numbers(units[position])}},
            )
            for position in last_positions(passage_ids)
        ]
        if actions:
            action = "write vectors to the index"
            self._apply(lambda target: write_all(self._cluster, target.writing, actions, action))

    def remove(self, keys: Sequence[tuple[str, str]]) -> int:
        """See ``Index.remove``."""
        document_editions = [edition(*key) for key in dict.fromkeys(keys)]
        removed = 0
        for first in range(0, len(document_editions), REMOVE_AT_ONCE):
            query = editions(document_editions[first : first + REMOVE_AT_ONCE])
            removed += self._apply(partial(self._remove, query))
        return removed

    def _remove(self, query: Query, target: AliasTarget) -> int:
        name, ask = target.name, self._cluster.ask
        # An interrupted write may have left rows that no search sees yet.
        ask(REMOVING, "indices.refresh", index=name)
        if not ask(REMOVING, "count", index=name, body={"query": query})["count"]:
            return 0
        if target.purged:
            store_meta(self._cluster, target.name, {**target.meta, PURGED: False})
        params = {"conflicts": "proceed", "refresh": "true", "request_timeout": REMOVE_SECONDS}
        answer = ask(REMOVING, "delete_by_query", index=name, body={"query": query}, params=params)
        return int(answer["deleted"])

    def _apply(self, change: Callable[[AliasTarget], T]) -> T:
        """Apply ``change`` to the current index, and repeat it when the index was replaced."""
        while True:
            try:
                return change(require_index_of_alias(self._cluster, self._alias))
            except StoreError as error:
                if not _was_moved(error):
                    raise
                wait_for_copy(self._cluster, self._alias)

    def _has_any(self, target: AliasTarget, row_ids: Sequence[str]) -> bool:
        """Whether the index has any of these ids, including rows not refreshed yet."""
        look_up = partial(self._cluster.ask, "look rows up", "mget", index=target.name)
        for first in range(0, len(row_ids), LOOK_AT_ONCE):
            answer = look_up(body={"ids": row_ids[first : first + LOOK_AT_ONCE]}, params=ID_ONLY)
            if any(row.get("found") for row in answer["docs"]):
                return True
        return False

    # --- searching ---

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """See ``Index.search_text``."""
        if limit < 1 or not query.strip():
            return []
        search = words(query, limits(filters), differences)
        keys, scores = self._search("search the index by words", search, limit)
        return ranked(keys, scores, limit)

    def search_vector(self, vector: Floats, filters: Filters, limit: int) -> list[Candidate]:
        """See ``Index.search_vector``; exact for up to ``EXACT_ROWS`` rows."""
        check_query_vector(vector, self._fingerprint.dimensions)
        if limit < 1:
            return []
        unit_vector, clauses, action = unit(vector), limits(filters), "search the index by vector"
        k = max(limit + TIE_SLACK, MIN_K)
        enough = EXACT_ROWS + 1  # a shard need not count more
        if k > MAX_K or self._count(with_vector(clauses), terminate_after=enough) < enough:
            search = exact_search(unit_vector, clauses)
        else:
            search = nearest(unit_vector, clauses, k)
        keys, scores = self._search(action, search, limit)
        return ranked(keys, [cosine(score) for score in scores], limit)

    def _search(self, action: str, query: Query, limit: int) -> tuple[list[str], list[float]]:
        body = ranking(query, min(limit, MAX_RESULTS))
        # The same question goes to the same replicas: their word counts may differ.
        digest = hashlib.blake2b(str(query).encode("utf-8", "replace"), digest_size=8).hexdigest()
        params = {
            "search_type": "dfs_query_then_fetch",  # words are counted over all shards
            "allow_partial_search_results": "false",
            "preference": digest,
        }
        answer = self._cluster.ask(action, "search", index=self._alias, body=body, params=params)
        hits = answer["hits"]["hits"]
        return [hit["fields"][KEY][0] for hit in hits], [hit["_score"] for hit in hits]

    def _count(self, query: Query, **params: int) -> int:
        body, action = {"query": query}, "count the rows of the index"
        answer = self._cluster.ask(action, "count", index=self._alias, body=body, params=params)
        return int(answer["count"])

    def rows(self) -> int:
        """See ``Index.rows``."""
        return self._count({"match_all": {}})

    # --- maintenance ---

    def keys(self) -> Iterator[IndexKey]:
        """See ``Maintenance.keys``."""
        return map(to_index_key, keys(self._cluster, self._alias))

    def held(self) -> Iterator[HeldRow]:
        """See ``Maintenance.held``; the cluster's own checksums detect damaged vectors."""
        return held_rows(self._cluster, self._alias)

    def optimize(self) -> None:
        """See ``Maintenance.optimize``; only refreshes, because the cluster merges by itself."""
        self._cluster.ask("refresh the index", "indices.refresh", index=self._alias)

    def rebuild(self) -> None:
        """See ``Maintenance.rebuild``; a copy of the rows replaces the index."""
        replace_by_copy(self._cluster, self._alias, self._fingerprint)

    def purge(self) -> None:
        """See ``Maintenance.purge``; nodes that are down and snapshots keep their data."""
        if not self.purged():
            self.rebuild()

    def purged(self) -> bool:
        """See ``Maintenance.purged``."""
        return require_index_of_alias(self._cluster, self._alias).purged


def _cluster(address: ServiceAddress | Path) -> Cluster:
    if isinstance(address, Path):
        raise SettingsError(
            "the index is in OpenSearch, but the address of the cluster is not set",
            hint="set index.url, as in opensearch+https://user@host:9200, or rebuild the index in "
            "the home with 'wellread reindex' (docs/opensearch.md)",
        )
    return cluster_of(read_address(address))
