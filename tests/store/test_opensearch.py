"""The OpenSearch index on a real cluster: the contract, and what is particular to it.

Runs where WELLREAD_TEST_OPENSEARCH names a cluster (``make opensearch-tests``), as in
``http://127.0.0.1:9200,http://127.0.0.1:9201``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest

pytest.importorskip("opensearchpy")

from wellread.store.base import Fingerprint, ServiceAddress
from wellread.store.index.opensearch import passage_index
from wellread.store.index.opensearch.cluster import cluster_of
from wellread.store.index.opensearch.cluster_address import read_address
from wellread.store.index.opensearch.index_names import drop
from wellread.store.index.opensearch.passage_index import OpenSearchIndex
from wellread.testing.index import IndexContract, IndexUpkeepContract
from wellread.testing.index_model import (
    DIMENSIONS,
    OpenIndex,
)

CLUSTER = os.environ.get("WELLREAD_TEST_OPENSEARCH", "")
pytestmark = [
    pytest.mark.skipif(not CLUSTER, reason="WELLREAD_TEST_OPENSEARCH names no cluster"),
]
PRINT = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c1", backend="opensearch")
OTHER = Fingerprint(embedder="words", dimensions=DIMENSIONS, chunking="c2", backend="opensearch")


def place_of(base: str, options: str = "") -> ServiceAddress:
    hosts = ",".join(one.partition("://")[2] for one in CLUSTER.split(","))
    return ServiceAddress(url=f"opensearch+http://{hosts}/{base}?{options}")


@pytest.fixture
def base() -> Iterator[str]:
    """A name of its own for what a test keeps in the cluster, which goes afterwards."""
    made = f"test-{uuid4().hex[:12]}"
    yield made
    cluster = cluster_of(read_address(place_of(made)))
    names = cluster.run("list", lambda client: client.indices.get(index=f"{made}*"))
    drop(cluster, names)


class TestOpenSearchContract(IndexContract):
    @pytest.fixture
    def open_index(self, base: str) -> OpenIndex:
        return lambda name: OpenSearchIndex.open(place_of(f"{base}-{name}"), PRINT)


class TestUpkeepWithTheGraphOfVectors(IndexUpkeepContract):
    """The same with indexes that are large enough for it, and with more shards than one."""

    @pytest.fixture
    def open_index(self, base: str, monkeypatch: pytest.MonkeyPatch) -> OpenIndex:
        monkeypatch.setattr(passage_index, "EXACT_ROWS", 300)
        return lambda name: OpenSearchIndex.open(place_of(f"{base}-{name}", "shards=3"), PRINT)
