"""The index on a cluster: BM25 and vectors of its Lucene engine, ranked as the embedded one does.

Few rows (or few that a filter leaves) are compared one by one, so that none is missed; of more the
graph of the vectors is searched. Rows are told apart by ``_id``, so that what was sent twice is
there once. A call that changes rows tells the index first, where it may replace or remove some
(``purged``), and is repeated where the index was replaced meanwhile (``index_copies``).

A bulk call is not all or nothing: every item of its answer is looked at. What the cluster had no
room for is sent again after a pause that grows, so that a writer slows down to what it can take.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException

from wellread.errors import SettingsError, StoreError
from wellread.store.base import Fingerprint, HeldRow, IndexKey, IndexRow, ServiceAddress
from wellread.store.index.opensearch import cluster as calls
from wellread.store.index.opensearch.cluster import (
    PASSING,
    Cluster,
    cluster_of,
    is_full,
    is_write_block,
    read_address,
    refusal,
    status_of,
    told_by,
)
from wellread.store.index.opensearch.index_copies import (
    PURGED,
    Standing,
    alias_of,
    all_named,
    behind,
    drop,
    make,
    note,
    replace_by_copy,
    standing,
    wait_for_copy,
)
from wellread.store.index.opensearch.passage_queries import (
    KEY,
    MOST_RESULTS,
    TIE_SLACK,
    VECTOR,
    Query,
    clean,
    cosine,
    counting,
    editions,
    every,
    held_rows,
    keys,
    limits,
    nearest,
    numbers,
    ranking,
    to_document,
    words,
)
from wellread.store.row_values import (
    check_question,
    check_shape,
    edition,
    last_places,
    ranked,
    to_index_key,
    unit,
)
from wellread.types import Candidate, Filters

MOST_BYTES = 4 << 20  # of one call
LONGEST = 300.0  # seconds that the same rows are tried
CONFLICT = 409
GONE = 404
NO_INDEX = "index_not_found"


class IndexMovedError(Exception):
    """The rows were meant for an index that is being copied, or that was replaced meanwhile."""


def putting(known: str, document: dict[str, Any]) -> bytes:
    """The lines of a bulk call that put a row in place of what has its id."""
    return _line({"index": {"_id": known}}) + _line(document)


def changing(known: str, fields: dict[str, Any]) -> bytes:
    """The lines of a bulk call that give a row these fields, where it is there."""
    return _line({"update": {"_id": known, "retry_on_conflict": 3}}) + _line({"doc": fields})


def write_all(cluster: Cluster, alias: str, actions: Iterable[bytes], action: str) -> None:
    """Write the rows; when it returns, both searches find them."""
    pieces = list(_pieces(actions))
    for piece in pieces:
        # A refresh takes in the shards that a call wrote to; of several calls it comes after all.
        _write(cluster, alias, piece, action, refresh=len(pieces) == 1)
    if len(pieces) > 1:
        cluster.run(action, lambda client: client.indices.refresh(index=alias))


def _write(
    cluster: Cluster, alias: str, piece: Sequence[bytes], action: str, *, refresh: bool
) -> None:
    """Write one call's rows, again and again those that there was no room for."""
    left, waited, following = list(piece), 0.0, calls.pauses()
    while left:
        body = b"".join(left)
        answer = _send(cluster, alias, body, action, refresh=refresh)
        left, reason = _refused(left, answer, action, str(cluster.address))
        if not left:
            return
        length = following()
        if waited + length > LONGEST:
            raise StoreError(
                f"could not {action}: OpenSearch had no room for {len(left)} of {len(piece)} rows "
                f"for {LONGEST:.0f} seconds: {reason}",
                hint="try again; where it stays so, the cluster is too small",
                retryable=True,
            )
        waited += length
        calls.pause(length)


def _send(cluster: Cluster, alias: str, body: bytes, action: str, *, refresh: bool) -> Any:
    params = {"require_alias": "true", "refresh": "true" if refresh else "false"}
    return cluster.run(
        action,
        lambda client: client.bulk(index=alias, body=body, params=params),
        longest=LONGEST,
    )


def _refused(
    sent: Sequence[bytes], answer: Any, action: str, where: str
) -> tuple[list[bytes], str]:
    """The rows to be sent again, and why; the first one that never will go raises."""
    if not answer["errors"]:
        return [], ""
    again, why = [], ""
    for one, item in zip(sent, answer["items"], strict=True):
        ((kind, result),) = item.items()
        status = result["status"]
        if status < 300:
            continue
        told = result.get("error") or {}
        reason = f"{told.get('type', '')}: {told.get('reason', '')}"
        if NO_INDEX in reason or is_write_block(status, reason):
            raise IndexMovedError(reason)
        if kind == "update" and status == GONE:
            continue  # its passage was removed meanwhile
        if status not in {*PASSING, CONFLICT} or is_full(reason):
            raise refusal(action, status, reason, where)
        again.append(one)
        why = reason
    return again, why


