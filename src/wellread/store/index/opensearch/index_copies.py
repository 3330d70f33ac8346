"""Makes an index anew from its live rows and puts it in its own place, in one step.

That is how removed text leaves the disks: its files go with the old index. (Merging would leave it
until every copy of a shard has let go of its history, at a time of the cluster's choosing.)

The old index takes no rows meanwhile, and is searched all the time. A writer that finds it so
waits. Where the copying process died, the first writer that sees no copying any more gives the
index free again, and takes the copy away before, so that a process that was only slow cannot put
it in place: the last step fails without the copy.

An index of passages is asked by an alias that its fingerprint names. The index behind it has a
number at its end, so that a copy can be made beside it and take its place in one step; and an
alias of its own that goes with it, which writers use: rows that are meant for an index that was
replaced meanwhile are refused, and nothing is made by accident.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from opensearchpy import OpenSearch

from wellread.errors import DamageError, StoreError
from wellread.identity import tagged_hash
from wellread.store.base import Fingerprint
from wellread.store.index.opensearch import cluster as calls
from wellread.store.index.opensearch.cluster import MENDS, Cluster
from wellread.store.index.opensearch.passage_queries import mapping, settings

WRITING = "-rows"  # end of the alias that writers use
PURGED = "purged"
COPY_OF = "copy_of"
MADE_FOR = "made_for"
FIRST = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """The index behind an alias."""

    name: str
    meta: dict[str, Any]

    @property
    def writing(self) -> str:
        """The alias that writers use."""
        return f"{self.name}{WRITING}"

    @property
    def purged(self) -> bool:
        """Whether nothing was removed or replaced in it."""
        return bool(self.meta.get(PURGED))


def alias_of(base: str, fingerprint: Fingerprint) -> str:
    """The name by which the index of ``fingerprint`` is asked."""
    shaped = tagged_hash(
        "idx",
        fingerprint.embedder,
        fingerprint.dimensions,
        fingerprint.chunking,
        fingerprint.schema,
    )
    return f"{base}-{shaped.removeprefix('idx_')[:12]}"


def behind(cluster: Cluster, alias: str) -> Standing | None:
    """The index that ``alias`` stands for; None where there is none."""
    found = cluster.run(
        "look the index up",
        lambda client: client.indices.get(
            index=alias, params={"ignore_unavailable": "true", "filter_path": _PARTS}
        ),
    )
    for name, about in found.items():
        if name == alias:
            raise StoreError(
                f"an index called {alias} is in the way of the one that Wellread keeps under it",
                hint="something else wrote to that name; delete that index",
            )
        return Standing(name, about.get("mappings", {}).get("_meta", {}))
    return None


_PARTS = "*.aliases,*.mappings._meta"


def standing(cluster: Cluster, alias: str) -> Standing:
    """The same where there has to be one."""
    found = behind(cluster, alias)
    if found is None:
        raise DamageError(
            f"the index {alias} is gone from OpenSearch at {cluster.address}", hint=MENDS
        )
    return found


def make(cluster: Cluster, alias: str, fingerprint: Fingerprint) -> None:
    """Make an empty index behind ``alias``, unless somebody else does it first."""
    name = next_name(cluster, alias)
    body = {
        "settings": settings(cluster.address),
        "mappings": mapping(fingerprint, **{PURGED: True, MADE_FOR: fingerprint.embedder}),
        "aliases": {alias: {}, f"{name}{WRITING}": {}},
    }
    cluster.run(
        "make an index",
        lambda client: client.indices.create(index=name, body=body, params={"ignore": 400}),
    )
    if behind(cluster, alias) is None:
        cluster.run("make an index", lambda client: client.indices.create(index=name, body=body))


def next_name(cluster: Cluster, alias: str) -> str:
    """The name of the next index behind ``alias``."""
    numbers = [int(name.rpartition("-")[2]) for name in named(cluster, alias)]
    return f"{alias}-{max(numbers, default=FIRST - 1) + 1:06}"


def named(cluster: Cluster, alias: str) -> dict[str, dict[str, Any]]:
    """All indexes that were made to stand behind ``alias``, with aliases and what they keep."""
    return _matching(cluster, re.compile(rf"{re.escape(alias)}-\d{{6,}}"), alias)


def all_named(cluster: Cluster, base: str) -> dict[str, dict[str, Any]]:
    """The same of every fingerprint of the base."""
    return _matching(cluster, re.compile(rf"{re.escape(base)}-[0-9a-f]{{12}}-\d{{6,}}"), base)


def drop(cluster: Cluster, names: Iterable[str]) -> None:
    """Drop these indexes; one that is gone is no error."""
    for name in names:
        cluster.run("drop an index", partial(_delete, name))


def _delete(name: str, client: OpenSearch) -> Any:
    return client.indices.delete(index=name, params={"ignore_unavailable": "true"})


def note(cluster: Cluster, name: str, meta: dict[str, Any]) -> None:
    """Keep ``meta`` beside the fields of an index."""
    cluster.run(
        "note a change of the index",
        lambda client: client.indices.put_mapping(index=name, body={"_meta": meta}),
    )


def _matching(cluster: Cluster, pattern: re.Pattern[str], start: str) -> dict[str, dict[str, Any]]:
    params = {"ignore_unavailable": "true", "filter_path": _PARTS}
    found = cluster.run(
        "list the indexes", lambda client: client.indices.get(index=f"{start}-*", params=params)
    )
    return {name: about for name, about in found.items() if pattern.fullmatch(name)}


logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 500
LOOK_SECONDS = 0.5
WAIT_SECONDS = 900.0  # that a writer waits for a copy to be made
DEAD_SECONDS = 60.0  # without a sign of copying, after which a copy is taken for given up
COPIES_SECONDS = 600.0  # that further copies of the new index may take
DOING = "make the index anew"
_NO_WRITES = "index.blocks.write"


def replace_by_copy(cluster: Cluster, alias: str, fingerprint: Fingerprint) -> None:
    """Put a copy of the live rows in the place of the index behind ``alias``."""
    old = standing(cluster, alias)
    _drop_copies(cluster, alias, old.name)
    new = next_name(cluster, alias)
    cluster.run(
        DOING, lambda client: client.transport.perform_request("PUT", f"/{old.name}/_block/write")
    )
    try:
        _make_copy(cluster, old, new, fingerprint)
        _switch(cluster, alias, old.name, new)
    except BaseException:
        free(cluster, alias, old.name)
        raise


def _make_copy(cluster: Cluster, old: Standing, new: str, fingerprint: Fingerprint) -> None:
    meta = {PURGED: True, MADE_FOR: fingerprint.embedder, COPY_OF: old.name}
    # Further copies are made of whole files at the end, which is cheaper than row by row.
    alone = settings(cluster.address)
    alone["index"] |= {"number_of_replicas": 0, "auto_expand_replicas": "false"}
    body = {"settings": alone, "mappings": mapping(fingerprint, **meta)}
    cluster.run(DOING, lambda client: client.indices.create(index=new, body=body))
    cluster.run(DOING, lambda client: client.indices.refresh(index=old.name))
    request = {
        "source": {"index": old.name, "size": ROWS_AT_ONCE},
        "dest": {"index": new, "op_type": "index"},
    }
    task = cluster.run(
        DOING,
        lambda client: client.reindex(
            body=request, params={"wait_for_completion": "false", "slices": "auto"}
        ),
    )["task"]
    _follow(cluster, task)
    cluster.run(DOING, lambda client: client.indices.refresh(index=new))
    rows, copied = _count(cluster, old.name), _count(cluster, new)
    if rows != copied:
        raise StoreError(
            f"could not {DOING}: {copied} of {rows} rows are in the copy; the index stays as it is",
            hint="try again",
            retryable=True,
        )
    _spread(cluster, old.name, new)


def _follow(cluster: Cluster, task: str) -> None:
    """Wait until the cluster has copied the rows."""
    while True:
        told = cluster.run(DOING, lambda client: client.tasks.get(task_id=task))
        if told["completed"]:
            break
        calls.pause(LOOK_SECONDS)
    failures = told.get("error") or told.get("response", {}).get("failures")
    if failures:
        raise StoreError(
            f"could not {DOING}: {str(failures)[:300]}",
            hint="try again; the index stays as it is",
            retryable=True,
        )


def _spread(cluster: Cluster, old: str, new: str) -> None:
    """Let the new index have as many copies as the old one has now."""
    copies = settings(cluster.address)["index"]
    wanted = {name: copies.get(name) for name in ("auto_expand_replicas", "number_of_replicas")}
    if wanted["number_of_replicas"] is None:
        del wanted["number_of_replicas"]
    cluster.run(
        DOING, lambda client: client.indices.put_settings(index=new, body={"index": wanted})
    )
    health = cluster.run(DOING, lambda client: client.cluster.health(index=old))["status"]
    waited = 0.0
    while health == "green":
        told = cluster.run(DOING, lambda client: client.cluster.health(index=new))
        if told["status"] == "green":
            return
        if waited > COPIES_SECONDS:
            raise StoreError(
                f"could not {DOING}: the cluster does not make further copies of the new index",
                hint="look at the cluster's health, and try again",
                retryable=True,
            )
        waited += LOOK_SECONDS
        calls.pause(LOOK_SECONDS)


def _switch(cluster: Cluster, alias: str, old: str, new: str) -> None:
    actions: list[dict[str, Any]] = [
        {"add": {"index": new, "alias": alias}},
        {"add": {"index": new, "alias": f"{new}{WRITING}"}},
        {"remove_index": {"index": old}},
    ]
    cluster.run(DOING, lambda client: client.indices.update_aliases(body={"actions": actions}))


def _count(cluster: Cluster, name: str) -> int:
    return int(cluster.run(DOING, lambda client: client.count(index=name))["count"])


def _drop_copies(cluster: Cluster, alias: str, old: str) -> None:
    copies = [
        name
        for name, about in named(cluster, alias).items()
        if about.get("mappings", {}).get("_meta", {}).get(COPY_OF) == old and name != old
    ]
    drop(cluster, copies)


def free(cluster: Cluster, alias: str, name: str) -> None:
    """Let an index take rows again; unfinished copies of it go before."""
    _drop_copies(cluster, alias, name)
    settled = {"index": {_NO_WRITES.removeprefix("index."): None}}
    cluster.run(
        "let the index take rows again",
        lambda client: client.indices.put_settings(
            index=name, body=settled, params={"ignore_unavailable": "true"}
        ),
    )


def wait_for_copy(cluster: Cluster, alias: str) -> None:
    """Return when the index behind ``alias`` takes rows."""
    waited = silent = 0.0
    while (name := _blocked(cluster, alias)) is not None:
        silent = 0.0 if _copying(cluster, name) else silent + LOOK_SECONDS
        if silent > DEAD_SECONDS:
            logger.warning("a purge of the index broke off; it takes rows again")
            free(cluster, alias, name)
            return
        if waited > WAIT_SECONDS:
            raise StoreError(
                f"the index is being made anew for more than {WAIT_SECONDS:.0f} seconds",
                hint="try again when that is done",
                retryable=True,
            )
        waited += LOOK_SECONDS
        calls.pause(LOOK_SECONDS)


def _blocked(cluster: Cluster, alias: str) -> str | None:
    """The name of the index behind ``alias`` where it takes no rows."""
    name = standing(cluster, alias).name
    told = cluster.run(
        "look the index up",
        lambda client: client.indices.get_settings(
            index=name, params={"flat_settings": "true", "ignore_unavailable": "true"}
        ),
    )
    blocked = told.get(name, {}).get("settings", {}).get(_NO_WRITES) == "true"
    return name if blocked else None


def _copying(cluster: Cluster, name: str) -> bool:
    """Whether the cluster is copying rows of this index just now."""
    told = cluster.run(
        "look at the cluster's tasks",
        lambda client: client.tasks.list(params={"actions": "*reindex", "detailed": "true"}),
    )
    tasks = (task for node in told.get("nodes", {}).values() for task in node["tasks"].values())
    return any(name in task.get("description", "") for task in tasks)
