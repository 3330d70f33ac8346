"""How the indexes of a base are called in a cluster, and which of them is in use.

An index of passages is asked by an alias that its fingerprint names. The index behind it has a
number at its end, so that a copy can be made beside it and take its place in one step; and an
alias of its own that goes with it, which writers use: rows that are meant for an index that was
replaced meanwhile are refused, and nothing is made by accident.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from opensearchpy import OpenSearch

from wellread.errors import DamageError, StoreError
from wellread.identity import tagged_hash
from wellread.store.base import Fingerprint
from wellread.store.index.opensearch.cluster import Cluster
from wellread.store.index.opensearch.cluster_errors import MENDS
from wellread.store.index.opensearch.passage_mapping import mapping, settings

WRITING = "-rows"  # end of the alias that writers use
PURGED = "purged"
COPY_OF = "copy_of"
MADE_FOR = "made_for"
FIRST = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """The index behind an alias.

    Attributes:
        name: its own.
        meta: what is kept beside its fields.
    """

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
    """The index that ``alias`` stands for; None where there is none.

    Raises:
        StoreError: the cluster does not answer, or an index has the alias's name.
    """
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
    """The same where there has to be one.

    Raises:
        DamageError: there is none any more.
    """
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
