"""What the cluster refuses or fails at, as StoreError that says whether to try again."""

from __future__ import annotations

from typing import Any

from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, TransportError

from wellread.errors import DamageError, StoreError

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
