"""Replaces an OpenSearch index by a fresh copy of its live rows, behind an alias.

This erases removed text from the disks, because its files are deleted with the old index. (Merging
would keep the text until every copy of a shard drops its history, when the cluster chooses to.)

Meanwhile the old index is searched but refuses writes, and writers wait. If the copying process
died, the first writer to notice that no copying is going on drops the copy and unblocks the index.
A process that was only slow then cannot switch to its copy: the last step fails without it.

Searches use an alias named after the fingerprint. The index behind it has a numbered name, so that
a copy can be built beside it and switched in by one step. Writers use a second alias that belongs
to the numbered index: writes to an index that was replaced meanwhile fail, and create nothing by
accident.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from wellread.errors import DamageError, StoreError
from wellread.store.base import Fingerprint
from wellread.store.index.opensearch import cluster as calls
from wellread.store.index.opensearch.cluster import REBUILD_HINT, Cluster
from wellread.store.index.opensearch.passage_queries import mapping, settings
from wellread.store.row_values import index_id

WRITING = "-rows"  # suffix of the alias that writers use
PURGED = "purged"
COPY_OF = "copy_of"
MADE_FOR = "made_for"


@dataclass(frozen=True, slots=True)
class AliasTarget:
    """The index behind an alias, with its ``_meta``."""

    name: str
    meta: dict[str, Any]

    @property
    def writing(self) -> str:
        """The alias that writers use."""
        return f"{self.name}{WRITING}"

    @property
    def purged(self) -> bool:
        """Whether nothing was removed or replaced since the last purge."""
        return bool(self.meta.get(PURGED))


def alias_of(base: str, fingerprint: Fingerprint) -> str:
    """Return the alias of the index with this ``fingerprint``."""
    return f"{base}-{index_id(fingerprint)}"


def index_of_alias(cluster: Cluster, alias: str) -> AliasTarget | None:
    """Return the index behind ``alias``, or None."""
    indexes = cluster.ask("look the index up", "indices.get", index=alias, params=_ABOUT)
    for name, about in indexes.items():
        if name == alias:
            raise StoreError(
                f"an index named {alias} occupies the name that Wellread uses as an alias",
                hint="another program wrote to that name; delete that index",
            )
        return AliasTarget(name, _meta(about))
    return None


_ABOUT = {"ignore_unavailable": "true", "filter_path": "*.aliases,*.mappings._meta"}


def require_index_of_alias(cluster: Cluster, alias: str) -> AliasTarget:
    """Return the index behind ``alias``; raise DamageError when it is missing."""
    target = index_of_alias(cluster, alias)
    if target is None:
        raise DamageError(
            f"OpenSearch at {cluster.address} no longer has the index {alias}", hint=REBUILD_HINT
        )
    return target


def make(cluster: Cluster, alias: str, fingerprint: Fingerprint) -> None:
    """Create an empty index behind ``alias``, unless another process does so first."""
    name = next_name(cluster, alias)
    body = {
        "settings": settings(cluster.address),
        "mappings": mapping(fingerprint, **{PURGED: True, MADE_FOR: fingerprint.embedder}),
        "aliases": {alias: {}, f"{name}{WRITING}": {}},
    }
    cluster.ask("make an index", "indices.create", index=name, body=body, params={"ignore": 400})
    if index_of_alias(cluster, alias) is None:
        cluster.ask("make an index", "indices.create", index=name, body=body)


def next_name(cluster: Cluster, alias: str) -> str:
    """Return the name of the next index behind ``alias``."""
    numbers = [int(name.rpartition("-")[2]) for name in indexes_of_alias(cluster, alias)]
    return f"{alias}-{max(numbers, default=0) + 1:06}"


def indexes_of_alias(cluster: Cluster, alias: str) -> dict[str, dict[str, Any]]:
    """All indexes ever created for ``alias``, with their aliases and ``_meta``."""
    return _matching(cluster, alias, r"\d{6,}")


def indexes_of_base(cluster: Cluster, base: str) -> dict[str, dict[str, Any]]:
    """All indexes of a base, for every fingerprint, with their aliases and ``_meta``."""
    return _matching(cluster, base, r"[0-9a-f]{12}-\d{6,}")


def _matching(cluster: Cluster, start: str, ending: str) -> dict[str, dict[str, Any]]:
    indexes = cluster.ask("list the indexes", "indices.get", index=f"{start}-*", params=_ABOUT)
    pattern = re.compile(rf"{re.escape(start)}-{ending}")
    return {name: about for name, about in indexes.items() if pattern.fullmatch(name)}


def drop(cluster: Cluster, names: Iterable[str]) -> None:
    """Drop these indexes; missing ones are ignored."""
    unless_missing = {"ignore_unavailable": "true"}
    for name in names:
        cluster.ask("drop an index", "indices.delete", index=name, params=unless_missing)


def store_meta(cluster: Cluster, name: str, meta: dict[str, Any]) -> None:
    """Store ``meta`` as the ``_meta`` of an index."""
    action, body = "record a change of the index", {"_meta": meta}
    cluster.ask(action, "indices.put_mapping", index=name, body=body)


logger = logging.getLogger(__name__)

ATTEMPTS = 3
ROWS_AT_ONCE = 500
LOOK_SECONDS = 0.5
WAIT_SECONDS = 900.0  # how long a writer waits for a copy to finish
DEAD_SECONDS = 300.0  # without copying activity, after which a copy counts as abandoned
DOING = "rebuild the index"
_NO_WRITES = "index.blocks.write"


def replace_by_copy(cluster: Cluster, alias: str, fingerprint: Fingerprint) -> None:
    """Replace the index behind ``alias`` by a copy of its live rows.

    A node that dies, or that is behind the others, makes a copy fail; it is then begun again.
    """
    for attempts_left in reversed(range(ATTEMPTS)):
        old = require_index_of_alias(cluster, alias)
        _drop_copies(cluster, alias, old.name)
        new, block = next_name(cluster, alias), f"/{old.name}/_block/write"
        cluster.ask(DOING, "transport.perform_request", method="PUT", url=block)
        try:
            _make_copy(cluster, old, new, fingerprint)
            _switch(cluster, alias, old.name, new)
            return
        except BaseException as error:
            unblock(cluster, alias, old.name)
            if not attempts_left or not isinstance(error, StoreError):
                raise


def _make_copy(cluster: Cluster, old: AliasTarget, new: str, fingerprint: Fingerprint) -> None:
    meta = {PURGED: True, MADE_FOR: fingerprint.embedder, COPY_OF: old.name}
    body = {"settings": settings(cluster.address), "mappings": mapping(fingerprint, **meta)}
    # There may be fewer nodes than copies. The client would take "timeout" if it had none itself.
    waiting = {"wait_for_active_shards": "all", "timeout": "5s", "request_timeout": 60}
    cluster.ask(DOING, "indices.create", index=new, body=body, params=waiting)
    cluster.ask(DOING, "indices.refresh", index=old.name)
    request = {
        "source": {"index": old.name, "size": ROWS_AT_ONCE},
        "dest": {"index": new, "op_type": "index"},
    }
    params = {"wait_for_completion": "false", "slices": "auto"}
    _follow(cluster, cluster.ask(DOING, "reindex", body=request, params=params)["task"])
    cluster.ask(DOING, "indices.refresh", index=new)
    rows, copied = _count(cluster, old.name), _count(cluster, new)
    about = cluster.ask(DOING, "indices.get", index=new, params=_ABOUT)[new]
    # The cluster makes a copy that was dropped meanwhile anew, without our mapping.
    given_up = COPY_OF not in _meta(about)
    if given_up or rows != copied:
        reason = "was given up meanwhile" if given_up else f"has {copied} of {rows} rows"
        raise _failed(f"the copy {reason}")


def _follow(cluster: Cluster, task: str) -> None:
    """Wait until the cluster has copied the rows."""
    while True:
        status = cluster.ask(DOING, "tasks.get", task_id=task)
        if status["completed"]:
            break
        calls.pause(LOOK_SECONDS)
    failures = status.get("error") or status.get("response", {}).get("failures")
    if failures:
        raise _failed(str(failures)[:300])


def _failed(reason: str) -> StoreError:
    message = f"could not {DOING}: {reason}"
    return StoreError(message, hint="try again; the index is unchanged", retryable=True)


def _switch(cluster: Cluster, alias: str, old: str, new: str) -> None:
    actions: list[dict[str, Any]] = [
        {"add": {"index": new, "alias": alias}},
        {"add": {"index": new, "alias": f"{new}{WRITING}"}},
        {"remove_index": {"index": old}},
    ]
    cluster.ask(DOING, "indices.update_aliases", body={"actions": actions})


def _meta(about: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = about.get("mappings", {}).get("_meta", {})
    return meta


def _count(cluster: Cluster, name: str) -> int:
    return int(cluster.ask(DOING, "count", index=name)["count"])


def _drop_copies(cluster: Cluster, alias: str, old: str) -> None:
    """Stop the copying of an index, and drop the copies that have not replaced it."""
    for task in _copying(cluster, old):
        waiting = {"wait_for_completion": "true", "ignore": 404}
        cluster.ask("stop copying", "tasks.cancel", task_id=task, params=waiting)
    newer = {name: each for name, each in indexes_of_alias(cluster, alias).items() if name > old}
    drop(cluster, [name for name, about in newer.items() if alias not in about.get("aliases", {})])


def unblock(cluster: Cluster, alias: str, name: str) -> None:
    """Unblock writes to an index, after dropping its unfinished copies."""
    _drop_copies(cluster, alias, name)
    unblocking = {"index": {_NO_WRITES.removeprefix("index."): None}}
    action, replaced = "unblock writes to the index", {"ignore": 404}
    cluster.ask(action, "indices.put_settings", index=name, body=unblocking, params=replaced)


def wait_for_copy(cluster: Cluster, alias: str) -> None:
    """Wait until the index behind ``alias`` accepts writes."""
    waited = silent = 0.0
    while (name := _blocked(cluster, alias)) is not None:
        silent = 0.0 if _copying(cluster, name) else silent + LOOK_SECONDS
        if silent > DEAD_SECONDS:
            logger.warning("a purge of the index was interrupted; writes are unblocked")
            unblock(cluster, alias, name)
            return
        if waited > WAIT_SECONDS:
            raise StoreError(
                f"the index has been blocked by a rebuild for over {WAIT_SECONDS:.0f} seconds",
                hint="try again when that is done",
                retryable=True,
            )
        waited += LOOK_SECONDS
        calls.pause(LOOK_SECONDS)


def _blocked(cluster: Cluster, alias: str) -> str | None:
    """Return the name of the index behind ``alias`` if it refuses writes."""
    name = require_index_of_alias(cluster, alias).name
    action, params = "look the index up", {"flat_settings": "true", "ignore_unavailable": "true"}
    answer = cluster.ask(action, "indices.get_settings", index=name, params=params)
    return name if answer.get(name, {}).get("settings", {}).get(_NO_WRITES) == "true" else None


def _copying(cluster: Cluster, name: str) -> list[str]:
    """The tasks in which the cluster is currently copying rows of this index."""
    detailed = {"actions": "*reindex", "detailed": "true"}
    answer = cluster.ask("look at the cluster's tasks", "tasks.list", params=detailed)
    tasks = [each for node in answer.get("nodes", {}).values() for each in node["tasks"].items()]
    return [key for key, task in tasks if name in task.get("description", "")]