def _pieces(actions: Iterable[bytes]) -> Iterator[list[bytes]]:
    piece: list[bytes] = []
    size = 0
    for action in actions:
        if piece and size + len(action) > MOST_BYTES:
            yield piece
            piece, size = [], 0
        piece.append(action)
        size += len(action)
    if piece:
        yield piece


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


DOING = "remove from the index"
ROUNDS = 5  # rows that somebody writes meanwhile are removed in the next one
SECONDS = 600  # that one removal may take


def remove_editions(cluster: Cluster, name: str, query: Query, mark: Callable[[], None]) -> int:
    """Remove what ``query`` finds in the index ``name``; how many rows went."""
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


EXACT_ROWS = 5_000  # up to which all are compared
LEAST_K = 100  # the graph finds too few of the nearest where it looks for few
MOST_K = 10_000
REMOVE_AT_ONCE = 500
LOOK_AT_ONCE = 1_000

T = TypeVar("T")


class OpenSearchIndex:
    """``store.base.KeptIndex`` on one cluster. Open it once; threads may share it.

    The class is the ``store.base.IndexBackend`` of addresses.
    """

    def __init__(self, cluster: Cluster, alias: str, fingerprint: Fingerprint) -> None:
        self._cluster = cluster
        self._alias = alias
        self._fingerprint = fingerprint

    @classmethod
    def open(cls, place: ServiceAddress, fingerprint: Fingerprint) -> OpenSearchIndex:
        """See ``IndexBackend.open``."""
        cluster = _cluster(place)
        alias = alias_of(cluster.address.base, fingerprint)
        if behind(cluster, alias) is None:
            make(cluster, alias, fingerprint)
        return cls(cluster, alias, fingerprint)

    @classmethod
    def others(cls, place: ServiceAddress, *keep: Fingerprint) -> list[str]:
        """See ``IndexBackend.others``."""
        cluster = _cluster(place)
        base = cluster.address.base
        kept = {alias_of(base, fingerprint) for fingerprint in keep}
        there = all_named(cluster, base).items()
        return sorted(name for name, about in there if not kept & about.get("aliases", {}).keys())

    @classmethod
    def set_aside(cls, place: ServiceAddress, fingerprint: Fingerprint) -> None:
        """See ``IndexBackend.set_aside``: the index stays without its alias."""
        cluster = _cluster(place)
        alias = alias_of(cluster.address.base, fingerprint)
        found = behind(cluster, alias)
        if found is not None:
            cluster.run(
                "set the index aside",
                lambda client: client.indices.delete_alias(index=found.name, name=alias),
            )

    @classmethod
    def drop_others(cls, place: ServiceAddress, *keep: Fingerprint) -> list[str]:
        """See ``IndexBackend.drop_others``."""
        names = cls.others(place, *keep)
        drop(_cluster(place), names)
        return names

    # --- writing ---

    def write(self, rows: Sequence[IndexRow], vectors: NDArray[np.float32] | None) -> None:
        """See ``Index.write``."""
        if vectors is not None:
            check_shape(vectors, len(rows), self._fingerprint.dimensions)
        units = None if vectors is None else unit(vectors)
        places = last_places(row.passage_id for row in rows)
        if not places:
            return
        known = [clean(rows[place].passage_id) for place in places]
        actions = [
            putting(one, to_document(rows[place], None if units is None else units[place]))
            for one, place in zip(known, places, strict=True)
        ]

        def run(there: Standing) -> None:
            if there.purged and self._any_of(there, known):
                self._mark(there)
            write_all(self._cluster, there.writing, actions, "write to the index")

        self._changing(run)

    def set_vectors(self, passage_ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """See ``Index.set_vectors``."""
        check_shape(vectors, len(passage_ids), self._fingerprint.dimensions)
        units = unit(vectors)
        actions = [
            changing(clean(passage_ids[place]), {VECTOR: numbers(units[place])})
            for place in last_places(passage_ids)
        ]
        if actions:
            doing = "write vectors to the index"
            self._changing(lambda there: write_all(self._cluster, there.writing, actions, doing))

    def remove(self, keys: Sequence[tuple[str, str]]) -> int:
        """See ``Index.remove``."""
        named = [edition(document_id, version) for document_id, version in dict.fromkeys(keys)]
        removed = 0
        for first in range(0, len(named), REMOVE_AT_ONCE):
            query = editions(named[first : first + REMOVE_AT_ONCE])
            removed += self._changing(partial(self._remove, query))
        return removed

    def _remove(self, query: Query, there: Standing) -> int:
        def mark() -> None:
            if there.purged:
                self._mark(there)

        return remove_editions(self._cluster, there.name, query, mark)

    def _changing(self, change: Callable[[Standing], T]) -> T:
        """Do ``change`` to the index that is in use, again where another took its place."""
        while True:
            try:
                return change(standing(self._cluster, self._alias))
            except IndexMovedError:
                wait_for_copy(self._cluster, self._alias)

    def _any_of(self, there: Standing, known: Sequence[str]) -> bool:
        """Whether the index has any of these ids; also what was not refreshed yet."""
        for first in range(0, len(known), LOOK_AT_ONCE):
            look = partial(_look_up, there.name, known[first : first + LOOK_AT_ONCE])
            found = self._cluster.run("look rows up", look)
            if any(row.get("found") for row in found["docs"]):
                return True
        return False

    def _mark(self, there: Standing) -> None:
        note(self._cluster, there.name, {**there.meta, PURGED: False})

    # --- searching ---

    def search_text(
        self, query: str, filters: Filters, limit: int, *, differences: int = 0
    ) -> list[Candidate]:
        """See ``Index.search_text``."""
        if limit < 1 or not query.strip():
            return []
        asked = words(query, limits(filters), differences)
        keys, scores = self._search("search the index by words", asked, limit)
        return ranked(keys, scores, limit)

    def search_vector(
        self, vector: NDArray[np.float32], filters: Filters, limit: int
    ) -> list[Candidate]:
        """See ``Index.search_vector``; exact where few rows are to be compared."""
        check_question(vector, self._fingerprint.dimensions)
        if limit < 1:
            return []
        wanted, clauses, doing = unit(vector), limits(filters), "search the index by vector"
        k = max(limit + TIE_SLACK, LEAST_K)
        if k > MOST_K or self._rows_with_vector(clauses) <= EXACT_ROWS:
            asked = every(wanted, clauses)
        else:
            asked = nearest(wanted, clauses, k)
        keys, scores = self._search(doing, asked, limit)
        return ranked(keys, [cosine(score) for score in scores], limit)

    def _search(self, action: str, query: Query, limit: int) -> tuple[list[str], list[float]]:
        body = ranking(query, min(limit, MOST_RESULTS))
        # The same question goes to the same copies, whose counts of removed words may differ.
        asked = hashlib.blake2b(str(query).encode("utf-8", "replace"), digest_size=8).hexdigest()
        params = {
            "search_type": "dfs_query_then_fetch",  # words are counted over all shards
            "allow_partial_search_results": "false",
            "preference": asked,
        }
        hits = self._cluster.run(
            action, lambda client: client.search(index=self._alias, body=body, params=params)
        )["hits"]["hits"]
        return [hit["fields"][KEY][0] for hit in hits], [hit["_score"] for hit in hits]

    def _rows_with_vector(self, clauses: list[Query]) -> int:
        """How many rows there are to compare, counted a little beyond ``EXACT_ROWS`` only."""
        body = counting(clauses, EXACT_ROWS + 1)
        params = {"allow_partial_search_results": "false"}
        found = self._cluster.run(
            "count rows of the index",
            lambda client: client.search(index=self._alias, body=body, params=params),
        )
        return int(found["hits"]["total"]["value"])

    def rows(self) -> int:
        """See ``Index.rows``."""
        told: Any = self._cluster.run(
            "count the rows of the index", lambda client: client.count(index=self._alias)
        )
        return int(told["count"])

    # --- keeping whole ---

    def keys(self) -> Iterator[IndexKey]:
        """See ``Maintenance.keys``."""
        return map(to_index_key, keys(self._cluster, self._alias))

    def held(self) -> Iterator[HeldRow]:
        """See ``Maintenance.held``; the cluster's own checksums keep vectors from damage."""
        return held_rows(self._cluster, self._alias)

    def optimize(self) -> None:
        """See ``Maintenance.optimize``: the cluster merges by itself, so rows are made visible."""
        self._cluster.run(
            "refresh the index", lambda client: client.indices.refresh(index=self._alias)
        )

    def rebuild(self) -> None:
        """See ``Maintenance.rebuild``: a copy of the rows takes the place of the index."""
        replace_by_copy(self._cluster, self._alias, self._fingerprint)

    def purge(self) -> None:
        """See ``Maintenance.purge``; what nodes that are down and snapshots hold stays there."""
        if not self.purged():
            self.rebuild()

    def purged(self) -> bool:
        """See ``Maintenance.purged``."""
        return standing(self._cluster, self._alias).purged


def _cluster(place: ServiceAddress | Path) -> Cluster:
    if isinstance(place, Path):
        raise SettingsError(
            "the index is kept in OpenSearch, and no address of a cluster is set",
            hint="set index.url, as in opensearch+https://user@host:9200, or make the index anew "
            "in the home with 'wellread reindex' (docs/opensearch.md)",
        )
    return cluster_of(read_address(place))


def _look_up(name: str, known: Sequence[str], client: OpenSearch) -> Any:
    return client.mget(index=name, body={"ids": list(known)}, params={"_source": "false"})
