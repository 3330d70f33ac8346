"""Writes many rows at once, as fast as the cluster takes them.

A bulk call is not all or nothing: every item of its answer is looked at. What the cluster had no
room for is sent again after a pause that grows, so that a writer slows down to what it can take.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wellread.errors import StoreError
from wellread.store.index.opensearch import cluster as calls
from wellread.store.index.opensearch.cluster import Cluster
from wellread.store.index.opensearch.cluster_errors import (
    PASSING,
    is_full,
    is_write_block,
    refusal,
)

MOST_BYTES = 4 << 20  # of one call
LONGEST = 300.0  # seconds that the same rows are tried
CONFLICT = 409
GONE = 404
NO_INDEX = "index_not_found"


class IndexMovedError(Exception):
    """The rows were meant for an index that is being copied, or that was replaced meanwhile."""


@dataclass(frozen=True, slots=True)
class Action:
    """One row to be written, as two lines of a bulk call."""

    lines: bytes

    @classmethod
    def writing(cls, known: str, document: dict[str, Any]) -> Action:
        """Put the row in place of what has its id."""
        return cls(_line({"index": {"_id": known}}) + _line(document))

    @classmethod
    def changing(cls, known: str, fields: dict[str, Any]) -> Action:
        """Give the row these fields, where it is there."""
        return cls(
            _line({"update": {"_id": known, "retry_on_conflict": 3}}) + _line({"doc": fields})
        )


def write_all(cluster: Cluster, alias: str, actions: Iterable[Action], action: str) -> None:
    """Write the rows; when it returns, both searches find them.

    Args:
        alias: of the one index that the rows are meant for.
        action: what is being done, for messages.

    Raises:
        IndexMovedError: some may be written; ask again where the index is, and repeat.
        StoreError: some may be written.
    """
    pieces = list(_pieces(actions))
    for piece in pieces:
        # A refresh takes in the shards that a call wrote to; of several calls it comes after all.
        _write(cluster, alias, piece, action, refresh=len(pieces) == 1)
    if len(pieces) > 1:
        cluster.run(action, lambda client: client.indices.refresh(index=alias))


def _write(
    cluster: Cluster, alias: str, piece: Sequence[Action], action: str, *, refresh: bool
) -> None:
    """Write one call's rows, again and again those that there was no room for."""
    left, waited, following = list(piece), 0.0, calls.pauses()
    while left:
        body = b"".join(one.lines for one in left)
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
    sent: Sequence[Action], answer: Any, action: str, where: str
) -> tuple[list[Action], str]:
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


def _pieces(actions: Iterable[Action]) -> Iterator[list[Action]]:
    piece: list[Action] = []
    size = 0
    for action in actions:
        if piece and size + len(action.lines) > MOST_BYTES:
            yield piece
            piece, size = [], 0
        piece.append(action)
        size += len(action.lines)
    if piece:
        yield piece


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
